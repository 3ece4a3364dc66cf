//! Node states. One word tells the value of a node's key and leads to its older versions.
//!
//! ```text
//!   63                                      3     2       1 0
//!  ┌─────────────────────────────────────────┬─────────┬──────┐
//!  │ address of a version, or a stamp        │ claimed │ kind │
//!  └─────────────────────────────────────────┴─────────┴──────┘
//!   kind        meaning                                            the rest of the word
//!   version     a value in a block of its own                      its address
//!   inline      the node's first value, inside the node            its stamp
//!   tombstone   the key is absent, but once was present            its address
//!   absent      the key is absent, and the node is being removed   0
//!
//!   node.versions ──► version, stamp 9 ──older──► tombstone, stamp 6 ──older──► inline, stamp 2
//!
//!      a snapshot of moment 10 sees the first, one of moment 7 no value,
//!      one of moment 3 the node's own value
//! ```
//!
//! A node heads the list of its versions, newest first (section 3.2). If a key was written only
//! once, the list is this one word: the first version is the node itself. Versions never change. To
//! remove a version from the middle, a thread copies the versions before it (`prune.rs`). So every
//! reader sees the list as it was when it read the word, and every write is one exchange of that
//! word.
//!
//! # Invariants
//! 1. Stamps fall along a list. `inline` is the last version of its list.
//! 2. Each version behind the first is kept by one note, and is removed only with that note
//!    (`retained_versions.rs`).
//! 3. `absent` is final: the state never changes again, and the node is marked and unlinked.
//! 4. While a state is claimed, only the claimer changes it. Readers ignore the claim.

use std::ptr::NonNull;

use skein_sync::reclaim::{GracePeriod, Guard};

use super::node::Node;
use super::variant::SkipListSettings;
use crate::memory::{Arena, MemoryPart, address_of, at_address, prefetch_read};

const KIND: u64 = 3;
const VERSION: u64 = 0;
const INLINE: u64 = 1;
const TOMBSTONE: u64 = 2;
const ABSENT: u64 = 3;
const CLAIMED: u64 = 4;
const SHIFT: u32 = 3;

/// A version in a block of its own. The value of a tombstone is 0.
#[derive(Debug)]
struct VersionBlock {
    value: u64,
    stamp: u64,
    older: SkipNodeState,
}

/// The state of a node: its list of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SkipNodeState(u64);

impl SkipNodeState {
    /// The key is absent, and the node is being removed.
    pub(super) const GONE: Self = Self(ABSENT);

    #[inline(always)]
    pub(super) fn from_word(word: u64) -> Self {
        Self(word)
    }

    #[inline(always)]
    pub(super) fn word(self) -> u64 {
        self.0
    }

    /// Returns the state of a node whose own value was written at moment `stamp`.
    #[inline(always)]
    pub(super) fn inline(stamp: u64) -> Self {
        Self(stamp << SHIFT | INLINE)
    }

    /// Allocates a version with this value, or a tombstone for `None`, in front of the list
    /// `older`.
    pub(super) fn stacked(arena: &Arena, value: Option<u64>, stamp: u64, older: Self) -> Self {
        let block = arena.alloc(size_of::<VersionBlock>(), MemoryPart::Nodes).cast::<VersionBlock>();
        let kind = if value.is_some() { VERSION } else { TOMBSTONE };
        // SAFETY: only this thread knows the block, which is aligned to 8 and has this size.
        unsafe { block.write(VersionBlock { value: value.unwrap_or(0), stamp, older: older.unclaimed() }) };
        Self(address_of(block) | kind)
    }

    #[inline(always)]
    fn kind(self) -> u64 {
        self.0 & KIND
    }

    #[inline(always)]
    pub(super) fn is_claimed(self) -> bool {
        self.0 & CLAIMED != 0
    }

    #[inline(always)]
    pub(super) fn claimed(self) -> Self {
        Self(self.0 | CLAIMED)
    }

    #[inline(always)]
    pub(super) fn unclaimed(self) -> Self {
        Self(self.0 & !CLAIMED)
    }

    /// Returns true if there is no version, not even a tombstone.
    #[inline(always)]
    pub(super) fn is_absent(self) -> bool {
        self.kind() == ABSENT
    }

    /// Returns true if the newest version is a tombstone.
    pub(super) fn is_tombstone(self) -> bool {
        self.kind() == TOMBSTONE
    }

    /// Returns true if the newest version has a block of its own.
    pub(super) fn has_block(self) -> bool {
        self.block().is_some()
    }

    /// Returns the block of the newest version, or `None` if that has no block.
    #[inline(always)]
    fn block(self) -> Option<NonNull<VersionBlock>> {
        let has_block = matches!(self.kind(), VERSION | TOMBSTONE);
        // SAFETY: a state of these kinds holds its block's address (`stacked`).
        has_block.then(|| unsafe { at_address(self.0 & !(KIND | CLAIMED)) })
    }

    #[inline(always)]
    fn version<'a>(self) -> Option<&'a VersionBlock> {
        // SAFETY: versions never change. They are retired once they are out of their list, after
        // the grace period of every thread that read the state.
        self.block().map(|block| unsafe { block.as_ref() })
    }

    /// Returns the value's word, or `None` if the key is absent.
    #[inline(always)]
    pub(super) fn value<V: SkipListSettings>(self, node: Node<V>) -> Option<u64> {
        match self.kind() {
            INLINE => Some(node.value()),
            VERSION => self.version().map(|version| version.value),
            _ => None,
        }
    }

    /// Returns the value's word if it lies in the node, so that no other line must be read; else
    /// `None`.
    #[inline(always)]
    pub(super) fn inline_value<V: SkipListSettings>(self, node: Node<V>) -> Option<u64> {
        (self.kind() == INLINE).then(|| node.value())
    }

    /// Returns the moment at which the newest version was written. REQUIRES: there is a version.
    #[inline(always)]
    pub(super) fn stamp(self) -> u64 {
        self.version().map_or(self.0 >> SHIFT, |version| version.stamp)
    }

    /// Returns the list behind the newest version, or [`SkipNodeState::GONE`] if there is no older
    /// version.
    #[inline(always)]
    pub(super) fn older(self) -> Self {
        self.version().map_or(Self::GONE, |version| version.older)
    }

    /// Returns the list as it was at a moment.
    #[inline(always)]
    pub(super) fn at(self, moment: u64) -> Self {
        let mut state = self;
        while !state.is_absent() && state.stamp() > moment {
            state = state.older();
        }
        state
    }

    /// Returns the list without its version of `stamp`, which must be in it, and the removed
    /// version's own state. Copies the newer versions.
    pub(super) fn without<V: SkipListSettings>(
        self,
        arena: &Arena,
        node: Node<V>,
        stamp: u64,
    ) -> (Self, Self) {
        if self.stamp() == stamp {
            return (self.older(), self);
        }
        let (rest, removed) = self.older().without(arena, node, stamp);
        (Self::stacked(arena, self.value(node), self.stamp(), rest), removed)
    }

    /// Prefetches the block of the newest version.
    #[inline(always)]
    pub(super) fn prefetch(self) {
        if matches!(self.kind(), VERSION | TOMBSTONE) {
            prefetch_read(std::ptr::without_provenance::<VersionBlock>(
                (self.0 & !(KIND | CLAIMED)) as usize,
            ));
        }
    }

    /// Frees the block of the newest version, if there is one, but not the data that its value
    /// owns.
    ///
    /// # Safety
    /// No other thread can reach the block, and it must be counted as `part`.
    pub(super) unsafe fn free(self, part: MemoryPart) {
        if let Some(block) = self.block() {
            // SAFETY: allocated in `stacked` with this size; the rest is the caller's contract.
            unsafe { Arena::free(block.cast(), size_of::<VersionBlock>(), part) };
        }
    }

    /// Frees the blocks of the versions before `end`, but not the data that their values own.
    ///
    /// # Safety
    /// As for [`Self::free`], with `MemoryPart::Nodes`; and `end` must be a tail of this list.
    pub(super) unsafe fn free_down_to(self, end: Self) {
        let mut state = self;
        while state != end {
            let older = state.older();
            // SAFETY: the caller's contract.
            unsafe { state.free(MemoryPart::Nodes) };
            state = older;
        }
    }

    /// Frees the block of the newest version, if there is one, after a grace period, but not the
    /// data that its value owns.
    ///
    /// # Safety
    /// The block must be in no list.
    pub(super) unsafe fn retire(self, guard: &impl Guard) {
        unsafe fn reclaim(word: *mut u8, _: &GracePeriod) {
            // SAFETY: the collector passes the word that `retire` gave it, after the grace period.
            unsafe { SkipNodeState(word.addr() as u64).free(MemoryPart::Retired) };
        }
        let Some(block) = self.block() else { return };
        // SAFETY: the block is live and counted as `Nodes`; the caller promises that it is in no
        // list. The collector passes the word on unchanged: it never reads through it.
        unsafe {
            Arena::recount(block.cast(), size_of::<VersionBlock>(), MemoryPart::Nodes, MemoryPart::Retired);
            guard.defer_retire(std::ptr::without_provenance_mut::<u8>(self.unclaimed().0 as usize), reclaim);
        }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::super::variant::SkipListStandard;
    use super::*;

    #[test]
    fn every_moment_finds_its_version_after_a_removal() {
        let arena = Arena::new();
        let node = Node::<SkipListStandard>::new(&arena, 1, b"key", SkipNodeState::inline(2), 20);
        let mut state = node.state();
        for (value, stamp) in [(Some(50), 5), (None, 7), (Some(90), 9)] {
            state = SkipNodeState::stacked(&arena, value, stamp, state);
        }
        let seen =
            |state: SkipNodeState| (1..11).map(|moment| state.at(moment).value(node)).collect::<Vec<_>>();
        let all = [None, Some(20), Some(20), Some(20), Some(50), Some(50), None, None, Some(90), Some(90)];
        assert_eq!(seen(state), all);
        assert_eq!(seen(state.claimed()), all);
        let (rest, removed) = state.without(&arena, node, 5);
        assert_eq!((removed.value(node), removed.stamp()), (Some(50), 5));
        assert_eq!(seen(rest)[3..8], [Some(20), Some(20), Some(20), None, None]);
        let (rest, removed) = rest.without(&arena, node, 2);
        assert_eq!(removed, SkipNodeState::inline(2));
        assert_eq!(seen(rest)[..8], [None; 8]);
        assert_eq!(seen(rest)[8..], [Some(90); 2]);
    }
}
