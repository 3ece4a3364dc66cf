//! `BitBase`'s `intkey(m)`: numbers as strings.

use super::numbered::numbered;
use super::{FamilyParameter, KeyFamily, KeyRequest, KeySource, NameSuffix, PaperFigures};

pub static INTKEY: KeyFamily =
    KeyFamily::new("intkey", "random numbers from 0 up to, but not, M, in decimal", |request| {
        Ok(open(request))
    })
    .taking(
        NameSuffix::Numbers(&[FamilyParameter { name: "M", least: 1, most: 1 << 63 }]),
        "intkey(2147483648)",
    )
    .papers(&[PaperFigures::count("BitBase, section 4.1", 1_000_000)]);

fn open(request: &KeyRequest) -> Box<dyn KeySource> {
    decimals_below(request, request.numbers[0])
}

/// Returns the source of the numbers below `bound`, in decimal.
pub fn decimals_below(request: &KeyRequest, bound: u64) -> Box<dyn KeySource> {
    numbered(request, bound, |number, key| key.extend(number.to_string().as_bytes()))
}
