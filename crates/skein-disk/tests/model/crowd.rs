//! Writers and readers with concurrent checkpoints and compactions.
//!
//! Each writer has its own groups of keys. A transaction sets all keys of a group to the next
//! number or removes them all. If a reader sees two numbers in a group, or a number less than an
//! earlier one, it has not seen a single moment. Some crowds have the last key of each group in the
//! space of members, and see both spaces change together. The cache grows and shrinks meanwhile.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use skein_disk::{
    CACHE_LEAST, DiskError, DiskOptions, DiskStore, Durability, KeySpace, ReadMode, ReplacementPolicy,
    Result, ScanRequest, TrieShape, Values, WalkDirection, inspect,
};
use skein_log::storage::sim::SimStorage;
use skein_log::storage::{OsStorage, Storage};

use crate::random::SplitMixDraw;

const SHAPES: [TrieShape; 3] = [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }];
/// Pages of the cache.
const CACHES: [usize; 4] = [CACHE_LEAST, 24, 64, 300];
/// Keys of a group.
const KEYS: usize = 4;
const GROUPS: usize = 60;
/// The key of a group that may be a member.
const MEMBER: usize = KEYS - 1;
const WRITERS: usize = 2;
/// Writes of each writer.
const WRITES: u64 = 1_200;

/// The storage of a crowd.
enum CrowdGround {
    /// A folder, which is removed on drop.
    Files(tempfile::TempDir),
    Simulated(SimStorage),
}

struct Crowd {
    store: DiskStore,
    /// The space of each key of a group.
    spaces: [KeySpace; KEYS],
    /// Whether the writers have finished.
    has_ended: AtomicBool,
}

/// The numbers of a writer's groups; 0 for a group without keys.
type GroupNumbers = [u64; GROUPS];

fn mapping() -> ReadMode {
    // SAFETY: the test's own folder.
    unsafe { ReadMode::mapping() }
}

pub fn run(seed: u64) {
    let mut draw = SplitMixDraw(seed);
    let ground = match seed % 3 {
        0 | 1 => CrowdGround::Files(tempfile::tempdir().unwrap()),
        _ => CrowdGround::Simulated(SimStorage::new()),
    };
    let mut spaces = [KeySpace::Main; KEYS];
    if seed % 4 == 1 {
        spaces[MEMBER] = KeySpace::Members;
    }
    let options = DiskOptions {
        values: if spaces[MEMBER] == KeySpace::Members { Values::Rows } else { Values::Bytes },
        shape: draw.of(&SHAPES),
        cache_pages: draw.of(&CACHES),
        policy: draw.of(&[ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo]),
        // The simulated storage cannot be mapped.
        reading: if seed.is_multiple_of(3) { mapping() } else { ReadMode::Calls },
        durability: if seed % 3 == 2 { Durability::Sync } else { Durability::Buffered },
        checkpoint_bytes: draw.of(&[0, 100_000]),
        ..DiskOptions::default()
    };
    let readers = draw.of(&[2, 8, 12]);
    let crowd = Crowd { store: ground.open(&options), spaces, has_ended: AtomicBool::new(false) };
    let written = crowd.meet(readers, &mut draw);
    assert_eq!(read_all(&crowd.store), written, "before the end");
    crowd.store.check().unwrap();
    ground.leave(crowd.store, draw.next());
    let store = ground.open(&options);
    assert_eq!(read_all(&store), written, "opened again");
    store.check().unwrap();
    store.close().unwrap();
    let seen = ground.inspect();
    assert!(seen.is_empty(), "{seen:?}");
}

impl CrowdGround {
    fn parts(&self) -> (Arc<dyn Storage>, &Path) {
        match self {
            Self::Files(folder) => (Arc::new(OsStorage), folder.path()),
            Self::Simulated(storage) => (storage.share(), Path::new("/db")),
        }
    }

    fn open(&self, options: &DiskOptions) -> DiskStore {
        let (storage, folder) = self.parts();
        DiskStore::open_on(storage, folder, options.clone()).unwrap()
    }

    /// Ends a store: by a crash if the storage can simulate one.
    fn leave(&self, store: DiskStore, seed: u64) {
        match self {
            Self::Files(_) => store.close().unwrap(),
            Self::Simulated(storage) => {
                storage.cut_power_at(storage.operations() + 1);
                drop(store);
                storage.reboot(seed);
            }
        }
    }

    fn inspect(&self) -> Vec<DiskError> {
        let (storage, folder) = self.parts();
        inspect(folder, &*storage).unwrap().damage
    }
}

fn key(writer: usize, group: usize, at: usize) -> Vec<u8> {
    // Groups lie apart, and so do the keys of a group.
    format!("{}/{writer}/{group}", at * 7 % KEYS).into_bytes()
}

/// Returns a number with padding, so that few values fit a page. One value of a group has pages of
/// its own.
fn value(number: u64, at: usize) -> Vec<u8> {
    let mut value = format!("{number} ").into_bytes();
    value.resize(if at == 2 { 5_000 } else { 500 }, number as u8);
    value
}

fn number_of(value: &[u8]) -> u64 {
    let digits = value.split(|byte| *byte == b' ').next().unwrap_or_default();
    let number = str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    number.unwrap_or_else(|| panic!("a value begins with {:?}", value[..value.len().min(20)].escape_ascii()))
}

impl Crowd {
    /// Runs all threads. Returns the rows that the writers have written.
    fn meet(&self, readers: usize, draw: &mut SplitMixDraw) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut seeds = || SplitMixDraw(draw.next());
        let written = std::thread::scope(|scope| {
            let others: Vec<_> =
                (0..readers).map(|_| seeds()).map(|draw| scope.spawn(move || self.read(draw))).collect();
            let maintenance = seeds();
            let maintenance = scope.spawn(move || self.maintain(maintenance));
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| (writer, seeds()))
                .map(|(writer, draw)| scope.spawn(move || self.write(writer, draw)))
                .collect();
            let written: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            // Even if a writer has panicked, so that the others end.
            self.has_ended.store(true, Ordering::Relaxed);
            let others = others.into_iter().chain([maintenance]);
            others.for_each(|other| other.join().expect("no reader panicked"));
            written
        });
        let numbers = written.into_iter().map(|numbers| numbers.expect("no writer has panicked"));
        contents(&numbers.collect::<Vec<_>>())
    }

    fn write(&self, writer: usize, mut draw: SplitMixDraw) -> GroupNumbers {
        let mut numbers = [0; GROUPS];
        for number in 1..=WRITES {
            let group = draw.below(GROUPS);
            let removes = draw.one_in(5);
            let done = self.store.write::<_, DiskError>(|transaction| {
                for at in 0..KEYS {
                    let (space, key) = (self.spaces[at], key(writer, group, at));
                    if removes {
                        assert_eq!(
                            transaction.remove_in(space, &key)?,
                            numbers[group] > 0,
                            "a key that was removed"
                        );
                    } else {
                        transaction.set_in(space, &key, &value(number, at))?;
                    }
                }
                Ok(())
            });
            match done {
                Ok(()) => numbers[group] = if removes { 0 } else { number },
                Err(error) => panic!("write {number}: {error}"),
            }
        }
        numbers
    }

    fn maintain(&self, mut draw: SplitMixDraw) {
        while !self.has_ended.load(Ordering::Relaxed) {
            let done = match draw.below(8) {
                0 | 1 => self.store.compact().map(drop),
                2..=4 => self.store.resize_cache(draw.of(&CACHES)),
                _ => self.store.checkpoint(),
            };
            match done {
                Ok(()) => {}
                Err(error) => panic!("maintenance: {error}"),
            }
        }
    }

    /// Reads groups, each at one moment. Their numbers never decrease.
    fn read(&self, mut draw: SplitMixDraw) {
        let mut seen = [[0; GROUPS]; WRITERS];
        while !self.has_ended.load(Ordering::Relaxed) {
            let (writer, group) = (draw.below(WRITERS), draw.below(GROUPS));
            let found = if draw.one_in(8) && self.store.shape().is_ordered() {
                self.scan(writer, group)
            } else {
                self.get(writer, group)
            };
            let found = found.unwrap_or_else(|error| panic!("a read: {error}"));
            let number = found[0];
            assert!(found.iter().all(|other| *other == number), "a group of one moment: {found:?}");
            if number > 0 {
                assert!(number >= seen[writer][group], "{number} after {}", seen[writer][group]);
                seen[writer][group] = number;
            }
        }
    }

    fn get(&self, writer: usize, group: usize) -> Result<[u64; KEYS]> {
        let keys: [_; KEYS] = std::array::from_fn(|at| key(writer, group, at));
        if self.has_members() {
            return self.get_in_both(&keys);
        }
        let found = self.store.get_many(&keys.each_ref().map(|key| &key[..]), usize::MAX)?;
        Ok(std::array::from_fn(|at| found.get(at).map_or(0, |(_, seen)| checked(seen, at))))
    }

    fn get_in_both(&self, keys: &[Vec<u8>; KEYS]) -> Result<[u64; KEYS]> {
        let mut values: [Vec<u8>; KEYS] = Default::default();
        let moment = self.store.snapshot()?;
        for (at, value) in values.iter_mut().enumerate() {
            moment.get_in(self.spaces[at], &keys[at], value)?;
        }
        Ok(std::array::from_fn(|at| if values[at].is_empty() { 0 } else { checked(&values[at], at) }))
    }

    /// Reads a group by a walk over all keys.
    fn scan(&self, writer: usize, group: usize) -> Result<[u64; KEYS]> {
        let moment = self.store.snapshot()?;
        let mut entries = moment.range_in(KeySpace::Main, &all())?.entries;
        if self.has_members() {
            entries.extend(moment.range_in(KeySpace::Members, &all())?.entries);
        }
        let of = |wanted: Vec<u8>| entries.iter().find(|entry| entry.key == wanted);
        Ok(std::array::from_fn(|at| of(key(writer, group, at)).map_or(0, |entry| checked(&entry.value, at))))
    }

    fn has_members(&self) -> bool {
        self.spaces[MEMBER] == KeySpace::Members
    }
}

/// Checks that a value is intact and returns its number.
fn checked(seen: &[u8], at: usize) -> u64 {
    let number = number_of(seen);
    assert!(seen == value(number, at), "the value of {number} has bytes of another one");
    number
}

fn contents(written: &[GroupNumbers]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut all = BTreeMap::new();
    for (writer, numbers) in written.iter().enumerate() {
        for (group, number) in numbers.iter().enumerate().filter(|group| *group.1 > 0) {
            all.extend((0..KEYS).map(|at| (key(writer, group, at), value(*number, at))));
        }
    }
    all
}

fn all() -> ScanRequest<'static> {
    let (lower, upper, direction) = (Bound::Unbounded, Bound::Unbounded, WalkDirection::Forward);
    ScanRequest { lower, upper, direction, keys: usize::MAX, bytes: usize::MAX, values: true }
}

/// Returns the entries of all spaces; no key is in two of them.
fn read_all(store: &DiskStore) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut entries = store.walk(&all()).unwrap().entries;
    if let Ok(members) = store.space(KeySpace::Members) {
        entries.extend(members.walk(&all()).unwrap().entries);
    }
    entries.into_iter().map(|entry| (entry.key, entry.value)).collect()
}
