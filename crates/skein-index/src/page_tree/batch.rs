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

use skein_sync::reclaim::{Guard, check_guard};

use super::child::{Child, Target};
use super::latch::page_of;
use super::page::Page;
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::index::{ComputeAction, Computed, IndexError, MAX_KEY_LEN};
use crate::masstree::GROUP;
use crate::slot::Slot;

/// The page of a key, and its slot there, where a write of the key can start. See `locate_many`.
#[derive(Clone, Copy, Debug)]
pub struct PageTreePlace {
    pub(super) page: Page,
    pub(super) tag: u8,
    /// The slot of a key that was found. A slot is used for one key, so it is this key's as long as
    /// it has a tag.
    slot: Option<usize>,
}

impl PageTreePlace {
    /// Returns the slot that the key still has.
    #[inline]
    pub(super) fn slot(&self) -> Option<usize> {
        self.slot.filter(|&slot| self.page.tag(slot) == self.tag)
    }
}

// SAFETY: a place is an address, which is used only under the guard that it was found under.
unsafe impl Send for PageTreePlace {}
// SAFETY: as above.
unsafe impl Sync for PageTreePlace {}

/// The places of a group of keys, and the words of their values.
type LocatedGroup = ([Option<PageTreePlace>; GROUP], [Option<u64>; GROUP]);

impl<S: Slot, V: PageTreeSettings> PageTreeVariant<S, V> {
    /// Looks up keys that are about to be written. Like
    /// [`get_many`](crate::OrderedIndex::get_many), but also passes to `found` each key's place for
    /// [`compute_at`](Self::compute_at).
    ///
    /// # Panics
    /// Panics if the guard is not of this tree's collector.
    pub fn locate_many<'g, G: Guard>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g G,
        mut found: impl FnMut(usize, Option<S::Ref<'g>>, Option<PageTreePlace>),
    ) {
        check_guard(&self.base.collector, guard);
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let (places, words) = self.lookup_group(keys, S::EMBEDS);
            for (within, (place, word)) in places.into_iter().zip(words).take(keys.len()).enumerate() {
                // SAFETY: the word was in the tree; it is retired, if ever, under this guard or a
                // later one.
                let value = word.map(|word| unsafe { S::borrow(word) });
                found(group * GROUP + within, value, place);
            }
        }
    }

    /// Like [`get`](crate::OrderedIndex::get), but starts at the key's place.
    ///
    /// # Safety
    /// As for [`compute_at`](Self::compute_at).
    pub unsafe fn get_at<'g, G: Guard>(
        &'g self,
        key: &[u8],
        place: PageTreePlace,
        guard: &'g G,
    ) -> Option<S::Ref<'g>> {
        check_guard(&self.base.collector, guard);
        let (page, tag) = (place.page, place.tag);
        let known = place.slot().map(|slot| page.value::<S>(slot));
        let word = known.filter(|_| !page.version().peek().is_deleted()).or_else(|| {
            // The key was not there, or it has moved since.
            self.finish(page, key, tag, page.tagged(tag)).map(|found| found.word)
        });
        // SAFETY: as for `locate_many`.
        word.map(|word| unsafe { S::borrow(word) })
    }

    /// Like [`compute`](crate::OrderedIndex::compute), but starts at the key's place and not at the
    /// root. If the page was replaced meanwhile, it searches for the key.
    ///
    /// # Errors
    /// As for `compute`.
    ///
    /// # Safety
    /// [`locate_many`](Self::locate_many) of this tree returned the place for an equal key, under a
    /// guard that has been held, and not refreshed, since.
    pub unsafe fn compute_at<'g, G: Guard>(
        &'g self,
        key: &[u8],
        place: PageTreePlace,
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        check_guard(&self.base.collector, guard);
        self.base.check_write(key, MAX_KEY_LEN, || 0)?;
        Ok(self.write(Some(place), key, change, guard))
    }

    /// Looks up all keys. Calls `found` with each key's position and the word of its value.
    pub(super) fn lookup_many(&self, keys: &[&[u8]], mut found: impl FnMut(usize, Option<u64>)) {
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            let (_, words) = self.lookup_group(keys, false);
            for (position, word) in (group * GROUP..).zip(&words[..keys.len()]) {
                found(position, *word);
            }
        }
    }

    /// Looks up a group of keys, which will be written if `writes`.
    #[inline]
    fn lookup_group(&self, keys: &[&[u8]], writes: bool) -> LocatedGroup {
        let children = self.locate_group(keys);
        let (mut places, mut read) = ([None; GROUP], [None; GROUP]);
        for at in 0..keys.len().min(GROUP) {
            // SAFETY: the caller holds a guard.
            let page = unsafe { page_of(children[at]) }.filter(|_| keys[at].len() <= MAX_KEY_LEN);
            let Some(page) = page else { continue };
            let tag = self.tag(keys[at]);
            let (version, tagged) = (page.version().peek(), page.tagged(tag));
            if tagged != 0 {
                page.prefetch_slot::<S>(tagged.trailing_zeros() as usize);
            } else if writes {
                page.prefetch_order();
            }
            if writes {
                page.prefetch_room();
            }
            places[at] = Some(PageTreePlace { page, tag, slot: None });
            read[at] = Some((version, tagged));
        }
        let mut words = [None; GROUP];
        for at in 0..keys.len().min(GROUP) {
            let (Some(place), Some((version, tagged))) = (&mut places[at], read[at]) else { continue };
            let found = if tagged == 0 && place.page.is_since(version) {
                None
            } else {
                self.finish(place.page, keys[at], place.tag, tagged)
            };
            if let Some(found) = found {
                place.slot = found.slot;
                S::prefetch(found.word);
                words[at] = Some(found.word);
            } else if writes {
                place.page.prefetch_neighbour(&keys[at][place.page.prefix_len()..]);
            }
        }
        (places, words)
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
