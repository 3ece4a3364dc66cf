//! `BitBase`'s `intkey(m)`: numbers as strings.

use linkme::distributed_slice;

use super::numbered::numbered;
use super::{FAMILIES, Family, PaperFigures, Parameter, Request, Source, Takes};

#[distributed_slice(FAMILIES)]
static INTKEY: Family =
    Family::new(60, "intkey", "random numbers from 0 up to, but not, M, in decimal", |request| {
        Ok(open(request))
    })
    .taking(Takes::Numbers(&[Parameter { name: "M", least: 1, most: 1 << 63 }]), "intkey(2147483648)")
    .papers(&[PaperFigures::count("BitBase, section 4.1", 1_000_000)]);

fn open(request: &Request) -> Box<dyn Source> {
    decimals_below(request, request.numbers[0])
}

/// The numbers below `bound` in decimal.
pub fn decimals_below(request: &Request, bound: u64) -> Box<dyn Source> {
    numbered(request, bound, |number, key| key.extend(number.to_string().as_bytes()))
}
