//! Replacing pages and nodes: growth, splits and merges.
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
//! A node never changes, but for the words of its children. So if the number of children changes,
//! the node is replaced too, in the same way. Nodes are small and cold, and a page splits once in
//! thirty inserts or more.

use std::ops::Range;

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;
use std::sync::atomic::Ordering;

use super::child::{Child, Target};
use super::latch::{NEW_PAGE, NodeLatch, PageLatch, Parent, RootLatch, page_of};
use super::node::{Node, NodeContent, shared};
use super::page::{EntryKey, EntryValue, Page, PageShape, entry_size};
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::slot::Slot;

/// A page with more bytes of entries than this splits although it has room for more keys.
const HEAP_MAX: usize = 3 << 10;
/// The least number of keys in a page that splits for this reason.
const LONG_KEYS_MIN: usize = 16;
/// A page with a new value gets room for one part in so many of its bytes.
const ROOM_OF_WRITTEN: usize = 4;

/// What takes the place of one or two neighbouring children: one child, or two with a separator.
struct Splice {
    /// The position of the first child that is replaced.
    at: usize,
    /// The number of children that are replaced.
    replaced: usize,
    first: Child,
    second: Option<(Vec<u8>, Child)>,
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
    fn lock_parent(&self, key: &[u8], link: Child) -> Parent<'_> {
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

    /// Adds a key to a locked page that has no room for it.
    #[cold]
    pub(super) fn replace_full(
        &self,
        latch: PageLatch,
        key: &[u8],
        tag: u8,
        value: EntryValue<S>,
        guard: &impl Guard,
    ) {
        let (live, prefix_len) = (latch.live(), latch.prefix_len());
        let bytes = latch.bytes::<S>(0..live, prefix_len);
        let long = bytes > HEAP_MAX && live >= LONG_KEYS_MIN.min(V::WIDTH);
        let parent = self.lock_parent(key, latch.link());
        if live < V::WIDTH && !long {
            let more = entry_size(key.len() - prefix_len, &value);
            let page = self.new_page(latch.page(), 0..live, prefix_len, latch.prefix(), more);
            self.add_new(&page, key, tag, value);
            self.replace_one(parent, key, page.link(), guard);
            Self::retire_page(latch, guard);
            return;
        }
        self.split(latch, parent, (key, tag, value), guard);
    }

    /// Replaces the value of a key of a locked page that has no room for it.
    #[cold]
    pub(super) fn replace_used_up(
        &self,
        latch: PageLatch,
        key: &[u8],
        value: EntryValue<S>,
        guard: &impl Guard,
    ) {
        let (live, prefix_len) = (latch.live(), latch.prefix_len());
        let parent = self.lock_parent(key, latch.link());
        // A page that has been written to has room for more writes.
        let room = latch.bytes::<S>(0..live, prefix_len) / ROOM_OF_WRITTEN;
        let more = room.max(entry_size(key.len() - prefix_len, &value));
        let page = self.new_page(latch.page(), 0..live, prefix_len, latch.prefix(), more);
        let (_, slot) = page.rank(&key[prefix_len..], live);
        page.set_value(slot.expect("a copied page has the keys of its original"), value);
        self.replace_one(parent, key, page.link(), guard);
        Self::retire_page(latch, guard);
    }

    /// Returns a new, locked page with the keys at some ranks of an old page, and room for an entry
    /// of `more` bytes.
    fn new_page(
        &self,
        old: Page,
        ranks: Range<usize>,
        prefix_len: usize,
        prefix_of: &[u8],
        more: usize,
    ) -> PageLatch {
        let shape = if ranks.is_empty() && old.live() > 0 {
            // Keys come in order, so the page will be as full as the old one.
            PageShape {
                slots: old.slots(),
                heap: old.bytes::<S>(0..old.live(), prefix_len.min(old.prefix_len())).max(more),
            }
        } else {
            PageShape::with_room(ranks.len(), old.bytes::<S>(ranks.clone(), prefix_len), more, V::WIDTH)
        };
        let page = Page::new::<S>(&self.base.arena, shape, NEW_PAGE, &prefix_of[..prefix_len]);
        if ranks.len() == old.used() && prefix_len == old.prefix_len() {
            page.copy::<S>(old);
        } else {
            page.append::<S>(&self.base.arena, old, ranks);
        }
        PageLatch::of_new(page)
    }

    /// Adds the key to a new page that has room for it.
    fn add_new(&self, page: &PageLatch, key: &[u8], tag: u8, value: EntryValue<S>) {
        let rest = &key[page.prefix_len()..];
        let (rank, _) = page.rank(rest, page.live());
        page.add(rank, EntryKey::of(&self.base.arena, key, page.prefix_len()), tag, value);
    }

    /// Splits a locked page in two, and adds a key to one of them.
    fn split(
        &self,
        latch: PageLatch,
        parent: Parent<'_>,
        (key, tag, value): (&[u8], u8, EntryValue<S>),
        guard: &impl Guard,
    ) {
        let page = latch.page();
        let (rank, _) = page.rank(&key[page.prefix_len()..], page.live());
        let cut = cut_for(page, rank);
        let separator = separator_at(page, cut, key);
        let known =
            |fence: Option<Vec<u8>>| fence.map_or(page.prefix_len(), |fence| shared(&fence, &separator));
        let (left_known, right_known) = (known(parent.lower()), known(parent.upper()));
        let live = page.live();
        let half = |ranks, known| {
            let more = entry_size(key.len().saturating_sub(known), &value);
            self.new_page(page, ranks, known, &separator, more)
        };
        let (left, right) = (half(0..cut, left_known), half(cut..live, right_known));
        let half = if key < &separator[..] { &left } else { &right };
        self.add_new(half, key, tag, value);
        let second = Some((separator, right.link()));
        let splice = Splice { at: position(&parent), replaced: 1, first: left.link(), second };
        self.splice(parent, key, splice, guard);
        Self::retire_page(latch, guard);
        for (ranks, known) in [(0..cut, left_known), (cut..live, right_known)] {
            // SAFETY: the halves have copies of the keys that became near, and no guard entered from
            // now on reaches the old page.
            unsafe { page.retire_keys_near(ranks, known, guard) };
        }
    }

    /// Merges a small locked page with a neighbour, if both fit into one page and the neighbour's
    /// lock is free. Otherwise makes it smaller. The page's range includes `key`.
    #[cold]
    pub(super) fn merge_small(&self, latch: PageLatch, key: &[u8], guard: &impl Guard) -> MergeOutcome {
        let parent = self.lock_parent(key, latch.link());
        // An empty page has to go, whatever its neighbour holds.
        let most = if latch.live() == 0 { V::WIDTH } else { V::WIDTH * 3 / 4 };
        let fits = |page: &Page| {
            let bytes = latch.heap_bytes() + page.heap_bytes();
            latch.live() + page.live() <= most && (latch.live() == 0 || bytes <= HEAP_MAX)
        };
        // SAFETY: loaded from a live node under the guard.
        let pages = parent.neighbours().filter_map(|(child, at)| Some((unsafe { page_of(child) }?, at)));
        let smallest = pages.filter(|(page, _)| fits(page)).min_by_key(|(page, _)| page.live());
        let Some((neighbour, at)) = smallest else { return self.shrink(latch, parent, key, guard) };
        let Some(neighbour) = PageLatch::try_take(neighbour) else { return MergeOutcome::Busy };
        if !fits(&neighbour.page()) {
            drop(neighbour);
            return self.shrink(latch, parent, key, guard);
        }
        let live = latch.live() + neighbour.live();
        let own = position(&parent);
        let (left, right) = if own == at { (&latch, &neighbour) } else { (&neighbour, &latch) };
        let prefix_len = shared(left.prefix(), right.prefix());
        let of = |half: &PageLatch| half.bytes::<S>(0..half.live(), prefix_len);
        let bytes = of(left) + of(right);
        let shape = PageShape::with_room(live, bytes, 0, V::WIDTH);
        let page = Page::new::<S>(&self.base.arena, shape, NEW_PAGE, &left.prefix()[..prefix_len]);
        for half in [left, right] {
            page.append::<S>(&self.base.arena, half.page(), 0..half.live());
        }
        let page = PageLatch::of_new(page);
        let splice = Splice { at, replaced: 2, first: page.link(), second: None };
        self.splice(parent, key, splice, guard);
        Self::retire_page(latch, guard);
        Self::retire_page(neighbour, guard);
        MergeOutcome::Merged
    }

    /// Replaces a locked page by a smaller one, if that saves a quarter of its memory. If it is the
    /// only child, merges its parent instead.
    fn shrink(&self, latch: PageLatch, parent: Parent<'_>, key: &[u8], guard: &impl Guard) -> MergeOutcome {
        if parent.is_of_one() {
            return self.replace_one(parent, key, latch.link(), guard);
        }
        let (live, prefix_len) = (latch.live(), latch.prefix_len());
        let shape = PageShape::after_removals(live, latch.bytes::<S>(0..live, prefix_len), V::WIDTH);
        let (new, old) = (shape.size::<S>(prefix_len), latch.size());
        if new >= old || live > 0 && 4 * new > 3 * old {
            return MergeOutcome::Unchanged;
        }
        let page = Page::new::<S>(&self.base.arena, shape, NEW_PAGE, latch.prefix());
        page.append::<S>(&self.base.arena, latch.page(), 0..live);
        let page = PageLatch::of_new(page);
        self.replace_one(parent, key, page.link(), guard);
        Self::retire_page(latch, guard);
        MergeOutcome::Unchanged
    }

    /// Marks a replaced page as deleted, unlocks it, and frees it later.
    fn retire_page(latch: PageLatch, guard: &impl Guard) {
        let page = latch.page();
        page.version().mark_deleted();
        drop(latch);
        // SAFETY: its parent leads to the new page, so no guard entered from now on reaches it.
        unsafe { page.retire(guard) };
    }

    /// Marks a replaced node as deleted, unlocks it, and frees it later.
    fn retire_node(latch: NodeLatch, guard: &impl Guard) {
        let node = latch.node();
        node.version().mark_deleted();
        drop(latch);
        // SAFETY: as in `retire_page`.
        unsafe { node.retire(guard) };
    }

    /// Links a child in place of one with the same range, and unlocks the parent, as
    /// [`splice`](Self::splice) does.
    fn replace_one(&self, parent: Parent<'_>, key: &[u8], child: Child, guard: &impl Guard) -> MergeOutcome {
        let splice = Splice { at: position(&parent), replaced: 1, first: child, second: None };
        self.splice(parent, key, splice, guard)
    }

    /// Links the new children of a parent, and unlocks the parent. The parent's range includes
    /// `key`. Returns what came of merging nodes.
    fn splice(&self, parent: Parent<'_>, key: &[u8], splice: Splice, guard: &impl Guard) -> MergeOutcome {
        let is_of_one = parent.is_of_one();
        match parent {
            Parent::Root(_latch) => {
                let root = match splice.second {
                    None => splice.first,
                    Some((separator, second)) => {
                        let mut content = NodeContent::default();
                        content.children.push(splice.first);
                        content.push_separator(&separator, &[]);
                        content.children.push(second);
                        let level = level_above(splice.first);
                        Node::new(&self.base.arena, &content, level, 0).link()
                    }
                };
                self.engine.set_root(root);
                MergeOutcome::Unchanged
            }
            // A node with one child tries to merge at each change.
            Parent::Node(node, _) if splice.replaced == 1 && splice.second.is_none() && !is_of_one => {
                node.set_child(splice.at, splice.first);
                MergeOutcome::Unchanged
            }
            Parent::Node(node, _) => self.replace_node(node, key, &splice, guard),
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
        let count = content.children.len();
        let mut merged = MergeOutcome::Unchanged;
        if count == 1 && matches!(parent, Parent::Root(_)) {
            self.engine.set_root(content.children[0]);
            drop(parent);
        } else if count > V::FANOUT {
            merged = self.split_node(node, parent, &content, key, guard);
        } else if count < (V::FANOUT / 4).max(2) {
            merged = self.merge_node(node, parent, &content, key, guard);
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
        content: &NodeContent,
        key: &[u8],
        guard: &impl Guard,
    ) -> MergeOutcome {
        let count = content.children.len();
        // Keys that come in order fill their nodes.
        let in_order = parent.upper().is_none() && content.separator(count - 2) <= key;
        let cut = if in_order { count * 7 / 8 } else { count / 2 };
        let separator = content.separator(cut - 1).to_vec();
        let known = |fence: Option<Vec<u8>>| fence.map_or(node.known(), |fence| shared(&fence, &separator));
        let (left_known, right_known) = (known(parent.lower()), known(parent.upper()));
        let new = |part: NodeContent, known| Node::new(&self.base.arena, &part, node.level(), known).link();
        let left = new(content.part(0, cut), left_known);
        let right = new(content.part(cut, count), right_known);
        let second = Some((separator, right));
        let splice = Splice { at: position(&parent), replaced: 1, first: left, second };
        self.splice(parent, key, splice, guard)
    }

    /// Links a node with few children in place of a locked one, merged with its neighbour if both
    /// fit into one node and the neighbour's lock is free.
    fn merge_node(
        &self,
        node: Node,
        parent: Parent<'_>,
        content: &NodeContent,
        key: &[u8],
        guard: &impl Guard,
    ) -> MergeOutcome {
        // A node with one child has to go, since pages merge only below one parent.
        let most = if content.children.len() == 1 { V::FANOUT } else { V::FANOUT * 3 / 4 };
        let mut busy = false;
        let beside = parent.neighbours().find_map(|(child, at)| {
            // SAFETY: loaded from a live node under the guard.
            let Target::Node(beside) = (unsafe { child.target() }) else { return None };
            if beside.children() + content.children.len() > most {
                return None;
            }
            let latch = NodeLatch::try_take(beside);
            busy |= latch.is_none();
            Some((latch?, at))
        });
        let (Some((beside, at)), Parent::Node(up, own)) = (beside, &parent) else {
            let new = Node::new(&self.base.arena, content, node.level(), node.known());
            let above = self.replace_one(parent, key, new.link(), guard);
            return if busy && above == MergeOutcome::Unchanged { MergeOutcome::Busy } else { above };
        };
        let mut merged = NodeContent::default();
        if *own == at {
            merged.push_content(content);
            merged.push_separator(up.prefix(), up.rest(at));
            merged.push_part(beside.node(), 0, beside.children());
        } else {
            merged.push_part(beside.node(), 0, beside.children());
            merged.push_separator(up.prefix(), up.rest(at));
            merged.push_content(content);
        }
        let known = known_around(up, at, at + 2);
        let new = Node::new(&self.base.arena, &merged, node.level(), known);
        let splice = Splice { at, replaced: 2, first: new.link(), second: None };
        self.splice(parent, key, splice, guard);
        Self::retire_node(beside, guard);
        MergeOutcome::Merged
    }
}

/// Returns the position of the child in its parent.
fn position(parent: &Parent<'_>) -> usize {
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
        shared(&node.separator(from - 1), &node.separator(to - 1))
    } else {
        node.known()
    }
}

/// Returns the content of a node with other children.
fn spliced(node: Node, splice: &Splice) -> NodeContent {
    let end = splice.at + splice.replaced;
    let mut content = NodeContent::default();
    content.push_part(node, 0, splice.at);
    if splice.at > 0 {
        content.push_separator(node.prefix(), node.rest(splice.at - 1));
    }
    content.children.push(splice.first);
    if let Some((separator, second)) = &splice.second {
        content.push_separator(separator, &[]);
        content.children.push(*second);
    }
    if end < node.children() {
        content.push_separator(node.prefix(), node.rest(end - 1));
        content.push_part(node, end, node.children());
    }
    content
}

/// Returns the rank at which a full page splits to add a key at `rank`. Keys that come in order fill
/// their pages; otherwise the cut near the middle that needs the shortest separator wins.
fn cut_for(page: Page, rank: usize) -> usize {
    let live = page.live();
    if rank == live || rank == 0 {
        return rank;
    }
    let (middle, reach) = (live / 2, live / 8);
    let shared_at = |cut: usize| shared(page.rest(page.slot_of(cut - 1)), page.rest(page.slot_of(cut)));
    let cuts = (middle - reach).max(1)..=(middle + reach).min(live - 1);
    cuts.min_by_key(|&cut| (shared_at(cut), cut.abs_diff(middle))).unwrap_or(middle)
}

/// Returns the shortest separator between the ranks `cut - 1` and `cut` of a page to which `key` will
/// be added: at an end, between the key and its neighbour.
fn separator_at(page: Page, cut: usize, key: &[u8]) -> Vec<u8> {
    let rest = |rank: usize| page.rest(page.slot_of(rank));
    let own = &key[page.prefix_len()..];
    let (left, right) = if cut == page.live() {
        (rest(cut - 1), own)
    } else if cut == 0 {
        (own, rest(0))
    } else {
        (rest(cut - 1), rest(cut))
    };
    [page.prefix(), &right[..=shared(left, right)]].concat()
}

impl<V: PageTreeSettings> super::PageTreeEngine<V> {
    /// Replaces the root. The caller must hold its lock.
    fn set_root(&self, child: Child) {
        // Release: pairs with the load in `root`; the child is initialised.
        self.root.store(child.0, Ordering::Release);
    }
}
