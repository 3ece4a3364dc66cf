//! Scans from random present keys.

use super::asked::{Asked, Share};
use super::script::{Kind, Script};

/// Scans of `length` keys each, upward or downward.
pub fn scans(asked: &Asked<'_>, count: usize, length: u16, back: bool, seed: u64, share: Share) -> Script {
    let mut random = share.random(seed);
    let mut script = Script::default();
    let kind = if back { Kind::ScanBack } else { Kind::Scan };
    for _ in 0..count {
        let number = random.below(asked.keys().len());
        asked.push(&mut script, kind, number, length);
        script.expect.push(asked.scanned(number, length.into(), back));
    }
    script
}
