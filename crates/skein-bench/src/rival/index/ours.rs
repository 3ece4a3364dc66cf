//! Our own indexes, through the contract that all of them keep.

use linkme::distributed_slice;
use skein_index::{Cursor, Inline, LocalGuard, Masstree, OrderedIndex};

use super::{Can, Contender, ENTRIES, Entry};

#[distributed_slice(ENTRIES)]
static MASSTREE: Entry = Entry::shared::<Ours<Masstree<Inline<u64>>>>(0);

/// An index of ours, for the bench's words.
trait Named: OrderedIndex<Inline<u64>> + Sized + 'static {
    const NAME: &'static str;
    const ABOUT: &'static str;

    fn empty() -> Self;
}

impl Named for Masstree<Inline<u64>> {
    const NAME: &'static str = "skein-masstree";
    const ABOUT: &'static str = "Masstree<Inline<u64>>, as it comes";

    fn empty() -> Self {
        Self::new()
    }
}

/// One of our indexes as a contender.
struct Ours<I>(I);

impl<I: Named> Contender for Ours<I> {
    const NAME: &'static str = I::NAME;
    const ABOUT: &'static str = I::ABOUT;
    const CAN: Can = Can { batches: true, scan: true, scan_back: true, remove: true };
    const KEY_BYTES: (usize, usize) = (0, skein_index::index::MAX_KEY_LEN);
    type Pin<'a> = LocalGuard<'a>;

    fn new(_expected: usize) -> Self {
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

    #[inline(always)]
    fn remove<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8]) -> bool {
        self.0.remove(key, pin).is_some()
    }

    fn scan<'a>(&'a self, pin: &Self::Pin<'a>, from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        let mut cursor = self.0.cursor(pin);
        let mut there = cursor.seek(from);
        for _ in 0..count {
            let (true, Some(key), Some(value)) = (there, cursor.key(), cursor.value()) else { return };
            each(key, value);
            there = cursor.next();
        }
    }

    fn scan_back<'a>(
        &'a self,
        pin: &Self::Pin<'a>,
        from: &[u8],
        count: usize,
        mut each: impl FnMut(&[u8], u64),
    ) {
        let mut cursor = self.0.cursor(pin);
        let mut there = cursor.seek_back(from);
        for _ in 0..count {
            let (true, Some(key), Some(value)) = (there, cursor.key(), cursor.value()) else { return };
            each(key, value);
            there = cursor.prev();
        }
    }

    fn own_bytes(&self) -> Vec<(&'static str, usize)> {
        let memory = self.0.memory();
        vec![("nodes", memory.nodes), ("keys", memory.keys)]
    }
}
