//! Masstree's "1-to-10-byte decimal" keys.

use linkme::distributed_slice;

use super::intkey::decimals_below;
use super::{FAMILIES, KeyFamily, KeyRequest, KeySource, PaperFigures};

#[distributed_slice(FAMILIES)]
static DECIMAL: KeyFamily = KeyFamily::new(
    20,
    "decimal",
    "random numbers from 0 up to, but not, 2^31, in decimal: 1 to 10 bytes",
    |request| Ok(open(request)),
)
.papers(&[PaperFigures::count("Masstree, section 6.1", 140_000_000)]);

fn open(request: &KeyRequest) -> Box<dyn KeySource> {
    decimals_below(request, 1 << 31)
}
