//! The crate `bf-tree` over a file, without a log.
//!
//! A tree is restored from snapshots only. So it is measured where it was filled, and never
//! reopened.

use std::ops::Range;

use bf_tree::{BfTree, Config, LeafInsertResult, LeafReadResult};

use super::{
    BenchRows, DurabilityLevel, FoundRow, RegisteredStore, StoreContender, StoreResult, StoreRole,
    StoreSetup, one_more, text,
};

pub static ENTRY: RegisteredStore = RegisteredStore {
    name: "bf-tree",
    about: "bf-tree 0.5 over a file, its default backend, without a log; a buffer of the cache \
            that is asked for, rounded down to a power of two, or twice the data, rounded up; it \
            is not read back after it is closed, so it takes no part in durable sets",
    part: StoreRole::Pages,
    durable: false,
    open: |setup| Ok(Box::new(BfTreeStore::open(setup)?)),
};

/// The bytes of the longest value.
const VALUE_MOST: usize = 1024;

/// A tree with its file.
struct BfTreeStore {
    tree: BfTree,
    value: [u8; VALUE_MOST],
}

impl BfTreeStore {
    fn open(setup: &StoreSetup<'_>) -> StoreResult<Self> {
        if setup.level == DurabilityLevel::Sync {
            return Err("it can be restored from snapshots only".to_owned());
        }
        let bytes = usize::try_from(setup.cache_bytes()).map_err(text)?;
        let cache =
            if setup.cache.is_some() { 1 << bytes.max(1 << 16).ilog2() } else { bytes.next_power_of_two() };
        let mut config = Config::new(setup.folder.join("bf-tree"), cache);
        config.cb_max_record_size(VALUE_MOST + size_of::<u64>());
        let tree = BfTree::with_config(config, None).map_err(|error| format!("{error:?}"))?;
        Ok(Self { tree, value: [0; VALUE_MOST] })
    }

    fn get(&mut self, key: &[u8]) -> Option<&[u8]> {
        match self.tree.read(key, &mut self.value) {
            LeafReadResult::Found(bytes) => Some(&self.value[..bytes as usize]),
            _ => None,
        }
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> StoreResult<()> {
        match self.tree.insert(key, value) {
            LeafInsertResult::Success => Ok(()),
            LeafInsertResult::InvalidKV(why) => Err(why),
        }
    }
}

impl StoreContender for BfTreeStore {
    fn put_batch(&mut self, rows: &BenchRows, mut numbers: Range<usize>) -> StoreResult<()> {
        numbers.try_for_each(|n| self.put(rows, n))
    }

    fn put(&mut self, rows: &BenchRows, n: usize) -> StoreResult<()> {
        self.insert(&rows.key(n), &rows.value(n))
    }

    fn inc(&mut self, rows: &BenchRows, n: usize) -> StoreResult<()> {
        let key = rows.key(n);
        let value = one_more(self.get(&key))?;
        self.insert(&key, value.as_bytes())
    }

    /// Does nothing. Only a snapshot forces data to disk, and that is another file.
    fn force(&mut self) -> StoreResult<()> {
        Ok(())
    }

    fn get_each(&mut self, rows: &BenchRows, numbers: &[usize], found: FoundRow<'_>) -> StoreResult<()> {
        for &n in numbers {
            found(n, self.get(&rows.key(n)));
        }
        Ok(())
    }
}
