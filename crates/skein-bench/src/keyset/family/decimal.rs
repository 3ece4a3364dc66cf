//! Masstree's "1-to-10-byte decimal" keys.

use linkme::distributed_slice;

use super::intkey::decimals_below;
use super::{FAMILIES, Family, PaperFigures, Request, Source};

#[distributed_slice(FAMILIES)]
static DECIMAL: Family = Family::new(
    20,
    "decimal",
    "random numbers from 0 up to, but not, 2^31, in decimal: 1 to 10 bytes",
    |request| Ok(open(request)),
)
.papers(&[PaperFigures::count("Masstree, section 6.1", 140_000_000)]);

fn open(request: &Request) -> Box<dyn Source> {
    decimals_below(request, 1 << 31)
}
