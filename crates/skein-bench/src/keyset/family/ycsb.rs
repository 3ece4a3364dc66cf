//! YCSB's keys. Masstree's MYCSB uses 20 million of them.

use super::numbered::numbered;
use super::{KeyFamily, KeyRequest, KeySource, PaperFigures};

const ABOUT: &str = "the word 'user', then a random 64-bit number in decimal: 5 to 24 bytes";

pub static YCSB: KeyFamily = KeyFamily::new("ycsb", ABOUT, |request| Ok(open(request)))
    .papers(&[PaperFigures::count("Masstree, section 7 (5 to 24 bytes)", 20_000_000)]);

fn open(request: &KeyRequest) -> Box<dyn KeySource> {
    numbered(request, u64::MAX, |number, key| {
        key.extend(b"user");
        key.extend(number.to_string().as_bytes());
    })
}
