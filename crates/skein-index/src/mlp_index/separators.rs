//! Keys that cut the index into parts of similar size.

use super::MlpIndex;
use super::node::{MlpNode, MlpNodeBody};
use super::table::LEAST;
use crate::slot::Slot;

/// Buckets that are looked at; a table of the least size is looked at as a whole.
const SAMPLE: u32 = LEAST;

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// Cuts by the keys in some buckets: where a key is says nothing of its place in the order, so they are a fair sample.
    pub(super) fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        let buckets = self.table.size().buckets();
        let mut keys = Vec::new();
        for bucket in (0..buckets).step_by((buckets / SAMPLE) as usize) {
            let (image, _) = self.table.image(bucket);
            for (slot, _) in image.heads() {
                let node = MlpNode::read(&image.raw(slot), bucket, &self.table.seeds);
                if matches!(node.body, MlpNodeBody::Leaf { .. }) {
                    keys.push(node.key());
                }
            }
        }
        keys.sort_unstable();
        let mut cuts: Vec<_> = (1..parts).filter_map(|part| keys.get(part * keys.len() / parts)).collect();
        cuts.dedup();
        // What is before the first key is no part.
        cuts.retain(|cut| Some(*cut) != keys.first());
        cuts.into_iter().map(|key| key.bytes()[..key.len.into()].to_vec()).collect()
    }
}
