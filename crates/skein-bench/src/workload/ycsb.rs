//! YCSB's workloads on an index (Cooper et al., SoCC 2010), by their letters:
//!
//! | | operations |
//! | --- | --- |
//! | A | 50 % reads, 50 % updates |
//! | B | 95 % reads, 5 % updates |
//! | C | reads |
//! | D | 95 % reads, 5 % inserts; the newest keys are the most popular under `latest` |
//! | E | 95 % scans of 1 to 100 keys, 5 % inserts |
//! | F | 50 % reads, 50 % read-modify-writes |

use super::ranked_key_set::{RankedKeySet, ThreadShare};
use super::script::{OpKind, Script};
use crate::keyset::SeededRandom;
use crate::keyset::distribution::{Latest, Scrambled};

/// YCSB's exponent.
pub const THETA: f64 = 0.99;

/// The greatest number of keys that a scan of workload E reads.
const SCAN_MAX: usize = 100;

/// The popularity of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Popularity {
    /// All keys are equally popular.
    Uniform,
    /// Zipfian, scattered over the keys.
    Zipfian,
    /// The newest keys are the most popular.
    Latest,
}

/// One of the workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct YcsbWorkload {
    /// Its letter.
    pub name: &'static str,
    /// The percentage of reads (E: of scans); the rest is `other`.
    reads: usize,
    read: OpKind,
    other: OpKind,
}

/// All workloads.
pub const LETTERS: [YcsbWorkload; 6] = [
    YcsbWorkload { name: "A", reads: 50, read: OpKind::Get, other: OpKind::Put },
    YcsbWorkload { name: "B", reads: 95, read: OpKind::Get, other: OpKind::Put },
    YcsbWorkload { name: "C", reads: 100, read: OpKind::Get, other: OpKind::Put },
    YcsbWorkload { name: "D", reads: 95, read: OpKind::Get, other: OpKind::Put },
    YcsbWorkload { name: "E", reads: 95, read: OpKind::Scan, other: OpKind::Put },
    YcsbWorkload { name: "F", reads: 50, read: OpKind::Get, other: OpKind::ReadModifyWrite },
];

impl YcsbWorkload {
    /// Returns whether the writes insert new keys instead of updating present ones.
    fn inserts(self) -> bool {
        matches!(self.name, "D" | "E")
    }

    /// Returns whether it needs an order.
    pub fn scans(self) -> bool {
        self.read == OpKind::Scan
    }
}

/// Returns `count` operations of a workload. In D and E, a thread reads only the keys that were
/// there at first and those that it has added itself. The script ends early if no absent key is
/// left to add.
pub fn ycsb(
    asked: &RankedKeySet<'_>,
    letter: YcsbWorkload,
    popularity: Popularity,
    count: usize,
    seed: u64,
    share: ThreadShare,
) -> Script {
    let mut random = share.random(seed);
    let mut chooser = Chooser::new(asked, popularity, seed);
    let mut fresh = share.of(asked.set.absent.len());
    let mut script = Script::default();
    for _ in 0..count {
        let reads = random.below(100) < letter.reads;
        if !reads && letter.inserts() {
            let Some(absent) = fresh.next() else { break };
            asked.push_absent(&mut script, OpKind::Put, absent);
            chooser.added.push(absent);
            continue;
        }
        let kind = if reads { letter.read } else { letter.other };
        let length = if kind == OpKind::Scan { 1 + random.below(SCAN_MAX) } else { 0 };
        match chooser.choose(&mut random) {
            Chosen::Present(number) => asked.push(&mut script, kind, number, length as u16),
            Chosen::Added(absent) => {
                asked.push_absent(&mut script, kind, absent);
                if let Some(op) = script.ops.last_mut() {
                    op.count = length as u16;
                }
            }
        }
    }
    script
}

/// Chooses keys by popularity.
struct Chooser {
    present: usize,
    /// The absent keys that were added, oldest first.
    added: Vec<usize>,
    scattered: Option<Scrambled>,
    latest: Option<Latest>,
}

enum Chosen {
    Present(usize),
    Added(usize),
}

impl Chooser {
    fn new(asked: &RankedKeySet<'_>, popularity: Popularity, seed: u64) -> Self {
        let present = asked.keys().len();
        let items = present as u64;
        Self {
            present,
            added: Vec::new(),
            scattered: (popularity == Popularity::Zipfian).then(|| Scrambled::new(items, THETA, seed)),
            latest: (popularity == Popularity::Latest).then(|| Latest::new(items, THETA)),
        }
    }

    fn choose(&mut self, random: &mut SeededRandom) -> Chosen {
        if let Some(scattered) = &self.scattered {
            return Chosen::Present(scattered.item(random) as usize);
        }
        let Some(latest) = &mut self.latest else { return Chosen::Present(random.below(self.present)) };
        let item = latest.item(random, (self.present + self.added.len()) as u64) as usize;
        match item.checked_sub(self.present) {
            Some(added) => Chosen::Added(self.added[added]),
            None => Chosen::Present(item),
        }
    }
}
