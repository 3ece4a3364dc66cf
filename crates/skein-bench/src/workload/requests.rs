//! What servers are asked: uniform requests of one kind, and MYCSB (Masstree, EuroSys 2012, section 7).
//!
//! | MYCSB | requests |
//! | --- | --- |
//! | A | 50 % read all columns of a row, 50 % set one column |
//! | B | 95 % read, 5 % set |
//! | C | read |
//! | E | 95 % read one column of n neighbouring rows, n uniform in 1 to 100; 5 % set |
//!
//! Rows are chosen by a Zipfian distribution that is scattered over the keys. Rows are never added: puts change what is there.

use super::ycsb::THETA;
use crate::keyset::Random;
use crate::keyset::distribution::Scrambled;

/// The most rows of a range.
pub const RANGE_MAX: u8 = 100;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Nothing.
    Ping,
    /// Reads a key's value, or all its columns.
    Get,
    /// Gives a key, or one of its columns, a new value.
    Put,
    /// The same with the value that is there: what neighbours read meanwhile stays certain.
    PutAgain,
    /// Reads one column of neighbouring rows.
    Range,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    /// What.
    pub ask: Ask,
    /// How many rows a range reads.
    pub count: u8,
    /// Which column is set, or read in a range.
    pub column: u8,
    /// The number of the key in its set.
    pub number: u32,
}

/// One of MYCSB's workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mycsb {
    /// Its name.
    pub name: &'static str,
    /// Per cent of reads; the rest are puts.
    reads: usize,
    read: Ask,
    put: Ask,
}

/// All of them.
pub const MYCSB: [Mycsb; 4] = [
    Mycsb { name: "MYCSB-A", reads: 50, read: Ask::Get, put: Ask::Put },
    Mycsb { name: "MYCSB-B", reads: 95, read: Ask::Get, put: Ask::Put },
    Mycsb { name: "MYCSB-C", reads: 100, read: Ask::Get, put: Ask::Put },
    Mycsb { name: "MYCSB-E", reads: 95, read: Ask::Range, put: Ask::PutAgain },
];

impl Mycsb {
    /// Whether it reads neighbours.
    pub fn ranges(self) -> bool {
        self.read == Ask::Range
    }

    /// Whether it sets columns.
    pub fn puts(self) -> bool {
        self.reads < 100
    }

    /// `count` requests for rows of `columns` columns.
    pub fn requests(self, rows: usize, columns: usize, count: usize, seed: u64) -> Vec<Asking> {
        let mut random = Random::new(seed);
        let popular = Scrambled::new(rows as u64, THETA, seed);
        (0..count)
            .map(|_| {
                let ask = if random.below(100) < self.reads { self.read } else { self.put };
                Asking {
                    ask,
                    count: 1 + random.below(usize::from(RANGE_MAX)) as u8,
                    column: random.below(columns) as u8,
                    number: popular.item(&mut random) as u32,
                }
            })
            .collect()
    }
}

/// `count` requests of one kind, all keys alike.
pub fn uniform(ask: Ask, keys: usize, count: usize, seed: u64) -> Vec<Asking> {
    let mut random = Random::new(seed);
    (0..count).map(|_| Asking { ask, count: 0, column: 0, number: random.below(keys) as u32 }).collect()
}

#[cfg(test)]
mod tests {
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
        // The most popular of 1000 rows has 1 / 7.7 of the requests, by the formula at 0.99; the median row far less.
        assert!((11_000..15_000).contains(&rows[999]), "{}", rows[999]);
        assert!(rows[500] < 100, "{}", rows[500]);
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(uniform(Ask::Get, 50, 100, 1), uniform(Ask::Get, 50, 100, 1));
        assert_ne!(uniform(Ask::Get, 50, 100, 1), uniform(Ask::Get, 50, 100, 2));
    }
}
