//! Live snapshots of a sequence, each with the contents that it must show.

use std::ops::Bound;

use skein_disk::{DiskSnapshot, DiskStore, Result, ScanEntries, ScanRequest, WalkDirection};

use crate::oracle::OracleMap;
use crate::random::SplitMixDraw;

/// Keys per request when all keys are read.
const KEYS_PER_REQUEST: usize = 37;
/// The most live snapshots.
const LIVE: usize = 5;

#[derive(Default)]
pub struct SequenceSnapshots(Vec<(DiskSnapshot, OracleMap)>);

impl SequenceSnapshots {
    /// Takes a snapshot, and ends another one if there are too many.
    pub fn take(&mut self, store: &DiskStore, now: &OracleMap, draw: &mut SplitMixDraw) -> Result<()> {
        if self.0.len() == LIVE {
            let (ended, _) = self.0.swap_remove(draw.below(LIVE));
            let mut release = ended.release();
            while draw.one_in(2) && release.step(1 + draw.below(9)) {}
        }
        self.0.push((store.snapshot()?, now.clone()));
        Ok(())
    }

    /// Reads one of the snapshots whole.
    pub fn check_one(&self, draw: &mut SplitMixDraw) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let (snapshot, then) = &self.0[draw.below(self.0.len())];
        assert!(walk_all(|request| snapshot.walk(request))? == *then, "a snapshot");
        if draw.one_in(2) {
            assert_eq!(snapshot.check()?.keys, then.len(), "keys of a snapshot");
        }
        let keys: Vec<&[u8]> = then.keys().map(|key| &key[..]).collect();
        let found = snapshot.get_many(&keys, usize::MAX)?;
        for (at, value) in then.values().enumerate() {
            assert_eq!(
                found.get(at).map(|entry| entry.1),
                Some(&value[..]),
                "one of many keys of a snapshot"
            );
        }
        Ok(())
    }

    /// Ends all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Reads all keys in several requests.
pub fn walk_all(mut walk: impl FnMut(&ScanRequest<'_>) -> Result<ScanEntries>) -> Result<OracleMap> {
    let (mut all, mut last) = (OracleMap::new(), None::<Vec<u8>>);
    loop {
        let lower = last.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(&key[..]));
        let (upper, direction) = (Bound::Unbounded, WalkDirection::Forward);
        let request =
            ScanRequest { lower, upper, direction, keys: KEYS_PER_REQUEST, bytes: 1 << 20, values: true };
        let found = walk(&request)?;
        last = found.entries.last().map(|entry| entry.key.clone());
        for entry in found.entries {
            assert!(all.insert(entry.key, entry.value).is_none(), "a walk returns a key twice");
        }
        if !found.more {
            return Ok(all);
        }
    }
}
