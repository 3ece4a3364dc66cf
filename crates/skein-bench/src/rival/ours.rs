//! Our own indexes, through the contract that all of them keep.

use skein_index::{Cursor, Inline, LocalGuard, Masstree, OrderedIndex};

use super::Contender;

/// An index of ours, for the bench's words.
pub trait Named: OrderedIndex<Inline<u64>> + Sized {
    /// Its name in the report.
    const NAME: &'static str;

    /// An empty one.
    fn empty() -> Self;
}

impl Named for Masstree<Inline<u64>> {
    const NAME: &'static str = "skein-masstree";

    fn empty() -> Self {
        Self::new()
    }
}

/// One of our indexes as a contender.
pub struct Ours<I>(I);

impl<I: Named> Contender for Ours<I> {
    const NAME: &'static str = I::NAME;
    const BATCHES: bool = true;
    const LONGEST: usize = skein_index::index::MAX_KEY_LEN;
    type Pin<'a>
        = LocalGuard<'a>
    where
        Self: 'a;

    fn new() -> Self {
        Self(I::empty())
    }

    fn pin(&self) -> Self::Pin<'_> {
        self.0.collector().enter()
    }

    #[inline(always)]
    fn insert<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8], value: u64) {
        self.0.insert(key, Inline(value), pin).expect("the bench's keys are short enough");
    }

    #[inline(always)]
    fn get<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8]) -> Option<u64> {
        self.0.get(key, pin)
    }

    #[inline(always)]
    fn get_many<'a>(&'a self, pin: &Self::Pin<'a>, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        self.0.get_many(keys, pin, found);
    }

    fn scan<'a>(&'a self, pin: &Self::Pin<'a>, from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        let mut cursor = self.0.cursor(pin);
        let mut there = cursor.seek(from);
        for _ in 0..count {
            if !there {
                return;
            }
            if let (Some(key), Some(value)) = (cursor.key(), cursor.value()) {
                each(key, value);
            }
            there = cursor.next();
        }
    }

    fn own_bytes(&self) -> usize {
        self.0.memory().live()
    }
}
