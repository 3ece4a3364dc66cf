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
//! that keys are in order, and that they lie within the bounds.

use std::ops::{Bound, ControlFlow};

use super::CountedSet;
use super::descent::{SetPath, SetPathStep, damaged, key_page};
use super::long_key::append_rest;
use crate::page::PageId;
use crate::record::{PageReader, WalkResult};
use crate::trie::{ScanRequest, WalkDirection};

/// A walk: its position and its last key.
struct KeyWalk<'r, V> {
    direction: WalkDirection,
    path: SetPath,
    /// The index of the next key in the leaf; for a walk backward, one more.
    at: usize,
    key: Vec<u8>,
    last: Option<Vec<u8>>,
    visit: &'r mut V,
}

impl CountedSet {
    /// Walks over keys from a position, and calls `visit` with each until it breaks.
    pub(super) fn walk_keys(
        self,
        pages: &mut impl PageReader,
        position: u64,
        direction: WalkDirection,
        visit: &mut impl FnMut(&[u8]) -> WalkResult<ControlFlow<()>>,
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

    /// Walks over the keys of a request, and calls `visit` with each until it breaks. Returns
    /// whether the limits of the request ended the walk and there are more keys within its bounds.
    pub(super) fn walk_request(
        self,
        pages: &mut impl PageReader,
        request: &ScanRequest<'_>,
        mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> WalkResult<bool> {
        let (lower, upper) = self.positions(pages, request.lower, request.upper)?;
        let start = match request.direction {
            WalkDirection::Forward => lower,
            WalkDirection::Backward => upper,
        };
        let mut rest = upper.saturating_sub(lower);
        let (mut keys, mut bytes, mut more) = (0, 0, false);
        if rest == 0 {
            return Ok(false);
        }
        self.walk_keys(pages, start, request.direction, &mut |key: &[u8]| {
            if keys >= request.keys || bytes >= request.bytes {
                more = true;
                return Ok(ControlFlow::Break(()));
            }
            if !request.contains(key) {
                return Err(damaged(self.root)("a walk leads to a key outside of its bounds".to_owned()));
            }
            (keys, bytes, rest) = (keys + 1, bytes + key.len(), rest - 1);
            let is_last = rest == 0;
            Ok(if visit(key).is_break() || is_last {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        Ok(more)
    }

    /// Returns the positions of two bounds.
    pub(super) fn positions(
        self,
        pages: &mut impl PageReader,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> WalkResult<(u64, u64)> {
        let lower = match lower {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.position(pages, key, false)?,
            Bound::Excluded(key) => self.position(pages, key, true)?,
        };
        let upper = match upper {
            Bound::Unbounded => self.len(pages)?,
            Bound::Included(key) => self.position(pages, key, true)?,
            Bound::Excluded(key) => self.position(pages, key, false)?,
        };
        Ok((lower, upper))
    }
}

impl<V: FnMut(&[u8]) -> WalkResult<ControlFlow<()>>> KeyWalk<'_, V> {
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
        let next = (self.visit)(&self.key)?;
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
