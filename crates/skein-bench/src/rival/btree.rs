//! `std`'s `BTreeMap` in a `RwLock`: what a program has without any crate.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::Contender;

/// `RwLock<BTreeMap<Box<[u8]>, u64>>`; the lock is taken for each operation.
pub struct LockedBTree(RwLock<BTreeMap<Box<[u8]>, u64>>);

impl Contender for LockedBTree {
    const NAME: &'static str = "btreemap-rwlock";
    type Pin<'a> = ();

    fn new() -> Self {
        Self(RwLock::default())
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key.into(), value);
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        let map = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let bounds = (std::ops::Bound::Included(from), std::ops::Bound::Unbounded);
        map.range::<[u8], _>(bounds).take(count).for_each(|(key, &value)| each(key, value));
    }
}
