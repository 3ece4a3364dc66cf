//! Scripts of inserts among lookups, removals, and churn.

use super::ranked_key_set::{RankedKeySet, ThreadShare};
use super::script::{OpKind, Script};

/// Returns operations. A fraction `inserts` adds absent keys; the rest looks up present keys. The
/// script ends early if no absent key is left.
pub fn inserts_and_lookups(
    asked: &RankedKeySet<'_>,
    count: usize,
    inserts: f64,
    seed: u64,
    share: ThreadShare,
) -> Script {
    let mut random = share.random(seed);
    let mut fresh = share.of(asked.set.absent.len());
    let mut script = Script::default();
    for _ in 0..count {
        if random.unit() < inserts {
            let Some(absent) = fresh.next() else { break };
            asked.push_absent(&mut script, OpKind::Put, absent);
        } else {
            asked.push(&mut script, OpKind::Get, random.below(asked.keys().len()), 0);
        }
    }
    script
}

/// Returns removals of random keys, after which a fraction `left` of the keys remains.
pub fn removes(asked: &RankedKeySet<'_>, left: f64, seed: u64, share: ThreadShare) -> Script {
    let mut numbers: Vec<usize> = share.of(asked.keys().len()).collect();
    share.random(seed).shuffle(&mut numbers);
    #[expect(clippy::cast_sign_loss, reason = "a part of a count of keys")]
    let goes = (numbers.len() as f64 * (1.0 - left)) as usize;
    let mut script = Script::default();
    for &number in &numbers[..goes] {
        asked.push(&mut script, OpKind::Remove, number, 0);
    }
    script
}

/// Returns pairs of a removal and an insert, so that the size stays the same while the keys change.
/// The script ends when the absent keys are used up.
pub fn churn(asked: &RankedKeySet<'_>, count: usize, seed: u64, share: ThreadShare) -> Script {
    let mut numbers: Vec<usize> = share.of(asked.keys().len()).collect();
    share.random(seed).shuffle(&mut numbers);
    let mut script = Script::default();
    for (number, absent) in numbers.into_iter().zip(share.of(asked.set.absent.len())).take(count / 2) {
        asked.push(&mut script, OpKind::Remove, number, 0);
        asked.push_absent(&mut script, OpKind::Put, absent);
    }
    script
}
