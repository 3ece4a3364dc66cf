//! Random transactions, and a checker of their history.
//!
//! A transaction reads lists and appends its own number to some of them. So the value of a key
//! lists its writers in order, and the history has a graph of dependencies:
//!
//! ```text
//!   a ─ww─► b   b appended next behind a           a ─rw─► b   b appended what a has not read
//!   a ─wr─► b   b has read a's append              a ─time─► b   a had ended before b began
//! ```
//!
//! The history is strictly serializable if, and only if, the graph has no cycle. A range is a read
//! of all keys within it, absent ones too, so phantoms are `rw` edges.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use skeindb::{Db, Keyspace, Transaction};

/// The reads of a transaction: the list of each key.
pub type Reads = BTreeMap<usize, Vec<u64>>;

const KEYS: usize = 6;

/// The size of a random workload.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    pub threads: usize,
    pub transactions: u64,
    pub seed: u64,
}

#[derive(Debug)]
struct Committed {
    reads: Reads,
    appends: Vec<usize>,
    began: u64,
    ended: u64,
}

/// Committed transactions; the number of one is its position plus 1.
#[derive(Debug, Default)]
pub struct History {
    transactions: BTreeMap<u64, Committed>,
}

impl History {
    /// Adds a transaction, which gets the next number.
    pub fn add(&mut self, reads: Reads, appends: Vec<usize>, began: u64, ended: u64) {
        let number = self.transactions.len() as u64 + 1;
        self.transactions.insert(number, Committed { reads, appends, began, ended });
    }

    pub fn committed(&self) -> usize {
        self.transactions.len()
    }

    /// Checks that the history is strictly serializable.
    pub fn check(&self) -> Result<(), String> {
        let order = self.order_of_appends()?;
        let mut edges: BTreeMap<u64, Vec<(u64, &'static str)>> = BTreeMap::new();
        for (key, list) in &order {
            for pair in list.windows(2) {
                edges.entry(pair[0]).or_default().push((pair[1], "ww"));
            }
            for (number, transaction) in &self.transactions {
                let Some(read) = transaction.reads.get(key) else { continue };
                if !list.starts_with(read) {
                    return Err(format!(
                        "{number} has read {read:?} of key {key}, but its order is {list:?}"
                    ));
                }
                if let Some(writer) = read.last().filter(|writer| *writer != number) {
                    edges.entry(*writer).or_default().push((*number, "wr"));
                }
                if let Some(next) = list.get(read.len()).filter(|next| *next != number) {
                    edges.entry(*number).or_default().push((*next, "rw"));
                }
            }
        }
        for (first, one) in &self.transactions {
            for (second, other) in &self.transactions {
                if one.ended < other.began {
                    edges.entry(*first).or_default().push((*second, "time"));
                }
            }
        }
        find_cycle(&edges)
    }

    /// Returns the order in which transactions appended to each key. If at most one append was
    /// never read, it is last.
    fn order_of_appends(&self) -> Result<BTreeMap<usize, Vec<u64>>, String> {
        let mut order: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for transaction in self.transactions.values() {
            for (key, read) in &transaction.reads {
                let longest = order.entry(*key).or_default();
                if read.len() > longest.len() {
                    longest.clone_from(read);
                }
            }
        }
        for (number, transaction) in &self.transactions {
            for key in &transaction.appends {
                let list = order.entry(*key).or_default();
                // An appender has read the list before it, so its place is known.
                let before = transaction.reads.get(key).map_or(0, Vec::len);
                match list.get(before) {
                    Some(found) if found == number => {}
                    None if before == list.len() => list.push(*number),
                    found => {
                        return Err(format!(
                            "{number} appended to key {key} in place {before}, where {found:?} is"
                        ));
                    }
                }
            }
        }
        for list in order.values() {
            if let Some(unknown) = list.iter().find(|number| !self.transactions.contains_key(number)) {
                return Err(format!("somebody has read {unknown}, which was not committed"));
            }
        }
        Ok(order)
    }
}

/// Returns the cycle that a walk over the edges finds first.
fn find_cycle(edges: &BTreeMap<u64, Vec<(u64, &'static str)>>) -> Result<(), String> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        Open,
        Done,
    }
    let mut marks: BTreeMap<u64, Mark> = BTreeMap::new();
    for start in edges.keys() {
        if marks.contains_key(start) {
            continue;
        }
        let mut path = vec![(*start, 0, "")];
        marks.insert(*start, Mark::Open);
        while let Some((node, next, _)) = path.last_mut() {
            let Some((to, kind)) = edges.get(node).and_then(|all| all.get(*next)) else {
                marks.insert(*node, Mark::Done);
                path.pop();
                continue;
            };
            *next += 1;
            match marks.get(to) {
                Some(Mark::Done) => {}
                Some(Mark::Open) => {
                    let at = path.iter().position(|(node, ..)| node == to).unwrap_or(0);
                    let way: Vec<String> =
                        path[at..].iter().map(|(node, _, kind)| format!("-{kind}-> {node}")).collect();
                    return Err(format!("a cycle: {} -{kind}-> {to}", way.join(" ")));
                }
                None => {
                    marks.insert(*to, Mark::Open);
                    path.push((*to, 0, kind));
                }
            }
        }
    }
    Ok(())
}

/// A generator of numbers: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }
}

fn list_in(value: Option<&[u8]>) -> Vec<u64> {
    let bytes = value.unwrap_or_default().chunks_exact(8);
    bytes.map(|number| u64::from_be_bytes(number.try_into().expect("8 bytes"))).collect()
}

fn name(key: usize) -> [u8; 1] {
    [b'a' + key as u8]
}

/// Runs a random workload in a new keyspace, and returns the committed transactions.
pub fn run(db: &Db, workload: Workload) -> skeindb::Result<History> {
    let keyspace = db.keyspace(format!("history {}", workload.seed))?;
    let (history, clock, numbers) = (Mutex::new(History::default()), AtomicU64::new(0), AtomicU64::new(1));
    std::thread::scope(|scope| {
        for thread in 0..workload.threads {
            let (history, clock, numbers, keyspace) = (&history, &clock, &numbers, &keyspace);
            scope.spawn(move || {
                let mut random = Random(workload.seed << 32 | thread as u64);
                for _ in 0..workload.transactions {
                    let number = numbers.fetch_add(1, Ordering::Relaxed);
                    let began = clock.fetch_add(1, Ordering::SeqCst);
                    let Some((reads, appends)) = one(db, keyspace, number, &mut random) else { continue };
                    let ended = clock.fetch_add(1, Ordering::SeqCst);
                    let committed = Committed { reads, appends, began, ended };
                    history.lock().expect("nobody panicked").transactions.insert(number, committed);
                }
            });
        }
    });
    Ok(history.into_inner().expect("nobody panicked"))
}

/// Runs one random transaction. Returns its reads and appends, if it was committed.
fn one(db: &Db, keyspace: &Keyspace, number: u64, random: &mut Random) -> Option<(Reads, Vec<usize>)> {
    if random.below(8) == 0 {
        return Some(single_write(keyspace, number, random));
    }
    let begun = if random.below(8) == 0 { db.begin_exclusive() } else { db.begin() };
    let mut transaction = begun.expect("it begins");
    let (mut reads, mut appends) = (Reads::new(), Vec::new());
    for _ in 0..=random.below(3) {
        if random.below(3) == 0 {
            range(&transaction, keyspace, random, number, &mut reads);
        } else {
            let key = random.below(KEYS as u64) as usize;
            note(
                &mut reads,
                key,
                number,
                list_in(transaction.get(keyspace, name(key)).expect("a read").as_deref()),
            );
        }
        if random.below(4) == 0 {
            std::thread::yield_now();
        }
    }
    for _ in 0..random.below(3) {
        let key = random.below(KEYS as u64) as usize;
        if appends.contains(&key) {
            continue;
        }
        let mut value = transaction.get(keyspace, name(key)).expect("a read").unwrap_or_default();
        note(&mut reads, key, number, list_in(Some(&value)));
        value.extend(number.to_be_bytes());
        transaction.insert(keyspace, name(key), value).expect("a write");
        appends.push(key);
    }
    transaction.commit().is_ok().then_some((reads, appends))
}

/// Notes the list that was read, without the transaction's own append.
fn note(reads: &mut Reads, key: usize, number: u64, mut list: Vec<u64>) {
    list.retain(|one| *one != number);
    let first = reads.entry(key).or_insert_with(|| list.clone());
    assert_eq!(*first, list, "reads of one snapshot differ");
}

fn range(
    transaction: &Transaction,
    keyspace: &Keyspace,
    random: &mut Random,
    number: u64,
    reads: &mut Reads,
) {
    let from = random.below(KEYS as u64) as usize;
    let to = from + random.below((KEYS - from) as u64) as usize;
    let rows = transaction.range(keyspace, name(from)..=name(to));
    let rows: BTreeMap<Vec<u8>, Vec<u8>> = if random.below(2) == 0 {
        rows.collect::<skeindb::Result<_>>().expect("a read")
    } else {
        rows.rev().collect::<skeindb::Result<_>>().expect("a read")
    };
    for key in from..=to {
        note(reads, key, number, list_in(rows.get(&name(key)[..]).map(Vec::as_slice)));
    }
}

/// Appends to one key without a transaction, or reads one.
fn single_write(keyspace: &Keyspace, number: u64, random: &mut Random) -> (Reads, Vec<usize>) {
    let key = random.below(KEYS as u64) as usize;
    if random.below(2) == 0 {
        let list = list_in(keyspace.get(name(key)).expect("a read").as_deref());
        return (Reads::from([(key, list)]), Vec::new());
    }
    let mut before = Vec::new();
    let append = |old: Option<&[u8]>| {
        before = list_in(old);
        Some([old.unwrap_or_default(), &number.to_be_bytes()].concat())
    };
    keyspace.update(name(key), append).expect("a write");
    (Reads::from([(key, before)]), vec![key])
}
