//! Wormhole's `Klong`: keys that differ only in their last bytes.

use super::numbered::numbered;
use super::random_bytes::LENGTHS;
use super::{KeyFamily, KeyRequest, KeySource, NameSuffix, PaperFigures};

pub static K_LONG: KeyFamily = KeyFamily::new(
    "Klong",
    "L - 4 times the character '0', then 4 random bytes: only the end tells keys apart",
    |request| Ok(open(request)),
)
.taking(NameSuffix::Numbers(LENGTHS), "Klong(64)")
.papers(&[PaperFigures::count("Wormhole, section 4.2 (L is 8 to 512)", 10_000_000)]);

fn open(request: &KeyRequest) -> Box<dyn KeySource> {
    let filler = request.numbers[0] as usize - 4;
    numbered(request, 1 << 32, move |number, key| {
        key.resize(filler, b'0');
        key.extend((number as u32).to_be_bytes());
    })
}
