//! Keys that split the index into parts of similar size.

use super::MlpIndexVariant;
use super::node::{MlpNode, MlpNodeBody};
use super::table::LEAST;
use super::variant::MlpSettings;
use crate::slot::Slot;

/// The buckets to sample. A table of the least size is sampled as a whole.
const SAMPLE: u32 = LEAST;

impl<S: Slot, V: MlpSettings> MlpIndexVariant<S, V> {
    /// Returns at most `parts - 1` keys, in order, from the keys in some buckets. The bucket of a
    /// key follows from a hash, so these keys are a fair sample.
    pub(super) fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        let buckets = self.engine.table.size().buckets();
        let mut keys = Vec::new();
        for bucket in (0..buckets).step_by((buckets / SAMPLE) as usize) {
            let (image, _) = self.engine.table.image(bucket);
            for (slot, _) in image.heads() {
                let node = MlpNode::read(&image.raw(slot), bucket, &self.engine.table.seeds);
                if matches!(node.body, MlpNodeBody::Leaf { .. }) {
                    keys.push(node.key());
                }
            }
        }
        keys.sort_unstable();
        let mut cuts: Vec<_> = (1..parts).filter_map(|part| keys.get(part * keys.len() / parts)).collect();
        cuts.dedup();
        // There is no part before the first key.
        cuts.retain(|cut| Some(*cut) != keys.first());
        cuts.into_iter().map(|key| key.bytes()[..key.len.into()].to_vec()).collect()
    }
}
