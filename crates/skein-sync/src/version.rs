//! The version word of a tree node: its lock, its kind, and the counters that show writers to
//! readers.
//!
//! ```text
//!   63                28 27          8   7 6    5       4       3        2          1        0
//!  ┌────────────────────┬─────────────┬─────┬────────┬──────┬───────┬─────────┬─────────┬──────┐
//!  │ vsplit (36 bits)   │ vinsert (20)│  0  │ border │ root │deleted│splitting│inserting│locked│
//!  └────────────────────┴─────────────┴─────┴────────┴──────┴───────┴─────────┴─────────┴──────┘
//! ```
//!
//! A reader takes a *stable* version (no writer is rearranging the node), reads, and checks whether
//! the version has [`changed`](VersionWord::changed). If so, the data may be a mixture of two
//! states, and the reader discards them. A writer holds the lock and marks the node before it
//! rearranges anything that readers rely on. Unlocking counts the mark. Source: Masstree, sections
//! 4.3 and 4.6, figure 3.
//!
//! # Invariants
//! 1. Only the holder of the lock changes the word, apart from the locking itself.
//! 2. Between a mark and the unlocking, [`stable`](VersionWord::stable) does not return.
//! 3. Unlocking a node that was marked inserting adds one to vinsert; marked splitting, one to
//!    vsplit. A deleted node stays deleted.
//!
//! # Can a counter wrap under a stalled reader?
//! The two counters are neighbours, and both grow by plain addition, so a vinsert that overflows
//! carries into vsplit. A reader then takes an insert for a split and restarts, which is harmless.
//! A reader would accept a mixture only if the word returned to its old value while the reader
//! stands still:
//!
//! - by inserts, after 2^56 of them in one node: at one per 10 ns that takes 22 years;
//! - by splits, after 2^36 of them in one node. A node that has split is half empty and takes at
//!   least seven inserts before the next split. At 50 ns per insert that takes more than six hours,
//!   in which the reader must not be scheduled once.

use crate::atomic::{AtomicU64, Ordering, fence};
use crate::spin::Backoff;

const LOCKED: u64 = 1;
const INSERTING: u64 = 1 << 1;
const SPLITTING: u64 = 1 << 2;
const DELETED: u64 = 1 << 3;
const ROOT: u64 = 1 << 4;
const BORDER: u64 = 1 << 5;
const VINSERT_ONE: u64 = 1 << 8;
const VSPLIT_ONE: u64 = 1 << 28;

/// A node's version at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(u64);

impl Version {
    /// The first version of an interior node.
    pub const INTERIOR: Self = Self(0);
    /// The first version of a border node.
    pub const BORDER: Self = Self(BORDER);

    /// Returns this version with the root flag set.
    #[must_use]
    pub const fn as_root(self) -> Self {
        Self(self.0 | ROOT)
    }

    /// Returns this version with the lock held and the node marked as splitting. For the new half
    /// of a split, which must not be read before it is linked everywhere.
    #[must_use]
    pub const fn as_locked_split(self) -> Self {
        Self(self.0 | LOCKED | SPLITTING)
    }

    /// Returns whether the node is a border node (a leaf of its layer's B+-tree).
    #[inline(always)]
    pub const fn is_border(self) -> bool {
        self.0 & BORDER != 0
    }

    /// Returns whether the node is the root of its layer.
    #[inline(always)]
    pub const fn is_root(self) -> bool {
        self.0 & ROOT != 0
    }

    /// Returns whether the node was unlinked. It will never change again.
    #[inline(always)]
    pub const fn is_deleted(self) -> bool {
        self.0 & DELETED != 0
    }

    /// Returns whether no writer was rearranging the node at that moment.
    #[inline(always)]
    pub const fn is_stable(self) -> bool {
        self.0 & (INSERTING | SPLITTING) == 0
    }

    /// Returns whether the node was locked at that moment.
    #[inline(always)]
    pub const fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// Returns whether the node has split, begun to split, or was deleted between this version and
    /// `later`.
    #[inline(always)]
    pub const fn split_until(self, later: Self) -> bool {
        (self.0 ^ later.0) >= VSPLIT_ONE
            || (later.0 & (SPLITTING | DELETED)) != (self.0 & (SPLITTING | DELETED))
    }
}

/// A node's version word.
#[derive(Debug)]
pub struct VersionWord(AtomicU64);

impl VersionWord {
    /// Creates a word that starts with `version`.
    pub fn new(version: Version) -> Self {
        Self(AtomicU64::new(version.0))
    }

    /// Returns the current version, maybe in the middle of a change.
    #[inline(always)]
    pub fn peek(&self) -> Version {
        // Acquire: pairs with the Release in `unlock`, for callers that act on a deleted flag
        // without the lock.
        Version(self.0.load(Ordering::Acquire))
    }

    /// Returns a version at which no writer is rearranging the node. Waits if a writer is.
    #[inline(always)]
    pub fn stable(&self) -> Version {
        // Acquire: pairs with the Release in `unlock`; the reader sees all changes of the last
        // writer.
        let version = self.0.load(Ordering::Acquire);
        if version & (INSERTING | SPLITTING) == 0 { Version(version) } else { self.stable_slow() }
    }

    #[cold]
    fn stable_slow(&self) -> Version {
        let mut backoff = Backoff::new();
        loop {
            backoff.wait();
            // Acquire: as in `stable`.
            let version = self.0.load(Ordering::Acquire);
            if version & (INSERTING | SPLITTING) == 0 {
                return Version(version);
            }
        }
    }

    /// Returns whether the node was rearranged since `seen`, which must be a result of
    /// [`stable`](Self::stable). If not, all data that the caller has read in between are
    /// consistent. Locking alone is no change.
    #[inline(always)]
    pub fn changed(&self, seen: Version) -> bool {
        // Acquire fence: pairs with the Release fence in `mark`. If one of the caller's loads saw a
        // store made after a mark, the load below sees that mark or a later word.
        fence(Ordering::Acquire);
        (self.0.load(Ordering::Relaxed) ^ seen.0) > LOCKED
    }

    /// Takes the lock if it is free. Returns whether it did.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let version = self.0.load(Ordering::Relaxed);
        version & LOCKED == 0
            // Acquire: pairs with the Release in `unlock`; the holder sees all changes of earlier
            // holders.
            && self
                .0
                .compare_exchange(version, version | LOCKED, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Waits for the lock and takes it.
    #[inline]
    pub fn lock(&self) {
        let mut backoff = Backoff::new();
        while !self.try_lock() {
            backoff.wait();
        }
    }

    /// Marks that slots will be reused or entries moved within the node. The caller must hold the
    /// lock.
    #[inline]
    pub fn mark_inserting(&self) {
        self.mark(INSERTING);
    }

    /// Marks that the node's key range will change. The caller must hold the lock.
    #[inline]
    pub fn mark_splitting(&self) {
        self.mark(SPLITTING);
    }

    /// Marks that the node is unlinked for good. The caller must hold the lock.
    #[inline]
    pub fn mark_deleted(&self) {
        self.mark(SPLITTING | DELETED);
    }

    #[inline]
    fn mark(&self, flags: u64) {
        let version = self.0.load(Ordering::Relaxed);
        debug_assert!(version & LOCKED != 0, "a node must be marked under its lock");
        // Relaxed: the lock is held (invariant 1), and the fence orders the mark before later
        // stores.
        self.0.store(version | flags, Ordering::Relaxed);
        // Release fence: pairs with the Acquire fence in `changed`.
        fence(Ordering::Release);
    }

    /// Sets or clears the root flag. The caller must hold the lock.
    #[inline]
    pub fn set_root(&self, root: bool) {
        let version = self.0.load(Ordering::Relaxed);
        debug_assert!(version & LOCKED != 0, "the root flag must be changed under the lock");
        // Relaxed: the lock is held. A mark, or the pointer that links to the node, keeps readers
        // out.
        self.0.store(if root { version | ROOT } else { version & !ROOT }, Ordering::Relaxed);
    }

    /// Unlocks the node and counts the marks.
    #[inline]
    pub fn unlock(&self) {
        let version = self.0.load(Ordering::Relaxed);
        debug_assert!(version & LOCKED != 0, "only a held lock can be unlocked");
        let mut next = version & !(LOCKED | INSERTING | SPLITTING);
        if version & INSERTING != 0 {
            next = next.wrapping_add(VINSERT_ONE);
        }
        if version & SPLITTING != 0 {
            next = next.wrapping_add(VSPLIT_ONE);
        }
        // Release: pairs with the Acquire in `stable` and `try_lock`.
        self.0.store(next, Ordering::Release);
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_alone_is_no_change() {
        let word = VersionWord::new(Version::BORDER.as_root());
        let seen = word.stable();
        word.lock();
        assert!(!word.changed(seen) && !word.try_lock() && word.peek().is_locked());
        word.unlock();
        assert!(!word.changed(seen));
        assert!(seen.is_border() && seen.is_root() && !seen.is_deleted());
    }

    #[test]
    fn marks_are_seen_at_once_and_counted_at_the_end() {
        let word = VersionWord::new(Version::INTERIOR);
        let seen = word.stable();
        word.lock();
        word.mark_inserting();
        assert!(word.changed(seen));
        word.unlock();
        let inserted = word.stable();
        assert!(word.changed(seen) && !seen.split_until(inserted));
        word.lock();
        word.mark_splitting();
        assert!(inserted.split_until(word.peek()));
        word.unlock();
        assert!(inserted.split_until(word.stable()));
    }

    #[test]
    fn a_deleted_node_stays_deleted() {
        let word = VersionWord::new(Version::BORDER);
        let seen = word.stable();
        word.lock();
        word.mark_deleted();
        word.unlock();
        assert!(word.stable().is_deleted() && seen.split_until(word.stable()));
    }

    #[test]
    fn an_overflow_of_vinsert_is_a_spurious_split() {
        let full = Version((VSPLIT_ONE - 1) & !0xff);
        let word = VersionWord::new(full);
        word.lock();
        word.mark_inserting();
        word.unlock();
        assert!(word.changed(full) && full.split_until(word.stable()));
    }
}
