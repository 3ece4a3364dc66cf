//! Transactions: copy some buckets, change the copies, then replace all originals at once.
//!
//! ```text
//!   take ─► copy, with its version
//!   plan ─► change the copies                      in `transaction.rs` of the index
//!   lock ─► lock every bucket, if it is still as it was copied
//!   apply ─► write all, publish, unlock all
//! ```
//!
//! Every write to an index is one such transaction. It locks its buckets by compare-and-swap on
//! their versions, which verifies the copies at the same time (Cuckoo Trie, section 5).
//!
//! # Invariants
//! 1. A transaction never waits for a lock. If a lock fails, it releases the others, and the writer
//!    plans anew. So there is no deadlock.
//! 2. While a transaction holds its locks, all buckets that it has copied are as they were copied.
//!    So everything that its plan read in them was there at one moment.
//! 3. A transaction writes only buckets that it has locked. It writes none before it has locked
//!    all, and unlocks none before it has written all.
//! 4. An entry that a transaction adds or moves belongs to its bucket also in a table of the
//!    present size. If the size has changed since the plan, `lock` checks that. A later split would
//!    have to lock a bucket that is locked here, so the entry stays where it belongs.
//! 5. A transaction that is dropped before it is applied has changed nothing.

use std::fmt::Debug;

use arrayvec::ArrayVec;

use super::linear_hashing::{LinearHashSize, TableSize};
use crate::counter::Counter;

/// A table with buckets that transactions copy, lock and write.
pub(crate) trait BucketTable: Sized {
    /// A private copy of a bucket.
    type Image: Debug;
    /// The note of a plan about a copy.
    type Note: Debug + Default;
    /// An entry that a plan adds or moves, with its bucket and the data that leads to the bucket.
    type Placement: Debug;
    /// The locks that a transaction holds.
    type Locks: Debug + Default;

    /// Returns the number of buckets.
    fn table_size(&self) -> &TableSize;

    /// Returns how many times entries moved to other buckets.
    fn moved(&self) -> &Counter;

    /// Returns a consistent copy of a bucket, and its version.
    fn copy(&self, bucket: u32) -> (Self::Image, u64);

    /// Returns whether an entry belongs to its bucket in a table of this size.
    fn is_at_home(placement: &Self::Placement, size: LinearHashSize) -> bool;

    /// Locks all buckets, each only if it has the version of its copy. Returns false after the
    /// first failure. `locks` are then those that were acquired.
    fn lock(&self, copies: &[BucketCopy<Self>], locks: &mut Self::Locks) -> bool;

    /// Writes the changed ones of these buckets, which are all locked.
    fn write(&self, copies: &[BucketCopy<Self>]);

    /// Releases all locks; with the next version where that is needed if the transaction `applied`
    /// its changes.
    fn unlock(&self, copies: &[BucketCopy<Self>], locks: &mut Self::Locks, applied: bool);
}

/// A bucket that a transaction has copied.
#[derive(Debug)]
pub(crate) struct BucketCopy<T: BucketTable> {
    pub(crate) number: u32,
    /// The version of the bucket when it was copied.
    pub(crate) seen: u64,
    pub(crate) image: T::Image,
    pub(crate) note: T::Note,
    /// Whether the copy differs from the bucket.
    pub(crate) dirty: bool,
}

/// A bucket has changed since it was copied, or an entry belongs to another bucket now: plan anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketChanged;

/// The copies and locks of one transaction.
#[derive(Debug)]
pub(crate) struct BucketTransaction<'t, T: BucketTable, const BUCKETS: usize, const PLACEMENTS: usize> {
    pub(crate) table: &'t T,
    /// The size of the table that the plan assumes.
    pub(crate) size: LinearHashSize,
    pub(crate) held: ArrayVec<BucketCopy<T>, BUCKETS>,
    /// The entries that the transaction adds or moves.
    pub(crate) placed: ArrayVec<T::Placement, PLACEMENTS>,
    locks: T::Locks,
    /// How many entries move to other buckets.
    pub(crate) moved: u32,
    /// Whether the buckets of a new entry were full.
    pub(crate) crowded: bool,
}

impl<'t, T: BucketTable, const BUCKETS: usize, const PLACEMENTS: usize>
    BucketTransaction<'t, T, BUCKETS, PLACEMENTS>
{
    /// Creates a transaction whose plan assumes a table of this size. The size must be the table's,
    /// unless the transaction itself changes it.
    #[inline(always)]
    pub(crate) fn new(table: &'t T, size: LinearHashSize) -> Self {
        Self {
            table,
            size,
            held: ArrayVec::new(),
            placed: ArrayVec::new(),
            locks: T::Locks::default(),
            moved: 0,
            crowded: false,
        }
    }

    /// Copies a bucket, unless it was copied before. Returns its index in the transaction, or
    /// `None` if the transaction has its maximum number of buckets.
    #[inline(always)]
    pub(crate) fn take(&mut self, number: u32) -> Option<usize> {
        match self.held.iter().position(|held| held.number == number) {
            Some(held) => Some(held),
            None => self.copy(number),
        }
    }

    #[inline(always)]
    fn copy(&mut self, number: u32) -> Option<usize> {
        let (image, seen) = self.table.copy(number);
        let copy = BucketCopy { number, seen, image, note: T::Note::default(), dirty: false };
        self.held.try_push(copy).ok()?;
        Some(self.held.len() - 1)
    }

    /// Returns the copy of a bucket, if there is one.
    #[inline(always)]
    pub(crate) fn copy_of(&self, number: u32) -> Option<&BucketCopy<T>> {
        self.held.iter().find(|held| held.number == number)
    }

    /// Locks all buckets of the transaction. If one has changed, locks none.
    #[inline(always)]
    pub(crate) fn lock(&mut self) -> Result<(), BucketChanged> {
        self.lock_buckets()?;
        // Invariant 4.
        let size = self.table.table_size().present();
        let moved = |placement: &T::Placement| !T::is_at_home(placement, size);
        if size.buckets() != self.size.buckets() && self.placed.iter().any(moved) {
            self.release();
            return Err(BucketChanged);
        }
        Ok(())
    }

    #[inline(always)]
    fn lock_buckets(&mut self) -> Result<(), BucketChanged> {
        if self.table.lock(&self.held, &mut self.locks) {
            return Ok(());
        }
        self.release();
        Err(BucketChanged)
    }

    /// Writes the locked buckets, calls `published`, and unlocks them.
    #[inline(always)]
    pub(crate) fn apply_with(&mut self, published: impl FnOnce()) {
        self.table.write(&self.held);
        published();
        self.table.unlock(&self.held, &mut self.locks, true);
        // Models skip this: it orders nothing and would add a step to interleave.
        if self.moved > 0 && !cfg!(skein_loom) {
            self.table.moved().add(self.thread(), self.moved.into());
        }
    }

    /// Locks the buckets, applies the changes, and sets the size of the table together with them.
    /// The caller must hold the right to change the size.
    pub(crate) fn apply_with_size(&mut self, buckets: u32) -> Result<(), BucketChanged> {
        self.lock_buckets()?;
        self.apply_with(|| self.table.table_size().set(buckets));
        Ok(())
    }

    /// Returns a number that spreads counts over the parts of a [`Counter`].
    #[inline(always)]
    pub(crate) fn thread(&self) -> usize {
        self.held.first().map_or(0, |held| held.number as usize)
    }

    /// Releases the locks. The buckets are unchanged.
    #[inline(always)]
    pub(crate) fn release(&mut self) {
        self.table.unlock(&self.held, &mut self.locks, false);
    }
}

impl<T: BucketTable, const BUCKETS: usize, const PLACEMENTS: usize> Drop
    for BucketTransaction<'_, T, BUCKETS, PLACEMENTS>
{
    fn drop(&mut self) {
        self.release();
    }
}
