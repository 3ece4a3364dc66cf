//! Private copies of buckets, on which transactions make their changes.
//!
//! # Invariant
//! 1. The nodes of a bucket fill its slots from the first one on. Free slots are last and all zero.

use super::name::{LEVEL, NodeName, SECONDARY};
use super::node::{MORE, MlpNodeKind, MlpNodeWords, RawNode};

/// The slots in a bucket, which fill a cache line. Models have two, because each of their words is
/// a step or more.
pub(super) const SLOTS: usize = if super::SMALL_MODELS { 2 } else { 4 };
pub(super) const WORDS: usize = 2 * SLOTS;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MlpBucketImage(pub(super) [u64; WORDS]);

impl MlpBucketImage {
    #[inline(always)]
    pub(super) fn used(&self) -> usize {
        let (slots, _) = self.0.as_chunks::<2>();
        slots.iter().filter(|[head, _]| head & LEVEL != 0).count()
    }

    #[inline(always)]
    pub(super) fn free(&self) -> usize {
        SLOTS - self.used()
    }

    /// Returns the first slots of all nodes, with their first words.
    #[inline(always)]
    pub(super) fn heads(&self) -> impl Iterator<Item = (usize, u64)> {
        let heads = self.0.iter().step_by(2).copied().enumerate();
        heads.filter(|&(_, head)| head & LEVEL != 0 && head & LEVEL != MORE)
    }

    /// Returns the slot of the node with this name.
    #[inline(always)]
    pub(super) fn find(&self, name: &NodeName, secondary: bool) -> Option<usize> {
        let want = name.want | if secondary { SECONDARY } else { 0 };
        (0..SLOTS).find(|slot| self.0[2 * slot] & name.mask == want)
    }

    /// Returns the words of the node in a slot.
    #[inline(always)]
    pub(super) fn raw(&self, slot: usize) -> RawNode {
        RawNode(std::array::from_fn(|word| self.0[(2 * slot + word) % WORDS]))
    }

    /// Returns the slot of the node with this first word. No other node of the bucket has the same
    /// one, since the bucket implies the rest of the name.
    #[inline(always)]
    pub(super) fn slot_of(&self, head: u64) -> Option<usize> {
        (0..SLOTS).find(|slot| self.0[2 * slot] == head)
    }

    #[inline(always)]
    pub(super) fn slots(&self, slot: usize) -> usize {
        MlpNodeKind::of(self.0[2 * slot]).slots()
    }

    /// Returns the words of the node in a slot.
    pub(super) fn words(&self, slot: usize) -> MlpNodeWords {
        let slots = self.slots(slot);
        self.0[2 * slot..].iter().take(2 * slots).copied().collect()
    }

    /// Splits the bucket. Returns a copy with the remaining nodes, a copy with the nodes with a
    /// first word that satisfies `moves`, and the number of the latter.
    #[inline(always)]
    pub(super) fn parted(&self, mut moves: impl FnMut(u64) -> bool) -> ([Self; 2], u32) {
        let (mut parts, mut ends) = ([Self::default(); 2], [0; 2]);
        let (mut part, mut gone) = (0, 0);
        let (slots, _) = self.0.as_chunks::<2>();
        for &[head, more] in slots.iter().take_while(|[head, _]| head & LEVEL != 0) {
            // Further slots of a node follow its first one.
            if head & LEVEL != MORE {
                part = usize::from(moves(head));
                gone += part as u32;
            }
            let end = ends[part];
            parts[part].0[end % WORDS] = head;
            parts[part].0[(end + 1) % WORDS] = more;
            ends[part] = end + 2;
        }
        (parts, gone)
    }

    /// Removes a node and returns its words. The nodes behind it move up.
    pub(super) fn remove(&mut self, slot: usize) -> MlpNodeWords {
        let words = self.words(slot);
        let end = 2 * slot + words.len();
        self.0.copy_within(end.., 2 * slot);
        self.0[WORDS - words.len()..].fill(0);
        words
    }

    /// Adds a node. Returns its slot, or `None` if there is no room.
    #[inline(always)]
    pub(super) fn put(&mut self, words: &MlpNodeWords) -> Option<usize> {
        let slot = self.used();
        (2 * slot + words.len() <= WORDS).then(|| {
            self.set(slot, words);
            slot
        })
    }

    #[inline(always)]
    pub(super) fn set(&mut self, slot: usize, words: &MlpNodeWords) {
        self.0[2 * slot..].iter_mut().zip(words).for_each(|(place, &word)| *place = word);
    }
}
