//! Masstree's "1-to-10-byte decimal" keys.

use super::intkey::decimals_below;
use super::{KeyFamily, KeyRequest, KeySource, PaperFigures};

pub static DECIMAL: KeyFamily = KeyFamily::new(
    "decimal",
    "random numbers from 0 up to, but not, 2^31, in decimal: 1 to 10 bytes",
    |request| Ok(open(request)),
)
.papers(&[PaperFigures::count("Masstree, section 6.1", 140_000_000)]);

fn open(request: &KeyRequest) -> Box<dyn KeySource> {
    decimals_below(request, 1 << 31)
}
