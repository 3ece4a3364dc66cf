//! `std`'s `BTreeMap`, plain and in a lock: what a program has without any crate.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{PoisonError, RwLock};

use linkme::distributed_slice;

use super::{Can, Contender, ENTRIES, Entry};

#[distributed_slice(ENTRIES)]
static PLAIN: Entry = Entry::alone::<Plain>(100);

#[distributed_slice(ENTRIES)]
static LOCKED: Entry = Entry::shared::<Locked>(101);

type Map = BTreeMap<Box<[u8]>, u64>;

const CAN: Can = Can { scan: true, scan_back: true, lower_bound: true, remove: true, ..Can::NOTHING };

fn upward(map: &Map, from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
    let bounds = (Bound::Included(from), Bound::Unbounded);
    map.range::<[u8], _>(bounds).take(count).for_each(|(key, &value)| each(key, value));
}

fn downward(map: &Map, from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
    let bounds = (Bound::Unbounded, Bound::Included(from));
    map.range::<[u8], _>(bounds).rev().take(count).for_each(|(key, &value)| each(key, value));
}

/// The map by itself, for one thread.
struct Plain(RefCell<Map>);

impl Contender for Plain {
    const NAME: &'static str = "btreemap";
    const ABOUT: &'static str = "std's BTreeMap<Box<[u8]>, u64>, one thread";
    const CAN: Can = CAN;
    type Pin<'a> = ();

    fn new(_expected: usize) -> Self {
        Self(RefCell::default())
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        self.0.borrow_mut().insert(key.into(), value);
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        self.0.borrow().get(key).copied()
    }

    fn remove(&self, _pin: &(), key: &[u8]) -> bool {
        self.0.borrow_mut().remove(key).is_some()
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, each: impl FnMut(&[u8], u64)) {
        upward(&self.0.borrow(), from, count, each);
    }

    fn scan_back(&self, _pin: &(), from: &[u8], count: usize, each: impl FnMut(&[u8], u64)) {
        downward(&self.0.borrow(), from, count, each);
    }
}

/// The map in a lock, taken for each operation.
struct Locked(RwLock<Map>);

impl Locked {
    fn read(&self) -> impl std::ops::Deref<Target = Map> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> impl std::ops::DerefMut<Target = Map> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contender for Locked {
    const NAME: &'static str = "btreemap-rwlock";
    const ABOUT: &'static str = "std's RwLock<BTreeMap<Box<[u8]>, u64>>, the lock taken for each operation";
    const CAN: Can = CAN;
    type Pin<'a> = ();

    fn new(_expected: usize) -> Self {
        Self(RwLock::default())
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        self.write().insert(key.into(), value);
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        self.read().get(key).copied()
    }

    fn remove(&self, _pin: &(), key: &[u8]) -> bool {
        self.write().remove(key).is_some()
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, each: impl FnMut(&[u8], u64)) {
        upward(&self.read(), from, count, each);
    }

    fn scan_back(&self, _pin: &(), from: &[u8], count: usize, each: impl FnMut(&[u8], u64)) {
        downward(&self.read(), from, count, each);
    }
}
