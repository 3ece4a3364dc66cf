//! Keys that split the index into parts of about the same size.

use super::CuckooTrieVariant;
use super::entry::CuckooNodeKind;
use super::variant::CuckooSettings;
use crate::slot::Slot;

/// The keys to sample per part. More keys make the parts more even.
const PER_PART: usize = 64;

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
    /// Returns at most `parts - 1` keys, in order. The caller must hold a guard.
    ///
    /// The bucket of a leaf follows from a hash, so the leaves in the first buckets are a fair
    /// sample.
    pub(super) fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        let wanted = parts.saturating_mul(PER_PART);
        let mut sample: Vec<&[u8]> = Vec::new();
        for number in 0..self.engine.table.size() {
            if sample.len() >= wanted {
                break;
            }
            for (_, entry) in self
                .engine
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
        // The sample has a leaf twice if it moved meanwhile.
        keys.dedup();
        keys
    }
}
