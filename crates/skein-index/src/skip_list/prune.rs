//! Pruning: removes a version from its list when no snapshot needs it any more.

use skein_sync::reclaim::Guard;

use super::SkipListVariant;
use super::node::Node;
use super::node_state::SkipNodeState;
use super::retained_versions::RetainedVersion;
use super::variant::SkipListSettings;
use crate::memory::MemoryPart;
use crate::slot::{Slot, retire_value};

impl<S: Slot, V: SkipListSettings> SkipListVariant<S, V> {
    /// Passes a note on to another snapshot that sees its version, or prunes the version if no
    /// snapshot does. The caller must own the note.
    #[cold]
    pub(super) fn pass_on(&self, kept: RetainedVersion<V>, guard: &impl Guard) {
        let left = self
            .engine
            .snapshots
            .with_holder(kept, |slot| slot.is_some_and(|slot| slot.push(&self.base.arena, kept)));
        if !left {
            self.prune(kept, guard);
        }
    }

    /// Removes a version from its node's list, and removes the node if no version is left.
    fn prune(&self, RetainedVersion { node, stamp, .. }: RetainedVersion<V>, guard: &impl Guard) {
        let (before, after, removed) = self.remove_version(node, stamp);
        // SAFETY: copies replace the blocks before the version. The version's own block and value
        // are out of the list. A guard that is taken from now on cannot reach any of them.
        unsafe {
            let mut state = before;
            while state != removed {
                state.retire(guard);
                state = state.older();
            }
            if let Some(word) = removed.value(node) {
                retire_value::<S>(word, guard);
            }
            removed.retire(guard);
        }
        if after == SkipNodeState::GONE {
            self.remove_node(node, None, guard);
        }
    }

    /// Exchanges the node's state for one without the version. Returns the previous state, the new
    /// state and the state of the removed version.
    fn remove_version(&self, node: Node<V>, stamp: u64) -> (SkipNodeState, SkipNodeState, SkipNodeState) {
        loop {
            let before = node.unclaimed_state();
            let (mut after, removed) = before.without(&self.base.arena, node, stamp);
            if after.is_tombstone() && after.older() == SkipNodeState::GONE {
                // The key is absent now and was absent before, for every present and future
                // snapshot.
                // SAFETY: the tombstone is a copy that `without` made above: a version with a note
                // lies behind the head (`node_state.rs`, invariant 2), so `without` copies the
                // head.
                unsafe { after.free(MemoryPart::Nodes) };
                after = SkipNodeState::GONE;
            }
            if node.exchange(before, after) {
                return (before, after, removed);
            }
            // SAFETY: the blocks before `removed.older()` are copies that were made above and never
            // shared; if `after` is empty, it has no blocks.
            unsafe { after.free_down_to(if after == SkipNodeState::GONE { after } else { removed.older() }) };
        }
    }
}
