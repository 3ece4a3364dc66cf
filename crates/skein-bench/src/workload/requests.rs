//! Requests to servers: uniform requests of one kind, and MYCSB (Masstree, EuroSys 2012, section
//! 7).
//!
//! | MYCSB | requests |
//! | --- | --- |
//! | A | 50 % read all columns of a row, 50 % set one column |
//! | B | 95 % read, 5 % set |
//! | C | read |
//! | E | 95 % read one column of n neighbouring rows, n uniform in 1 to 100; 5 % set |
//!
//! Rows are chosen by a Zipfian distribution that is scattered over the keys. Rows are never added:
//! a put changes a present row.

use super::script::{OpKind, Script};
use super::ycsb::THETA;
use crate::keyset::SeededRandom;
use crate::keyset::distribution::Scrambled;

/// The greatest number of rows in a range.
pub const RANGE_MAX: u8 = 100;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOp {
    /// Does nothing.
    Ping,
    /// Reads a key's value, or all columns of a row.
    Get,
    /// Sets a new value of a key, or of one of its columns.
    Put,
    /// Sets the present value again, so that the reads of its neighbours have one correct answer
    /// meanwhile.
    PutAgain,
    /// Reads one column of neighbouring rows.
    Range,
    /// Adds a key.
    Add,
    /// Reads neighbouring keys.
    Keys,
    /// Reads the values of `count` keys that are far from each other.
    GetMany,
    /// Sets new values of such keys.
    PutMany,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptRequest {
    /// The operation.
    pub ask: RequestOp,
    /// The number of rows in a range, or of keys in one request.
    pub count: u8,
    /// The column that is set, or that a range reads.
    pub column: u8,
    /// The number of the key in its set.
    pub number: u32,
}

/// One of MYCSB's workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mycsb {
    /// Its name.
    pub name: &'static str,
    /// The percentage of reads; the rest are puts.
    reads: usize,
    read: RequestOp,
    put: RequestOp,
}

/// All workloads.
pub const MYCSB: [Mycsb; 4] = [
    Mycsb { name: "MYCSB-A", reads: 50, read: RequestOp::Get, put: RequestOp::Put },
    Mycsb { name: "MYCSB-B", reads: 95, read: RequestOp::Get, put: RequestOp::Put },
    Mycsb { name: "MYCSB-C", reads: 100, read: RequestOp::Get, put: RequestOp::Put },
    Mycsb { name: "MYCSB-E", reads: 95, read: RequestOp::Range, put: RequestOp::PutAgain },
];

impl Mycsb {
    /// Returns whether it reads ranges of rows.
    pub fn ranges(self) -> bool {
        self.read == RequestOp::Range
    }

    /// Returns whether it sets columns.
    pub fn puts(self) -> bool {
        self.reads < 100
    }

    /// Returns `count` requests for rows of `columns` columns.
    pub fn requests(self, rows: usize, columns: usize, count: usize, seed: u64) -> Vec<ScriptRequest> {
        let mut random = SeededRandom::new(seed);
        let popular = Scrambled::new(rows as u64, THETA, seed);
        (0..count)
            .map(|_| {
                let ask = if random.below(100) < self.reads { self.read } else { self.put };
                ScriptRequest {
                    ask,
                    count: 1 + random.below(usize::from(RANGE_MAX)) as u8,
                    column: random.below(columns) as u8,
                    number: popular.item(&mut random) as u32,
                }
            })
            .collect()
    }
}

/// Returns `count` requests of one kind for one key each, uniformly distributed.
pub fn uniform(ask: RequestOp, keys: usize, count: usize, seed: u64) -> Vec<ScriptRequest> {
    uniform_of(ask, 1, keys, count, seed)
}

/// Returns requests as [`uniform`] does, each for `each` keys or rows.
pub fn uniform_of(ask: RequestOp, each: u8, keys: usize, count: usize, seed: u64) -> Vec<ScriptRequest> {
    let mut random = SeededRandom::new(seed);
    (0..count)
        .map(|_| ScriptRequest { ask, count: each, column: 0, number: random.below(keys) as u32 })
        .collect()
}

/// Returns the requests of a script for an index of `present` keys. The keys that it adds have the
/// next numbers.
///
/// REQUIRES: the script only reads present keys, sets or adds keys, and scans upward.
pub fn of_script(script: &Script, present: usize) -> Vec<ScriptRequest> {
    let requests = script.ops.iter().flat_map(|op| {
        let asks: &[RequestOp] = match op.kind {
            OpKind::Get => &[RequestOp::Get],
            OpKind::Put if op.number as usize >= present => &[RequestOp::Add],
            OpKind::Put => &[RequestOp::Put],
            OpKind::ReadModifyWrite => &[RequestOp::Get, RequestOp::Put],
            OpKind::Scan => &[RequestOp::Keys],
            OpKind::Miss | OpKind::LowerBound | OpKind::Remove | OpKind::ScanBack => {
                unreachable!("no workload of servers does this")
            }
        };
        asks.iter().map(|&ask| ScriptRequest { ask, count: op.count as u8, column: 0, number: op.number })
    });
    requests.collect()
}

#[cfg(test)]
mod tests {
    use super::super::script::ScriptOp;
    use super::*;

    #[test]
    fn mixes_have_their_proportions() {
        for mycsb in MYCSB {
            let requests = mycsb.requests(1000, 10, 20_000, 3);
            let reads = requests.iter().filter(|asking| asking.ask == mycsb.read).count();
            let wanted = 200 * mycsb.reads;
            assert!(reads.abs_diff(wanted) < 400, "{}: {reads} reads, not {wanted}", mycsb.name);
            assert!(requests.iter().all(|asking| asking.ask == mycsb.read || asking.ask == mycsb.put));
        }
    }

    #[test]
    fn lengths_and_columns_are_uniform_and_rows_are_not() {
        let requests = MYCSB[3].requests(1000, 10, 100_000, 3);
        let (mut lengths, mut columns, mut rows) = ([0; 101], [0; 10], [0; 1000]);
        for asking in &requests {
            lengths[usize::from(asking.count)] += 1;
            columns[usize::from(asking.column)] += 1;
            rows[asking.number as usize] += 1;
        }
        assert_eq!(lengths[0], 0);
        assert!(lengths[1..].iter().all(|count| (800..1200).contains(count)), "{lengths:?}");
        assert!(columns.iter().all(|count| (9_000..11_000).contains(count)), "{columns:?}");
        rows.sort_unstable();
        // By the formula at 0.99, the most popular of 1,000 rows has 1 / 7.7 of the requests, and
        // the median row far fewer.
        assert!((11_000..15_000).contains(&rows[999]), "{}", rows[999]);
        assert!(rows[500] < 100, "{}", rows[500]);
    }

    #[test]
    fn scripts_of_indexes_are_requests_of_servers() {
        let mut script = Script::default();
        let kinds = [OpKind::Get, OpKind::Put, OpKind::Put, OpKind::ReadModifyWrite, OpKind::Scan];
        for (kind, (number, count)) in kinds.into_iter().zip([(1, 0), (2, 0), (10, 0), (3, 0), (4, 77)]) {
            script.push(ScriptOp { kind, count, number }, b"key");
        }
        let asked: Vec<_> =
            of_script(&script, 10).into_iter().map(|it| (it.ask, it.number, it.count)).collect();
        assert_eq!(
            asked,
            [
                (RequestOp::Get, 1, 0),
                (RequestOp::Put, 2, 0),
                (RequestOp::Add, 10, 0),
                (RequestOp::Get, 3, 0),
                (RequestOp::Put, 3, 0),
                (RequestOp::Keys, 4, 77)
            ]
        );
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(uniform(RequestOp::Get, 50, 100, 1), uniform(RequestOp::Get, 50, 100, 1));
        assert_ne!(uniform(RequestOp::Get, 50, 100, 1), uniform(RequestOp::Get, 50, 100, 2));
    }
}
