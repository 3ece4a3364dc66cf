//! The crate `masstree`, in its inline variant.
//!
//! Its scans (version 0.9.5) start in the wrong place if the first key lies in a deeper layer: they
//! skip the rest of that layer. So nearly all its scans are wrong on keys longer than 8 bytes. On
//! shorter keys they are wrong if one key is another followed by zero bytes. So scans are measured
//! only on sets in which all keys have 8 bytes.

use masstree::{MassTree15Inline, RangeBound};

use super::{IndexAbilities, IndexContender, RegisteredIndex};

pub static ENTRIES: [RegisteredIndex; 1] = [RegisteredIndex::shared::<MasstreeCrate>()];

/// `MassTree15Inline<u64>`.
struct MasstreeCrate(MassTree15Inline<u64>);

impl IndexContender for MasstreeCrate {
    const NAME: &'static str = "masstree-crate";
    const ABOUT: &'static str = "masstree 0.9, MassTree15Inline<u64>; scans on keys of 8 bytes \
                                 only (wrong on longer ones, and on shorter ones that end in zero \
                                 bytes)";
    const CAN: IndexAbilities =
        IndexAbilities { scan: true, lower_bound: true, remove: true, ..IndexAbilities::NOTHING };
    /// Its methods panic on longer keys.
    const KEY_BYTES: (usize, usize) = (0, masstree::MAX_KEY_LENGTH);
    const SCAN_KEY_BYTES: (usize, usize) = (8, 8);
    type Pin<'a> = seize::LocalGuard<'a>;

    fn new(_expected: usize) -> Self {
        Self(MassTree15Inline::new())
    }

    fn pin(&self) -> Self::Pin<'_> {
        self.0.guard()
    }

    #[inline(always)]
    fn insert<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8], value: u64) {
        self.0.insert_with_guard(key, value, pin);
    }

    #[inline(always)]
    fn get<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8]) -> Option<u64> {
        self.0.get_with_guard(key, pin)
    }

    fn remove<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8]) -> bool {
        self.0.remove_with_guard(key, pin).is_ok_and(|removed| removed.is_some())
    }

    fn scan<'a>(&'a self, pin: &Self::Pin<'a>, from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        let mut left = count;
        let visit = |key: &[u8], value: u64| {
            each(key, value);
            left -= 1;
            left > 0
        };
        self.0.scan(RangeBound::Included(from), RangeBound::Unbounded, visit, pin);
    }
}
