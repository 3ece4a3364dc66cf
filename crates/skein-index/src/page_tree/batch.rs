//! Batched lookups with overlapping memory reads: the lookups of a group go down level by level, so
//! while one waits for memory the others run.
//!
//! ```text
//!   step        prefetches                   needs
//!   down        the next node                this node
//!   page        the page's head and tags     the lowest node
//!   slot        the key and the value        the tags
//!   value       the slot's target            the value
//! ```

use super::child::{Child, Target};
use super::latch::page_of;
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::index::MAX_KEY_LEN;
use crate::masstree::GROUP;
use crate::slot::Slot;

impl<S: Slot, V: PageTreeSettings> PageTreeVariant<S, V> {
    /// Looks up all keys. Calls `found` with each key's position and the word of its value.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let words = self.lookup_group(keys);
            for (position, word) in (group * GROUP..).zip(&words[..keys.len()]) {
                found(position, *word);
            }
        }
    }

    fn lookup_group(&self, keys: &[&[u8]]) -> [Option<u64>; GROUP] {
        // SAFETY: the caller holds a guard.
        let pages = self.locate_group(keys).map(|page| unsafe { page_of(page) });
        let mut found = [(0, 0); GROUP];
        for ((key, page), found) in keys.iter().zip(&pages).zip(&mut found) {
            let Some(page) = page else { continue };
            let tag = self.tag(key);
            let tagged = page.tagged(tag);
            if tagged != 0 {
                page.prefetch_slot::<S>(tagged.trailing_zeros() as usize);
            }
            *found = (tag, tagged);
        }
        let mut words = [None; GROUP];
        for (((key, page), (tag, tagged)), word) in keys.iter().zip(pages).zip(found).zip(&mut words) {
            let Some(page) = page.filter(|_| key.len() <= MAX_KEY_LEN) else { continue };
            *word = self.finish(page, key, tag, tagged);
            if let Some(word) = *word {
                S::prefetch(word);
            }
        }
        words
    }

    /// Returns the links to the pages for a group of keys.
    fn locate_group(&self, keys: &[&[u8]]) -> [Child; GROUP] {
        let mut children = [self.engine.root(); GROUP];
        let mut more = true;
        while more {
            more = false;
            for (key, child) in keys.iter().zip(&mut children) {
                // SAFETY: the caller holds a guard.
                if let Target::Node(node) = unsafe { child.target() } {
                    *child = node.child(node.search(key, false));
                    child.prefetch_target();
                    more |= !child.is_page();
                }
            }
        }
        children
    }
}
