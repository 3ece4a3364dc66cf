//! The contents that a store must have, and those that it may have after a crash.

use std::collections::{BTreeMap, VecDeque};

use skein_disk::KeySpace;

pub type OracleMap = BTreeMap<Vec<u8>, Vec<u8>>;

/// The contents of all key spaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OracleState {
    main: OracleMap,
    members: OracleMap,
}

/// A change of a key; `None` for a removal.
#[derive(Clone, Debug)]
pub struct OracleWrite {
    pub space: KeySpace,
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

/// The changes of a transaction in order.
pub type OracleDelta = Vec<OracleWrite>;

impl OracleState {
    pub fn of(&self, space: KeySpace) -> &OracleMap {
        if space == KeySpace::Main { &self.main } else { &self.members }
    }

    pub fn of_mut(&mut self, space: KeySpace) -> &mut OracleMap {
        if space == KeySpace::Main { &mut self.main } else { &mut self.members }
    }

    pub fn apply(&mut self, delta: &[OracleWrite]) {
        for OracleWrite { space, key, value } in delta {
            let map = self.of_mut(*space);
            match value {
                Some(value) => _ = map.insert(key.clone(), value.clone()),
                None => _ = map.remove(key),
            }
        }
    }

    /// Returns a key that has another value in `other`, with its space.
    fn difference(&self, other: &Self) -> Option<String> {
        [KeySpace::Main, KeySpace::Members].into_iter().find_map(|space| {
            let (one, other) = (self.of(space), other.of(space));
            let key = one.keys().chain(other.keys()).find(|key| one.get(*key) != other.get(*key))?;
            Some(format!("{space}: {}", key[..key.len().min(40)].escape_ascii()))
        })
    }
}

/// The written states: `promised`, then all of `since` one by one, gives `now`.
#[derive(Debug, Default)]
pub struct StoreOracle {
    now: OracleState,
    promised: OracleState,
    since: VecDeque<OracleDelta>,
}

impl StoreOracle {
    pub fn now(&self) -> &OracleState {
        &self.now
    }

    /// Notes a write.
    pub fn write(&mut self, delta: OracleDelta) {
        self.now.apply(&delta);
        self.since.push_back(delta);
    }

    /// Notes a failed write, which may or may not be there.
    pub fn may_write(&mut self, delta: OracleDelta) {
        self.since.push_back(delta);
    }

    /// Notes that all earlier writes must survive a crash.
    pub fn promise(&mut self) {
        self.promised = self.now.clone();
        self.since.clear();
    }

    /// Accepts the contents after a crash: the promised ones, and any number of the first later
    /// writes.
    pub fn recover(&mut self, found: OracleState) {
        let mut possible = self.promised.clone();
        for delta in &self.since {
            if possible == found {
                break;
            }
            possible.apply(delta);
        }
        let first = possible.difference(&found);
        assert!(first.is_none(), "found no state after a write: {first:?} differs from the last one");
        self.now = found;
        self.promise();
    }
}
