//! Linking new pages, and replacing the nodes above them.
//!
//! ```text
//!   page P is full           new pages L, R, locked           node N is replaced by N'
//!   ┌─ N ─┐                  ┌─ N ─┐                          ┌─ N'─┐
//!   │ .P. │       ──►        │ .P. │      L  R       ──►      │.L R.│     then P and N are deleted,
//!   └──┼──┘                  └──┼──┘                          └─┼─┼─┘     and everything is unlocked
//!      P                        P                               L R
//! ```
//!
//! A writer builds new pages, links them at their parent's, and then marks the old ones as deleted.
//! In between both are reachable and both are locked, so they have the same content. A reader that
//! reads an old page and finds it deleted starts again at the root.
//!
//! A node never changes, but for the words of its children. So if the number of children changes
//! or a separator, the node is replaced too, in the same way. Nodes are small and cold, and this
//! happens once in some forty-five inserts. `balance.rs` decides what becomes of pages.

use std::sync::atomic::Ordering;

use arrayvec::ArrayVec;
use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::child::{Child, Target};
use super::key_run::RUN_PAGES;
use super::latch::{NodeLatch, PageLatch, Parent, RootLatch};
use super::node::{Node, NodeContent, NodeRun, Separator};
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::slot::Slot;

/// What takes the place of neighbouring children: one child, or several with separators.
pub(super) struct Splice {
    /// The position of the first child that is replaced.
    pub(super) at: usize,
    /// The number of children that are replaced.
    pub(super) replaced: usize,
    pub(super) first: Child,
    /// The further children, each behind its separator.
    pub(super) others: ArrayVec<(Vec<u8>, Child), { RUN_PAGES - 1 }>,
}

impl Splice {
    fn push_others<'n>(&'n self, content: &mut NodeContent<'n>) {
        for (separator, child) in &self.others {
            content.push(Separator::whole(separator), NodeRun::New(*child));
        }
    }
}

/// What came of an attempt to merge a page or a node with a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeOutcome {
    /// Nothing was merged, and nothing can be.
    Unchanged,
    /// Another writer holds the lock of the neighbour.
    Busy,
    /// The page has other neighbours now.
    Merged,
}

impl<S: Slot, V: PageTreeSettings> PageTreeVariant<S, V> {
    /// Locks the parent of a locked page or node, which `link` leads to. Its range includes `key`.
    pub(super) fn lock_parent(&self, key: &[u8], link: Child) -> Parent<'_> {
        let mut backoff = Backoff::new();
        loop {
            if self.engine.root() == link {
                let latch = RootLatch::take(&self.engine.root_lock);
                if self.engine.root() == link {
                    return Parent::Root(latch);
                }
                continue;
            }
            if let Some((node, at)) = self.parent_of(key, link)
                && let Some(latch) = NodeLatch::take(node)
            {
                debug_assert_eq!(latch.child(at), link, "a locked child is not replaced");
                return Parent::Node(latch, at);
            }
            // Another writer is replacing a node on the way.
            backoff.wait();
        }
    }

    /// Returns the node that has the child `link`, and the child's position.
    fn parent_of(&self, key: &[u8], link: Child) -> Option<(Node, usize)> {
        let mut child = self.engine.root();
        loop {
            // SAFETY: the caller holds a guard.
            let Target::Node(node) = (unsafe { child.target() }) else { return None };
            let at = node.search(key, false);
            child = node.child(at);
            if child == link {
                return Some((node, at));
            }
        }
    }

    /// Marks a replaced page as deleted, unlocks it, and frees it later.
    pub(super) fn retire_page(latch: PageLatch, guard: &impl Guard) {
        let page = latch.page();
        page.version().mark_deleted();
        drop(latch);
        // SAFETY: its parent leads to the new page, so no guard entered from now on reaches it.
        unsafe { page.retire(guard) };
    }

    /// Marks a replaced node as deleted, unlocks it, and frees it later.
    pub(super) fn retire_node(latch: NodeLatch, guard: &impl Guard) {
        let node = latch.node();
        node.version().mark_deleted();
        drop(latch);
        // SAFETY: as in `retire_page`.
        unsafe { node.retire(guard) };
    }

    /// Links a child in place of one with the same range, and unlocks the parent, as
    /// [`splice`](Self::splice) does.
    pub(super) fn replace_one(
        &self,
        parent: Parent<'_>,
        key: &[u8],
        child: Child,
        guard: &impl Guard,
    ) -> MergeOutcome {
        let splice = Splice { at: position(&parent), replaced: 1, first: child, others: ArrayVec::new() };
        self.splice(parent, key, &splice, guard)
    }

    /// Links the new children of a parent, and unlocks the parent. The parent's range includes
    /// `key`. Returns what came of merging nodes.
    pub(super) fn splice(
        &self,
        parent: Parent<'_>,
        key: &[u8],
        splice: &Splice,
        guard: &impl Guard,
    ) -> MergeOutcome {
        let is_of_one = parent.is_of_one();
        match parent {
            Parent::Root(_latch) => {
                let mut root = splice.first;
                if !splice.others.is_empty() {
                    let mut content = NodeContent::of(NodeRun::New(splice.first));
                    splice.push_others(&mut content);
                    root = Node::new(&self.base.arena, &content, level_above(splice.first), 0).link();
                }
                self.engine.set_root(root);
                MergeOutcome::Unchanged
            }
            // A node with one child tries to merge at each change.
            Parent::Node(node, _) if splice.replaced == 1 && splice.others.is_empty() && !is_of_one => {
                node.set_child(splice.at, splice.first);
                MergeOutcome::Unchanged
            }
            Parent::Node(node, _) => self.replace_node(node, key, splice, guard),
        }
    }

    /// Replaces a locked node by one or two nodes with other children. Returns what came of merging
    /// nodes.
    fn replace_node(
        &self,
        latch: NodeLatch,
        key: &[u8],
        splice: &Splice,
        guard: &impl Guard,
    ) -> MergeOutcome {
        let node = latch.node();
        let content = spliced(node, splice);
        let parent = self.lock_parent(key, node.link());
        let count = content.children();
        let mut merged = MergeOutcome::Unchanged;
        if count == 1 && matches!(parent, Parent::Root(_)) {
            self.engine.set_root(content.first_child());
            drop(parent);
        } else if count > V::FANOUT {
            merged = self.split_node(node, parent, &content, key, guard);
        } else if count < (V::FANOUT / 4).max(2) {
            merged = self.merge_node(node, parent, content, key, guard);
        } else {
            let new = Node::new(&self.base.arena, &content, node.level(), node.known());
            merged = self.replace_one(parent, key, new.link(), guard);
        }
        Self::retire_node(latch, guard);
        merged
    }

    /// Links two nodes in place of a locked one, with these children.
    fn split_node(
        &self,
        node: Node,
        parent: Parent<'_>,
        content: &NodeContent<'_>,
        key: &[u8],
        guard: &impl Guard,
    ) -> MergeOutcome {
        let count = content.children();
        // Keys that come in order fill their nodes.
        let own = position(&parent);
        let in_order = parent.separator_before(own + 1).is_none()
            && *content.separator_before(count - 1).to_vec() <= *key;
        let cut = if in_order { count * 7 / 8 } else { count / 2 };
        let separator = content.separator_before(cut);
        let known =
            |fence: Option<Separator<'_>>| fence.map_or(node.known(), |fence| fence.shared(separator));
        let left_known = known(parent.separator_before(own));
        let right_known = known(parent.separator_before(own + 1));
        let new =
            |part: &NodeContent<'_>, known| Node::new(&self.base.arena, part, node.level(), known).link();
        let left = new(&content.part(0, cut), left_known);
        let right = new(&content.part(cut, count), right_known);
        let others = [(separator.to_vec(), right)].into_iter().collect();
        let splice = Splice { at: own, replaced: 1, first: left, others };
        self.splice(parent, key, &splice, guard)
    }

    /// Links a node with few children in place of a locked one, merged with its neighbour if both
    /// fit into one node and the neighbour's lock is free.
    fn merge_node(
        &self,
        node: Node,
        parent: Parent<'_>,
        content: NodeContent<'_>,
        key: &[u8],
        guard: &impl Guard,
    ) -> MergeOutcome {
        // A node with one child has to go, since pages merge only below one parent.
        let most = if content.children() == 1 { V::FANOUT } else { V::FANOUT * 3 / 4 };
        let mut busy = false;
        let beside = parent.neighbours().find_map(|(child, at)| {
            // SAFETY: loaded from a live node under the guard.
            let Target::Node(beside) = (unsafe { child.target() }) else { return None };
            if beside.children() + content.children() > most {
                return None;
            }
            let latch = NodeLatch::try_take(beside);
            busy |= latch.is_none();
            Some((latch?, at))
        });
        let (Some((beside, at)), Parent::Node(up, own)) = (beside, &parent) else {
            let new = Node::new(&self.base.arena, &content, node.level(), node.known());
            let above = self.replace_one(parent, key, new.link(), guard);
            return if busy && above == MergeOutcome::Unchanged { MergeOutcome::Busy } else { above };
        };
        let (separator, neighbour) = (up.separator(at), NodeRun::all(beside.node()));
        let merged = if *own == at {
            content.followed_by(separator, &NodeContent::of(neighbour))
        } else {
            NodeContent::of(neighbour).followed_by(separator, &content)
        };
        let known = known_around(up, at, at + 2);
        let new = Node::new(&self.base.arena, &merged, node.level(), known);
        let splice = Splice { at, replaced: 2, first: new.link(), others: ArrayVec::new() };
        self.splice(parent, key, &splice, guard);
        Self::retire_node(beside, guard);
        MergeOutcome::Merged
    }
}

/// Returns the position of the child in its parent.
pub(super) fn position(parent: &Parent<'_>) -> usize {
    match parent {
        Parent::Root(_) => 0,
        Parent::Node(_, at) => *at,
    }
}

/// Returns the level of a parent of this child.
fn level_above(child: Child) -> u8 {
    // SAFETY: the child is new, or locked and not deleted.
    match unsafe { child.target() } {
        Target::Page(_) => 1,
        Target::Node(node) => node.level() + 1,
    }
}

/// Returns how many bytes all keys share in the ranges of the children from `from` to `to`.
fn known_around(node: &NodeLatch, from: usize, to: usize) -> usize {
    if from > 0 && to < node.children() {
        node.separator(from - 1).shared(node.separator(to - 1))
    } else {
        node.known()
    }
}

/// Returns the content of a node with other children.
fn spliced(node: Node, splice: &Splice) -> NodeContent<'_> {
    let (at, end) = (splice.at, splice.at + splice.replaced);
    let first = NodeRun::New(splice.first);
    let mut content = NodeContent::of(if at == 0 { first } else { NodeRun::Old(node, 0, at) });
    if at > 0 {
        content.push(node.separator(at - 1), first);
    }
    splice.push_others(&mut content);
    if end < node.children() {
        content.push(node.separator(end - 1), NodeRun::Old(node, end, node.children()));
    }
    content
}

impl<V: PageTreeSettings> super::PageTreeEngine<V> {
    /// Replaces the root. The caller must hold its lock.
    fn set_root(&self, child: Child) {
        // Release: pairs with the load in `root`; the child is initialised.
        self.root.store(child.0, Ordering::Release);
    }
}
