//! Keys that cut the index into parts of about the same size.

use super::CuckooTrie;
use super::entry::CuckooNodeKind;
use crate::slot::Slot;

/// Keys looked at per part: the more, the more even the parts.
const PER_PART: usize = 64;

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// At most `parts - 1` keys, in order. The caller holds a guard.
    ///
    /// Which leaves are in a bucket is chance, so those of the first buckets are a fair sample of all.
    pub(super) fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        let wanted = parts.saturating_mul(PER_PART);
        let mut sample: Vec<&[u8]> = Vec::new();
        for number in 0..self.table.size() {
            if sample.len() >= wanted {
                break;
            }
            for (_, entry) in self
                .table
                .bucket(number)
                .image()
                .entries()
                .filter(|(_, entry)| entry.kind() == CuckooNodeKind::Leaf)
            {
                // SAFETY: a leaf, read under the caller's guard.
                sample.extend(unsafe { entry.record() }.map(crate::record::KeyRecord::key));
            }
        }
        sample.sort_unstable();
        let parts = parts.clamp(1, sample.len().max(1));
        let mut keys: Vec<Vec<u8>> =
            (1..parts).map(|part| sample[part * sample.len() / parts].to_vec()).collect();
        // A leaf that moved meanwhile was seen twice.
        keys.dedup();
        keys
    }
}
