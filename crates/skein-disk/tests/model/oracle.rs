//! The contents that a store must have, and those that it may have after a crash.

use std::collections::{BTreeMap, VecDeque};

pub type OracleMap = BTreeMap<Vec<u8>, Vec<u8>>;

/// The changes of a transaction in order; `None` for a removal.
pub type OracleDelta = Vec<(Vec<u8>, Option<Vec<u8>>)>;

pub fn apply(map: &mut OracleMap, delta: &OracleDelta) {
    for (key, value) in delta {
        match value {
            Some(value) => _ = map.insert(key.clone(), value.clone()),
            None => _ = map.remove(key),
        }
    }
}

/// The written states: `promised`, then all of `since` one by one, gives `now`.
#[derive(Debug, Default)]
pub struct StoreOracle {
    now: OracleMap,
    promised: OracleMap,
    since: VecDeque<OracleDelta>,
}

impl StoreOracle {
    pub fn now(&self) -> &OracleMap {
        &self.now
    }

    /// Notes a write.
    pub fn write(&mut self, delta: OracleDelta) {
        apply(&mut self.now, &delta);
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
    pub fn recover(&mut self, found: OracleMap) {
        let mut possible = self.promised.clone();
        for delta in &self.since {
            if possible == found {
                break;
            }
            apply(&mut possible, delta);
        }
        let differs = |key: &&Vec<u8>| possible.get(*key) != found.get(*key);
        let first = possible.keys().chain(found.keys()).find(differs);
        let first = first.map(|key| key[..key.len().min(40)].escape_ascii().to_string());
        assert!(first.is_none(), "found no state after a write: {first:?} differs from the last one");
        self.now = found;
        self.promise();
    }
}
