//! The contenders: our indexes, and other people's.

mod btree;
#[cfg(feature = "rivals")]
mod masstree_crate;
mod ours;
#[cfg(feature = "rivals")]
mod skip_list;

pub use btree::LockedBTree;
#[cfg(feature = "rivals")]
pub use masstree_crate::MasstreeCrate;
pub use ours::Ours;
#[cfg(feature = "rivals")]
pub use skip_list::{SkipListBytes, SkipListWords};

/// An ordered index under test: keys are byte strings, values 64-bit words.
pub trait Contender: Sync + Sized {
    /// Its name in the report.
    const NAME: &'static str;

    /// Whether it has a batch lookup of its own.
    const BATCHES: bool = false;

    /// The longest key it takes.
    const LONGEST: usize = usize::MAX;

    /// What keeps memory from being freed under a reader; renewed every thousand operations.
    type Pin<'a>
    where
        Self: 'a;

    /// An empty one.
    fn new() -> Self;

    /// Pins.
    fn pin(&self) -> Self::Pin<'_>;

    /// Sets the key to the value.
    fn insert<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8], value: u64);

    /// Finds the key's value.
    fn get<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8]) -> Option<u64>;

    /// Finds many, by the best way it has.
    fn get_many<'a>(
        &'a self,
        pin: &Self::Pin<'a>,
        keys: &[&[u8]],
        mut found: impl FnMut(usize, Option<u64>),
    ) {
        for (position, key) in keys.iter().enumerate() {
            found(position, self.get(pin, key));
        }
    }

    /// Visits the first `count` keys from `from` on.
    fn scan<'a>(&'a self, pin: &Self::Pin<'a>, from: &[u8], count: usize, each: impl FnMut(&[u8], u64));

    /// Live bytes that it did not take from the global allocator.
    fn own_bytes(&self) -> usize {
        0
    }
}
