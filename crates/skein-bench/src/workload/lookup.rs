//! Scripts of lookups and lower bounds with a hit ratio (MlpIndex paper, section 4.4: 80 % for
//! lookups, 15 % for lower bounds).

use super::ranked_key_set::{RankedKeySet, ThreadShare};
use super::script::{OpKind, Script};

/// Returns lookups of random keys. A fraction `hits` of the keys is present.
pub fn lookups(asked: &RankedKeySet<'_>, count: usize, hits: f64, seed: u64, share: ThreadShare) -> Script {
    let mut random = share.random(seed);
    let mut script = Script::default();
    let absent = asked.set.absent.len();
    for _ in 0..count {
        if absent == 0 || random.unit() < hits {
            let number = random.below(asked.keys().len());
            asked.push(&mut script, OpKind::Get, number, 0);
        } else {
            asked.push_absent(&mut script, OpKind::Miss, random.below(absent));
        }
    }
    script
}

/// Returns lookups of the first few keys only, so that all data that they read stays in the caches.
pub fn of_few(asked: &RankedKeySet<'_>, count: usize, few: usize, seed: u64, share: ThreadShare) -> Script {
    let mut random = share.random(seed);
    let mut script = Script::default();
    for _ in 0..count {
        asked.push(&mut script, OpKind::Get, random.below(few.min(asked.keys().len())), 0);
    }
    script
}

/// Returns lower bounds from random keys. A fraction `hits` of the keys is present.
pub fn lower_bounds(
    asked: &RankedKeySet<'_>,
    count: usize,
    hits: f64,
    seed: u64,
    share: ThreadShare,
) -> Script {
    let mut script = lookups(asked, count, hits, seed, share);
    for at in 0..script.len() {
        let expect = match script.ops[at].kind {
            OpKind::Get => asked.scanned(script.ops[at].number as usize, 1, false),
            _ => asked.lower_bound(script.keys.get(at)),
        };
        script.expect.push(expect);
        script.ops[at].kind = OpKind::LowerBound;
    }
    script
}
