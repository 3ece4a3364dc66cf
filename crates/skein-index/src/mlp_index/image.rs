//! Copies of buckets, to be changed in private.
//!
//! # Invariant
//! 1. A bucket's nodes lie one after the other from its first slot on; free slots, whose words are 0, come last.

use super::name::{LEVEL, Name, SECONDARY};
use super::node::{Kind, Words, level_in};

/// Slots in a bucket: a cache line of them.
pub(super) const SLOTS: usize = 4;
/// Words in a bucket.
pub(super) const WORDS: usize = 2 * SLOTS;

/// A bucket's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Image(pub(super) [u64; WORDS]);

impl Image {
    /// How many slots are in use.
    #[inline(always)]
    pub(super) fn used(&self) -> usize {
        // Those in use come first.
        self.0.iter().step_by(2).filter(|&&head| head & LEVEL != 0).count()
    }

    /// How many slots are free.
    #[inline(always)]
    pub(super) fn free(&self) -> usize {
        SLOTS - self.used()
    }

    /// The slots where nodes begin, with their first words.
    pub(super) fn heads(&self) -> impl Iterator<Item = (usize, u64)> {
        let words = self.0;
        let mut slot = 0;
        std::iter::from_fn(move || {
            let head = *words.get(2 * slot).filter(|&&head| level_in(head) != 0)?;
            let at = slot;
            slot += Kind::of(head).slots();
            Some((at, head))
        })
    }

    /// The slot of a node.
    pub(super) fn find(&self, name: &Name, secondary: bool) -> Option<usize> {
        let want = name.want | if secondary { SECONDARY } else { 0 };
        self.heads().find(|(_, head)| head & name.mask == want).map(|(slot, _)| slot)
    }

    /// The words of the node in a slot.
    pub(super) fn words(&self, slot: usize) -> Words {
        let slots = Kind::of(self.0[2 * slot]).slots();
        self.0.iter().skip(2 * slot).take(2 * slots).copied().collect()
    }

    /// Takes a node out; those behind it move up.
    pub(super) fn remove(&mut self, slot: usize) -> Words {
        let words = self.words(slot);
        let end = 2 * slot + words.len();
        self.0.copy_within(end.., 2 * slot);
        self.0[WORDS - words.len()..].fill(0);
        words
    }

    /// Adds a node, if there is room.
    pub(super) fn put(&mut self, words: &Words) -> bool {
        let at = 2 * self.used();
        match self.0.get_mut(at..at + words.len()) {
            Some(place) => {
                place.copy_from_slice(words);
                true
            }
            None => false,
        }
    }
}
