//! The crate `masstree`, in its inline variant.
//!
//! Its scans (version 0.9.5) begin in the wrong place when the first key lies in a deeper layer: they skip the rest
//! of that layer. So on keys longer than 8 bytes nearly all its scans are wrong, and the report says so.

use masstree::{MassTree15Inline, RangeBound};

use super::Contender;

/// `MassTree15Inline<u64>`.
pub struct MasstreeCrate(MassTree15Inline<u64>);

impl Contender for MasstreeCrate {
    const NAME: &'static str = "masstree-crate";
    /// It panics on longer keys.
    const LONGEST: usize = masstree::MAX_KEY_LENGTH;
    type Pin<'a> = skein_index::LocalGuard<'a>;

    fn new() -> Self {
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
