//! Walks over keys in order, from a position, forward or backward.
//!
//! ```text
//!   position   0     1     2     3         the number of keys before it
//!              │ ant │ bee │ cow │
//!   forward from 1: bee, cow       backward from 2: bee, ant
//! ```
//!
//! A walk sees one version of all pages and does not outlive it. To continue, a caller starts a new
//! walk behind its last key. Two pointers to one page would lead to keys again, so a walk checks
//! that keys are in order.

use std::ops::ControlFlow;

use super::CountedSet;
use super::descent::{SetPath, SetPathStep, damaged, key_page};
use super::long_key::append_rest;
use crate::page::PageId;
use crate::record::{PageReader, WalkResult};
use crate::trie::WalkDirection;

/// A walk: its position and its last key.
struct KeyWalk<V> {
    direction: WalkDirection,
    path: SetPath,
    /// The index of the next key in the leaf; for a walk backward, one more.
    at: usize,
    key: Vec<u8>,
    last: Option<Vec<u8>>,
    visit: V,
}

impl CountedSet {
    /// Calls `visit` with the keys behind a position, or backward with those before it, until it
    /// breaks. A reader restarts a walk if a page is missing or a write was published. So callers
    /// should limit the number of keys, and must discard the keys of a walk that was restarted.
    ///
    /// # Errors
    /// As [`len`](Self::len).
    pub(crate) fn walk(
        self,
        pages: &mut impl PageReader,
        position: u64,
        direction: WalkDirection,
        visit: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> WalkResult<()> {
        let rank = match direction {
            WalkDirection::Forward => Some(position),
            WalkDirection::Backward => position.min(self.len(pages)?).checked_sub(1),
        };
        let Some(rank) = rank else { return Ok(()) };
        let Some((path, index)) = self.find_rank(pages, rank)? else { return Ok(()) };
        let at = index + usize::from(direction == WalkDirection::Backward);
        let mut walk = KeyWalk { direction, path, at, key: Vec::new(), last: None, visit };
        while walk.visit_leaf(pages)?.is_continue() {
            if !walk.next_leaf(self, pages)? {
                break;
            }
        }
        Ok(())
    }
}

impl<V: FnMut(&[u8]) -> ControlFlow<()>> KeyWalk<V> {
    /// Visits the rest of the leaf.
    fn visit_leaf(&mut self, pages: &mut impl PageReader) -> WalkResult<ControlFlow<()>> {
        let id = self.path.leaf;
        loop {
            let leaf = key_page(pages, id)?;
            let chain = loop {
                let Some(at) = self.step(leaf.len()) else { return Ok(ControlFlow::Continue(())) };
                self.key.clear();
                if let Some(chain) = leaf.key_into(at, &mut self.key).map_err(damaged(id))? {
                    break chain;
                }
                if self.pass_on(id)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            };
            append_rest(pages, chain, &mut self.key)?;
            if self.pass_on(id)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Advances in the leaf and returns the index of the key, or `None` at the leaf's end.
    fn step(&mut self, len: usize) -> Option<usize> {
        match self.direction {
            WalkDirection::Forward if self.at < len => {
                self.at += 1;
                Some(self.at - 1)
            }
            WalkDirection::Forward => None,
            WalkDirection::Backward => {
                self.at = self.at.checked_sub(1)?;
                Some(self.at)
            }
        }
    }

    /// Calls `visit` with the key.
    fn pass_on(&mut self, leaf: PageId) -> WalkResult<ControlFlow<()>> {
        if let Some(last) = &self.last {
            let (less, greater) = match self.direction {
                WalkDirection::Forward => (last, &self.key),
                WalkDirection::Backward => (&self.key, last),
            };
            if less >= greater {
                return Err(damaged(leaf)(
                    "its keys are not in order, or two pointers lead to it".to_owned(),
                ));
            }
        }
        let next = (self.visit)(&self.key);
        std::mem::swap(self.last.get_or_insert_default(), &mut self.key);
        Ok(next)
    }

    /// Moves to the next leaf. Returns false if there is no further one.
    fn next_leaf(&mut self, set: CountedSet, pages: &mut impl PageReader) -> WalkResult<bool> {
        let mut steps = std::mem::take(&mut self.path.steps);
        let is_backward = self.direction == WalkDirection::Backward;
        while let Some(SetPathStep { page, at }) = steps.pop() {
            let len = key_page(pages, page)?.len();
            let next = if is_backward { at.checked_sub(1) } else { Some(at + 1).filter(|at| *at < len) };
            if let Some(at) = next {
                steps.push(SetPathStep { page, at });
                self.path = set.descend_to_end(pages, steps, is_backward)?;
                self.at = if is_backward { key_page(pages, self.path.leaf)?.len() } else { 0 };
                return Ok(true);
            }
        }
        Ok(false)
    }
}
