//! Pruning: a version that no snapshot needs any more leaves its list.

use skein_sync::reclaim::Guard;

use super::SkipList;
use super::node::Node;
use super::node_state::SkipNodeState;
use super::retained_versions::RetainedVersion;
use crate::memory::MemoryPart;
use crate::slot::{Slot, retire_value};

impl<S: Slot, const V: usize> SkipList<S, V> {
    /// Hands a note on to a snapshot that needs its version; if there is none, the version goes. The caller has the note in hand.
    #[cold]
    pub(super) fn pass_on(&self, kept: RetainedVersion<V>, guard: &impl Guard) {
        let left = self
            .snapshots
            .with_holder(kept, |slot| slot.is_some_and(|slot| slot.leave(&self.base.arena, kept)));
        if !left {
            self.prune(kept, guard);
        }
    }

    /// Takes a version out of its node's list, and the node out of the list if nothing is left of it.
    fn prune(&self, RetainedVersion { node, stamp, .. }: RetainedVersion<V>, guard: &impl Guard) {
        let (before, after, removed) = self.cut(node, stamp);
        // SAFETY: the blocks before the version are replaced by copies, and its own is out of the list, with its value; nobody who takes a
        // guard from now on finds them.
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

    /// The same for the list alone: what it was, what it is, and the version that went.
    fn cut(&self, node: Node<V>, stamp: u64) -> (SkipNodeState, SkipNodeState, SkipNodeState) {
        loop {
            let before = node.unclaimed_state();
            let (mut after, removed) = before.without(&self.base.arena, node, stamp);
            if after.is_tombstone() && after.older() == SkipNodeState::GONE {
                // Absent now, and before: for every snapshot there is or will be.
                // SAFETY: made above, or found at the head of the list with one version behind it, which goes: made above then too.
                unsafe { after.free(MemoryPart::Nodes) };
                after = SkipNodeState::GONE;
            }
            if node.exchange(before, after) {
                return (before, after, removed);
            }
            // SAFETY: down to there they are copies, made above, and known to nobody else; or nothing is left of them.
            unsafe { after.free_down_to(if after == SkipNodeState::GONE { after } else { removed.older() }) };
        }
    }
}
