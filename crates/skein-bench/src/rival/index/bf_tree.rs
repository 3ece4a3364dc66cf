//! `bf-tree`: a B-tree that keeps hot records in small pages, in a buffer made for storage slower
//! than memory.
//!
//! The configuration follows the crate's own benchmark in memory: the memory backend, whole pages
//! in the buffer, and every page that is read enters the buffer. That benchmark's buffer has 164
//! bytes per record of 16-byte keys. Here it has 64 or more per expected key, since the size is
//! rounded up to a power of two. Base pages lie outside the buffer.
//!
//! The tree reserves room for a page's separators by the greatest key length that it is told. So
//! there is one entry for each class of lengths. Keys of more than 960 bytes do not fit its default
//! pages.

use bf_tree::{BfTree, Config, LeafInsertResult, LeafReadResult, ScanReturnField};

use super::{IndexAbilities, IndexContender, RegisteredIndex};

pub static ENTRIES: [RegisteredIndex; 3] = [
    RegisteredIndex::shared::<BfTreeIndex<16>>(),
    RegisteredIndex::shared::<BfTreeIndex<128>>(),
    RegisteredIndex::shared::<BfTreeIndex<960>>(),
];

/// A tree for keys of at most `MOST` bytes.
struct BfTreeIndex<const MOST: usize>(BfTree);

impl<const MOST: usize> IndexContender for BfTreeIndex<MOST> {
    const NAME: &'static str = "bf-tree";
    const ABOUT: &'static str = "bf-tree 0.5, memory backend, read_record_cache(false), \
                                 read_promotion_rate(100), a buffer of 64 bytes per expected key \
                                 or more, at least 32 MiB; keys of 1 to 960 bytes; it does not say \
                                 whether a removed key was there, so removes look first";
    const CAN: IndexAbilities =
        IndexAbilities { scan: true, lower_bound: true, remove: true, ..IndexAbilities::NOTHING };
    const KEY_BYTES: (usize, usize) = (1, MOST);
    type Pin<'a> = ();

    fn new(expected: usize) -> Self {
        let buffer = (64 * expected).next_power_of_two().max(32 << 20);
        let mut config = Config::new(":memory:", buffer);
        config.cb_max_key_len(MOST).cb_max_record_size(MOST + size_of::<u64>());
        config.read_record_cache(false).read_promotion_rate(100);
        Self(BfTree::with_config(config, None).expect("a configuration within its limits"))
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        let done = self.0.insert(key, &value.to_le_bytes());
        assert!(done == LeafInsertResult::Success, "{done:?}");
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        let mut value = [0; 8];
        match self.0.read(key, &mut value) {
            LeafReadResult::Found(_) => Some(u64::from_le_bytes(value)),
            _ => None,
        }
    }

    fn remove(&self, pin: &(), key: &[u8]) -> bool {
        let there = self.get(pin, key).is_some();
        self.0.delete(key);
        there
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        let mut record = [0; 968];
        let mut found = self
            .0
            .scan_with_count(from, count, ScanReturnField::KeyAndValue)
            .expect("a key and a count within its limits");
        while let Some((key, _)) = found.next(&mut record) {
            let value = record[key..].first_chunk().expect("a value of 8 bytes behind the key");
            each(&record[..key], u64::from_le_bytes(*value));
        }
    }
}
