//! The trie of anchors: the table, its root, and the one lock under which they change.
//!
//! ```text
//!   anchors  ""⊥  "Au"  "Jam"  "Jos"          ⊥ the terminator: less than every byte
//!
//!   ""  item {⊥, A, J}         "A" item {u}        "Au"  leaf
//!   "J" item {a, o}            "Ja" item {m}       "Jam" leaf       "Jo" item {s}      "Jos" leaf
//! ```
//!
//! No anchor is a prefix of another one, so each ends in a node of its own. Where that would not be so, the shorter one gets the
//! terminator. The paper takes a zero byte for it, and a leaf whose keys differ in trailing zeros alone cannot be split then
//! (section 3.3, "fat nodes"); ours is a symbol of its own, which no key has, so every leaf can be split. In comparisons of keys with
//! anchors the terminator does not count.
//!
//! # Invariants
//! 1. Links between leaves, and which anchors are terminated, change under this lock too; it is taken after the leaves' locks and
//!    held until the trie agrees with the links. Under the lock alone, then, trie and links agree.
//! 2. Whoever holds this lock takes no leaf's.
//! 3. What a change unlinks is retired when the trie leads to it no more.

use std::ptr::null_mut;

use skein_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use skein_sync::mutex::{Mutex, MutexGuard, lock};
use skein_sync::reclaim::{GracePeriod, Guard, PROTECT};

use super::item::{TrieItem, TrieItemChild};
use super::leaf::WormholeLeaf;
use super::search::common_len;
use super::table::{MetaTrieNode, PrefixEntry, PrefixTable};
use crate::hash::{PrefixHash, PrefixHasher};
use crate::memory::{Arena, MemoryPart};

/// The trie.
#[derive(Debug)]
pub(super) struct MetaTrie {
    /// The node of the empty prefix, which every search begins with.
    root: AtomicU64,
    table: AtomicPtr<PrefixTable>,
    lock: Mutex<()>,
    /// The hash to go over to if someone chooses prefixes that collide.
    keyed: PrefixHash,
    huge: bool,
}

impl MetaTrie {
    /// The trie of one leaf whose anchor is empty.
    pub(super) fn new(arena: &Arena, first: WormholeLeaf, keyed: PrefixHash, huge: bool) -> Self {
        let table = PrefixTable::for_entries(arena, 0, PrefixHash::crc32c(), huge);
        Self {
            root: AtomicU64::new(MetaTrieNode::Leaf(first).untagged()),
            table: AtomicPtr::new(Box::into_raw(Box::new(table))),
            lock: Mutex::new(()),
            keyed,
            huge,
        }
    }

    /// The table; callers hold a guard or the lock.
    #[inline(always)]
    pub(super) fn table(&self) -> &PrefixTable {
        // SAFETY: a table is retired once another one is in its place.
        unsafe { &*self.table.load(PROTECT) }
    }

    /// The word of the node of the empty prefix; callers hold a guard or the lock.
    #[inline(always)]
    pub(super) fn root_word(&self) -> u64 {
        self.root.load(PROTECT)
    }

    /// The node of the empty prefix; callers hold a guard or the lock.
    #[inline(always)]
    pub(super) fn root(&self) -> MetaTrieNode {
        // SAFETY: the root is never none, and retired once another one is in its place.
        unsafe { MetaTrieNode::from_word(self.root_word()).unwrap_unchecked() }
    }

    /// Takes the lock.
    pub(super) fn lock<'a, G: Guard>(&'a self, arena: &'a Arena, guard: &'a G) -> MetaTrieWriter<'a, G> {
        let held = lock(&self.lock);
        MetaTrieWriter { meta: self, arena, guard, path: PrefixHasher::empty(self.table().hash), _held: held }
    }

    /// Frees the table and all items.
    ///
    /// # Safety
    /// Nobody else can reach the trie, and it is not used again.
    pub(super) unsafe fn free(&mut self) {
        let table = std::mem::replace(&mut self.table, AtomicPtr::new(null_mut())).load(Ordering::Relaxed);
        // SAFETY: made by `Box::into_raw`; the caller gives it up.
        let table = unsafe { Box::from_raw(table) };
        for node in table.nodes().chain([self.root()]) {
            if let MetaTrieNode::Item(item) = node {
                // SAFETY: each item has one entry, and is given up with it.
                unsafe { item.free(MemoryPart::Nodes) };
            }
        }
    }
}

/// The trie, locked.
pub(super) struct MetaTrieWriter<'a, G: Guard> {
    meta: &'a MetaTrie,
    arena: &'a Arena,
    guard: &'a G,
    /// The anchor that lengths are meant in.
    path: PrefixHasher<'a>,
    _held: MutexGuard<'a, ()>,
}

/// Where a node stands.
enum TrieNodeSeat {
    Root,
    Entry(PrefixEntry),
}

impl<'a, G: Guard> MetaTrieWriter<'a, G> {
    /// Follows the leaf list: `new` stands right of `left`, and `next` right of it.
    pub(super) fn insert_anchor(
        &mut self,
        left: WormholeLeaf,
        new: WormholeLeaf,
        next: Option<WormholeLeaf>,
    ) {
        let anchor = new.anchor();
        if self.meta.table().is_crowded(anchor.len() + 2) {
            self.rebuild(anchor.len() + 2, self.meta.table().hash);
        }
        if !left.is_terminated() && anchor.starts_with(left.anchor()) {
            self.terminate(left);
        }
        self.follow(anchor);
        for (len, child) in steps(new) {
            match self.seat(len) {
                None => {
                    let item = TrieItem::with_child(self.arena, len, Some(left), child, new);
                    self.add(len, MetaTrieNode::Item(item));
                }
                Some((_, MetaTrieNode::Item(item))) if item.has(child) => {
                    if item.last_of(child) == Some(left) {
                        item.set_last_of(child, new);
                    }
                }
                Some((seat, MetaTrieNode::Item(item))) => {
                    self.put(&seat, MetaTrieNode::Item(item.with(self.arena, child, new)));
                    self.retire(item);
                }
                Some((_, MetaTrieNode::Leaf(_))) => unreachable!("no anchor is a prefix of another one"),
            }
        }
        if !new.is_terminated() {
            self.add(anchor.len(), MetaTrieNode::Leaf(new));
        }
        self.set_before(next, anchor, new);
    }

    /// Follows the leaf list: `gone`, which stood right of `left`, does not any more, and `next` does.
    pub(super) fn remove_anchor(
        &mut self,
        left: WormholeLeaf,
        gone: WormholeLeaf,
        next: Option<WormholeLeaf>,
    ) {
        let anchor = gone.anchor();
        self.follow(anchor);
        if !gone.is_terminated()
            && let Some((TrieNodeSeat::Entry(place), _)) = self.seat(anchor.len())
        {
            self.meta.table().remove(place);
        }
        let mut child_is_gone = true;
        for (len, child) in steps(gone).collect::<Vec<_>>().into_iter().rev() {
            let Some((seat, MetaTrieNode::Item(item))) = self.seat(len) else {
                unreachable!("each prefix of an anchor has an item")
            };
            if !child_is_gone {
                if item.last_of(child) == Some(gone) {
                    item.set_last_of(child, left);
                }
                continue;
            }
            match item.without(self.arena, child) {
                Some(smaller) => {
                    self.put(&seat, Self::collapsed(smaller));
                    child_is_gone = false;
                }
                None => match seat {
                    TrieNodeSeat::Entry(place) => self.meta.table().remove(place),
                    TrieNodeSeat::Root => {
                        unreachable!("the first leaf's anchor ends at the root, and it never goes")
                    }
                },
            }
            self.retire(item);
        }
        self.set_before(next, anchor, left);
        if self.meta.table().is_sparse() {
            self.rebuild(0, self.meta.table().hash);
        }
    }

    /// An item that was just made; if it has only the terminator left, the leaf, whose anchor then needs it no more.
    fn collapsed(item: TrieItem) -> MetaTrieNode {
        if item.children() > 1 || !item.has_terminator() {
            return MetaTrieNode::Item(item);
        }
        let leaf = item.last_of(None).expect("a child has leaves");
        leaf.set_terminated(false);
        // SAFETY: made by the caller and linked nowhere.
        unsafe { item.free(MemoryPart::Nodes) };
        MetaTrieNode::Leaf(leaf)
    }

    /// Gives a leaf's anchor the terminator.
    fn terminate(&mut self, leaf: WormholeLeaf) {
        let len = leaf.anchor().len();
        self.follow(leaf.anchor());
        let (seat, _) = self.seat(len).expect("an anchor without terminator has an entry");
        let item = TrieItem::with_child(self.arena, len, leaf.prev(), None, leaf);
        self.put(&seat, MetaTrieNode::Item(item));
        leaf.set_terminated(true);
    }

    /// Makes `before` the leaf left of all subtrees that begin with `next` and do not contain the leaf of `anchor`.
    fn set_before(&mut self, next: Option<WormholeLeaf>, anchor: &[u8], before: WormholeLeaf) {
        let Some(next) = next else { return };
        let shared = common_len(anchor, next.anchor());
        self.follow(next.anchor());
        for len in shared + 1..=next.anchor().len() {
            if let Some((_, MetaTrieNode::Item(item))) = self.seat(len) {
                item.set_before(Some(before));
            }
        }
    }

    /// From now on lengths mean prefixes of this anchor.
    fn follow(&mut self, anchor: &'a [u8]) {
        self.path.set(self.meta.table().hash, anchor);
    }

    /// The node of the prefix of this length.
    fn seat(&mut self, len: usize) -> Option<(TrieNodeSeat, MetaTrieNode)> {
        if len == 0 {
            return Some((TrieNodeSeat::Root, self.meta.root()));
        }
        let prefix = &self.path.bytes()[..len];
        let place = self.meta.table().find_exactly(self.path.at(len), prefix)?;
        Some((TrieNodeSeat::Entry(place), place.node))
    }

    /// Puts another node in a seat.
    fn put(&self, seat: &TrieNodeSeat, node: MetaTrieNode) {
        match seat {
            // Release: pairs with the load in `root`; the node is initialised.
            TrieNodeSeat::Root => self.meta.root.store(node.untagged(), Ordering::Release),
            TrieNodeSeat::Entry(place) => self.meta.table().replace(*place, node),
        }
    }

    /// Adds a node for the prefix of this length.
    fn add(&mut self, len: usize, node: MetaTrieNode) {
        while !self.meta.table().insert(self.path.at(len), len, node) {
            // There was room, so chance did not do this.
            self.rebuild(1, self.meta.keyed);
        }
    }

    /// Makes a table for all entries and so many more, with this hash.
    fn rebuild(&mut self, more: usize, mut hash: PrefixHash) {
        unsafe fn reclaim(table: *mut PrefixTable, _: &GracePeriod) {
            // SAFETY: made by `Box::into_raw`, and given back once.
            drop(unsafe { Box::from_raw(table) });
        }
        let old = self.meta.table();
        let mut entries = old.len() + more;
        let table = loop {
            let table = PrefixTable::for_entries(self.arena, entries, hash, self.meta.huge);
            let copied = old.nodes().all(|node| {
                let prefix = node.prefix().expect("under the lock, items have leaves");
                table.insert(hash.of(prefix), prefix.len(), node)
            });
            if copied {
                break table;
            }
            if hash.is_keyed() {
                entries = entries * 2 + 8;
            }
            hash = self.meta.keyed;
        };
        old.mark_retired();
        // Release: pairs with the load in `table`; the new one is written. What comes out is the pointer that `Box::into_raw` made: one
        // made of the reference `old` would not be allowed to free the table.
        let old = self.meta.table.swap(Box::into_raw(Box::new(table)), Ordering::Release);
        // SAFETY: not the table any more: who takes a guard from now on does not find it.
        unsafe { self.guard.defer_retire(old, reclaim) };
        // It is large, and counts against the budget: it is not to wait until a batch is full.
        self.guard.flush();
        self.path.set(hash, self.path.bytes());
    }

    fn retire(&self, item: TrieItem) {
        // SAFETY: the caller has put another node in its seat, or none.
        unsafe { item.retire(self.guard) };
    }
}

/// From the root down to a leaf's anchor: the length of each item's prefix, and which child leads on.
fn steps(leaf: WormholeLeaf) -> impl Iterator<Item = (usize, TrieItemChild)> {
    let anchor = leaf.anchor();
    let terminator = leaf.is_terminated().then_some((anchor.len(), None));
    anchor.iter().map(|&byte| Some(byte)).enumerate().chain(terminator)
}
