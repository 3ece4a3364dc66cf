//! Copies of buckets, to be changed in private.
//!
//! # Invariant
//! 1. A bucket's nodes lie one after the other from its first slot on; free slots, whose words are 0, come last.

use super::name::{LEVEL, NodeName, SECONDARY};
use super::node::{MORE, MlpNodeKind, MlpNodeWords, RawNode};

/// Slots in a bucket: a cache line of them. In `loom`'s models two, each word of which is a step or several.
pub(super) const SLOTS: usize = if super::SMALL_MODELS { 2 } else { 4 };
/// Words in a bucket.
pub(super) const WORDS: usize = 2 * SLOTS;

/// A bucket's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MlpBucketImage(pub(super) [u64; WORDS]);

impl MlpBucketImage {
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
    #[inline(always)]
    pub(super) fn heads(&self) -> impl Iterator<Item = (usize, u64)> {
        let heads = self.0.iter().step_by(2).copied().enumerate();
        heads.filter(|&(_, head)| head & LEVEL != 0 && head & LEVEL != MORE)
    }

    /// The slot of a node.
    #[inline(always)]
    pub(super) fn find(&self, name: &NodeName, secondary: bool) -> Option<usize> {
        let want = name.want | if secondary { SECONDARY } else { 0 };
        (0..SLOTS).find(|slot| self.0[2 * slot] & name.mask == want)
    }

    /// The node in a slot.
    #[inline(always)]
    pub(super) fn raw(&self, slot: usize) -> RawNode {
        RawNode(std::array::from_fn(|word| self.0[(2 * slot + word) % WORDS]))
    }

    /// The slot of the node with this first word, which no other one in the bucket has: the rest of the name is what the bucket says.
    #[inline(always)]
    pub(super) fn slot_of(&self, head: u64) -> Option<usize> {
        (0..SLOTS).find(|slot| self.0[2 * slot] == head)
    }

    /// How many slots the node in a slot takes.
    #[inline(always)]
    pub(super) fn slots(&self, slot: usize) -> usize {
        MlpNodeKind::of(self.0[2 * slot]).slots()
    }

    /// The words of the node in a slot.
    pub(super) fn words(&self, slot: usize) -> MlpNodeWords {
        let slots = self.slots(slot);
        self.0[2 * slot..].iter().take(2 * slots).copied().collect()
    }

    /// Two buckets made of this one: of the nodes that stay, and of those that `goes` says go, by their first words. Also how many go.
    #[inline(always)]
    pub(super) fn parted(&self, mut goes: impl FnMut(u64) -> bool) -> ([Self; 2], u32) {
        let (mut parts, mut ends) = ([Self::default(); 2], [0; 2]);
        let (mut part, mut gone) = (0, 0);
        let (slots, _) = self.0.as_chunks::<2>();
        for &[head, more] in slots.iter().take_while(|[head, _]| head & LEVEL != 0) {
            // Further slots of a node go where its first one went.
            if head & LEVEL != MORE {
                part = usize::from(goes(head));
                gone += part as u32;
            }
            let end = ends[part];
            parts[part].0[end % WORDS] = head;
            parts[part].0[(end + 1) % WORDS] = more;
            ends[part] = end + 2;
        }
        (parts, gone)
    }

    /// Takes a node out; those behind it move up.
    pub(super) fn remove(&mut self, slot: usize) -> MlpNodeWords {
        let words = self.words(slot);
        let end = 2 * slot + words.len();
        self.0.copy_within(end.., 2 * slot);
        self.0[WORDS - words.len()..].fill(0);
        words
    }

    /// Adds a node, if there is room; returns its slot.
    #[inline(always)]
    pub(super) fn put(&mut self, words: &MlpNodeWords) -> Option<usize> {
        let slot = self.used();
        (2 * slot + words.len() <= WORDS).then(|| {
            self.set(slot, words);
            slot
        })
    }

    /// Writes a node's words from a slot on.
    #[inline(always)]
    pub(super) fn set(&mut self, slot: usize, words: &MlpNodeWords) {
        self.0[2 * slot..].iter_mut().zip(words).for_each(|(place, &word)| *place = word);
    }
}
