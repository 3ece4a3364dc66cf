//! Lookups: down the nodes to one page, without locks.

use super::child::{Child, Target};
use super::node::Node;
use super::page::Page;
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::index::MAX_KEY_LEN;
use crate::slot::Slot;

/// More slots with the key's tag than chance puts into a page: keys that were chosen for it.
const TAGGED_MAX: u32 = 6;

/// A page that a search reached, with the way to its neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct PagePlace {
    pub(super) page: Page,
    /// The parent, and the page's position in it.
    pub(super) parent: Option<(Node, usize)>,
    /// The separators around the parent: each a node above it, and a number in that node.
    pub(super) outer_lower: Option<(Node, usize)>,
    pub(super) outer_upper: Option<(Node, usize)>,
}

/// What a lookup found.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundKey {
    /// The word of the value.
    pub(super) word: u64,
    /// The key's slot, if it is in the page where the lookup began.
    pub(super) slot: Option<usize>,
}

impl<S: Slot, V: PageTreeSettings> PageTreeVariant<S, V> {
    /// Returns the byte of a key's hash that pages hold. Zero marks a slot without a key.
    #[inline(always)]
    pub(super) fn tag(&self, key: &[u8]) -> u8 {
        ((self.engine.hash.of(key) >> 56) as u8).max(1)
    }

    /// Returns the link to the page for a key.
    #[inline(always)]
    pub(super) fn locate(&self, key: &[u8]) -> Child {
        let mut child = self.engine.root();
        loop {
            // SAFETY: the caller holds a guard.
            match unsafe { child.target() } {
                Target::Page(_) => return child,
                Target::Node(node) => {
                    child = node.child(node.search(key, false));
                    child.prefetch_target();
                }
            }
        }
    }

    /// Returns the page for a key, or for the keys just below it, with the way to its neighbours.
    pub(super) fn locate_place(&self, key: &[u8], below: bool) -> PagePlace {
        self.descend(|node| node.search(key, below))
    }

    /// Returns the last page, with the way to its neighbours.
    pub(super) fn locate_last(&self) -> PagePlace {
        self.descend(|node| node.children() - 1)
    }

    /// Goes down to a page by the children that `choose` returns.
    #[inline(always)]
    fn descend(&self, choose: impl Fn(Node) -> usize) -> PagePlace {
        let mut child = self.engine.root();
        let (mut parent, mut outer_lower, mut outer_upper) = (None, None, None);
        loop {
            // SAFETY: the caller holds a guard.
            let node = match unsafe { child.target() } {
                Target::Page(page) => return PagePlace { page, parent, outer_lower, outer_upper },
                Target::Node(node) => node,
            };
            if let Some((above, at)) = parent {
                outer_lower = before(above, at).or(outer_lower);
                outer_upper = behind(above, at).or(outer_upper);
            }
            let at = choose(node);
            parent = Some((node, at));
            child = node.child(at);
            child.prefetch(LINES_OF_SEEK);
        }
    }

    /// Returns the word of `key`'s value.
    #[inline(always)]
    pub(super) fn lookup(&self, key: &[u8]) -> Option<u64> {
        if key.len() > MAX_KEY_LEN {
            return None;
        }
        let child = self.locate(key);
        let tag = self.tag(key);
        // SAFETY: the caller holds a guard.
        let Target::Page(page) = (unsafe { child.target() }) else { unreachable!("a search ends at a page") };
        self.finish(page, key, tag, page.tagged(tag)).map(|found| found.word)
    }

    /// Completes a lookup in the page that a search reached, with its slots that have the key's tag.
    #[inline(always)]
    pub(super) fn finish(&self, page: Page, key: &[u8], tag: u8, mut tagged: u64) -> Option<FoundKey> {
        let rest = &key[page.prefix_len()..];
        for _ in 0..TAGGED_MAX {
            if tagged == 0 {
                break;
            }
            let slot = tagged.trailing_zeros() as usize;
            if page.holds(slot, rest) {
                let word = page.value::<S>(slot);
                if page.version().peek().is_deleted() {
                    break;
                }
                return Some(FoundKey { word, slot: Some(slot) });
            }
            tagged &= tagged - 1;
        }
        self.confirm(page, key, tag).map(|word| FoundKey { word, slot: None })
    }

    /// Completes a lookup that found nothing in the page, which may have changed.
    #[inline(never)]
    fn confirm(&self, mut page: Page, key: &[u8], tag: u8) -> Option<u64> {
        loop {
            let version = page.version().stable();
            let rest = &key[page.prefix_len()..];
            let found = if page.tagged(tag).count_ones() <= TAGGED_MAX {
                page.find(rest, tag)
            } else {
                page.rank(rest, page.live()).1
            };
            let word = found.map(|slot| page.value::<S>(slot));
            if !page.version().changed(version) && !version.is_deleted() {
                return word;
            }
            // SAFETY: the caller holds a guard.
            if let Target::Page(now) = unsafe { self.locate(key).target() } {
                page = now;
            }
        }
    }
}

/// The lines of a page that a seek reads first: head, arrays, and the first keys.
const LINES_OF_SEEK: usize = 12;

/// Returns the separator left of a child, if the node has it.
fn before(node: Node, at: usize) -> Option<(Node, usize)> {
    (at > 0).then(|| (node, at - 1))
}

/// Returns the separator right of a child, if the node has it.
fn behind(node: Node, at: usize) -> Option<(Node, usize)> {
    (at + 1 < node.children()).then_some((node, at))
}
