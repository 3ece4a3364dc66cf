//! Scripts of scans from random present keys.

use super::ranked_key_set::{RankedKeySet, ThreadShare};
use super::script::{OpKind, Script};

/// Returns scans of `length` keys each, upward or downward.
pub fn scans(
    asked: &RankedKeySet<'_>,
    count: usize,
    length: u16,
    back: bool,
    seed: u64,
    share: ThreadShare,
) -> Script {
    let mut random = share.random(seed);
    let mut script = Script::default();
    let kind = if back { OpKind::ScanBack } else { OpKind::Scan };
    for _ in 0..count {
        let number = random.below(asked.keys().len());
        asked.push(&mut script, kind, number, length);
        script.expect.push(asked.scanned(number, length.into(), back));
    }
    script
}
