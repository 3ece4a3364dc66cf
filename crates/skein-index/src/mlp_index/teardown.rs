//! Dropping the index.

use super::MlpIndex;
use super::node::{MlpNode, MlpNodeBody};
use crate::slot::Slot;

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// Shows `each` all nodes, with their bucket. Nobody else uses the index.
    pub(super) fn each_node(&mut self, mut each: impl FnMut(u32, u64, MlpNode)) {
        for bucket in self.table.numbers() {
            let (image, _) = self.table.image(bucket);
            for (slot, head) in image.heads() {
                each(bucket, head, MlpNode::read(&image.raw(slot), bucket, &self.table.seeds));
            }
        }
    }
}

impl<S: Slot, const V: usize> Drop for MlpIndex<S, V> {
    fn drop(&mut self) {
        if self.base.frees_all_at_once::<S>() {
            return;
        }
        self.each_node(|_, _, node| {
            if let MlpNodeBody::Leaf { value, .. } = node.body {
                // SAFETY: the index is borrowed mutably and owns the word, which is looked at no more.
                drop(unsafe { S::from_word(value) });
            }
        });
    }
}
