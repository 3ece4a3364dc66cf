//! The trie of anchors: the table, its root, and the one lock under which they change.
//!
//! ```text
//!   anchors  ""⊥  "Au"  "Jam"  "Jos"          ⊥ the terminator: less than every byte
//!
//!   ""  item {⊥, A, J}      "A"  item {u}     "Au"  leaf
//!   "J" item {a, o}         "Ja" item {m}     "Jam" leaf     "Jo" item {s}     "Jos" leaf
//! ```
//!
//! No anchor is a prefix of another one, so each anchor has its own node. If an anchor would be a
//! prefix of another, it is extended by the terminator. The paper uses a zero byte as the
//! terminator; then a leaf whose keys differ only in trailing zeros cannot be split (section 3.3,
//! "fat nodes"). Ours is a symbol that no key contains, so every leaf can be split. The terminator
//! is ignored when a key is compared with an anchor.
//!
//! # Invariants
//! 1. Links between leaves, and the terminators of anchors, also change under this lock. It is
//!    acquired after the leaves' locks and held until the trie agrees with the links. So a thread
//!    that holds only this lock sees trie and links agree.
//! 2. A thread that holds this lock acquires no leaf's lock.
//! 3. Memory that a change unlinks is retired after the trie no longer leads to it.
//! 4. The last leaf of an item's child is the sample of the child's node. So a change does not
//!    compare a prefix that it reached from above, and takes time linear in the anchor's length.

use std::cell::Cell;
use std::cmp::Reverse;
use std::ptr::null_mut;

use skein_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use skein_sync::mutex::{Mutex, MutexGuard, lock};
use skein_sync::reclaim::{GracePeriod, Guard, PROTECT};

use super::item::{TrieItem, TrieItemChild};
use super::leaf::WormholeLeaf;
use super::search::common_len;
use super::table::{MetaTrieNode, PrefixEntry, PrefixTable};
#[cfg(all(test, not(skein_loom)))]
use super::tests::steps;
use crate::hash::{PrefixHash, PrefixStates};
use crate::memory::{Arena, MemoryPart};

/// The longest prefix that a rebuild hashes by itself. All prefixes of an anchor are longer
/// together than the anchor, by its square.
const SHORT: usize = 256;

/// The trie.
#[derive(Debug)]
pub(super) struct MetaTrie {
    /// The node of the empty prefix, at which every search starts.
    root: AtomicU64,
    table: AtomicPtr<PrefixTable>,
    lock: Mutex<()>,
    /// The hash to use if a user chooses prefixes that collide.
    keyed: PrefixHash,
    huge: bool,
}

impl MetaTrie {
    /// Creates the trie of one leaf whose anchor is empty.
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

    /// Returns the table. Callers hold a guard or the lock.
    #[inline(always)]
    pub(super) fn table(&self) -> &PrefixTable {
        // SAFETY: a table is retired only after another one has replaced it.
        unsafe { &*self.table.load(PROTECT) }
    }

    /// Returns the word of the node of the empty prefix. Callers hold a guard or the lock.
    #[inline(always)]
    pub(super) fn root_word(&self) -> u64 {
        self.root.load(PROTECT)
    }

    /// Returns the node of the empty prefix. Callers hold a guard or the lock.
    #[inline(always)]
    pub(super) fn root(&self) -> MetaTrieNode {
        // SAFETY: the root is never 0, and is retired only after another node has replaced it.
        unsafe { MetaTrieNode::from_word(self.root_word()).unwrap_unchecked() }
    }

    /// Locks the trie.
    pub(super) fn lock<'a, G: Guard>(&'a self, arena: &'a Arena, guard: &'a G) -> MetaTrieWriter<'a, G> {
        let held = lock(&self.lock);
        let path = PrefixStates::empty(self.table().hash);
        MetaTrieWriter { meta: self, arena, guard, path, known: KnownAnchor::NONE, _held: held }
    }

    /// Frees the table and all items.
    ///
    /// # Safety
    /// No other thread can reach the trie, and it is not used again.
    pub(super) unsafe fn free(&mut self) {
        let table = std::mem::replace(&mut self.table, AtomicPtr::new(null_mut())).load(Ordering::Relaxed);
        // SAFETY: made by `Box::into_raw`; the trie gives up the table.
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
    /// The anchor to which the `len` parameters of the methods refer.
    path: PrefixStates<'a>,
    known: KnownAnchor,
    _held: MutexGuard<'a, ()>,
}

/// An anchor that is known to begin with so many bytes of the selected one. Each item on the path
/// tells it of the next one, so a path of n items takes n steps and no comparison of n prefixes.
#[derive(Clone, Copy, Debug)]
struct KnownAnchor {
    /// The address of its bytes, which stay in place while the lock is held.
    bytes: *const u8,
    shared: usize,
}

impl KnownAnchor {
    const NONE: Self = Self { bytes: std::ptr::null(), shared: 0 };
}

/// The position of a node in the trie.
enum NodePosition {
    Root,
    Entry(PrefixEntry),
}

impl<'a, G: Guard> MetaTrieWriter<'a, G> {
    /// Adds the anchor of `new` to the trie. In the list of leaves, `new` now follows `left`, and
    /// `next` follows `new`.
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
        self.select_anchor(anchor);
        for (len, child) in trie_path(new) {
            match self.find_node(len) {
                None => {
                    let item = TrieItem::with_child(self.arena, len, Some(left), child, new);
                    self.add_node(len, MetaTrieNode::Item(item));
                }
                Some((_, MetaTrieNode::Item(item))) if item.has(child) => {
                    if item.last_of(child) == Some(left) {
                        item.set_last_of(child, new);
                    }
                }
                Some((position, MetaTrieNode::Item(item))) => {
                    self.replace_node(&position, MetaTrieNode::Item(item.with(self.arena, child, new)));
                    self.retire(item);
                }
                Some((_, MetaTrieNode::Leaf(_))) => unreachable!("no anchor is a prefix of another one"),
            }
        }
        if !new.is_terminated() {
            self.add_node(anchor.len(), MetaTrieNode::Leaf(new));
        }
        self.set_before(next, anchor, new);
    }

    /// Removes the anchor of `gone` from the trie. In the list of leaves, `gone` followed `left`;
    /// now `next` follows it.
    pub(super) fn remove_anchor(
        &mut self,
        left: WormholeLeaf,
        gone: WormholeLeaf,
        next: Option<WormholeLeaf>,
    ) {
        let anchor = gone.anchor();
        self.select_anchor(anchor);
        if !gone.is_terminated()
            && let Some((NodePosition::Entry(place), _)) = self.find_node(anchor.len())
        {
            self.meta.table().remove(place);
        }
        let mut child_is_gone = true;
        // Downward, so that each item tells of the next one.
        let mut items = Vec::with_capacity(anchor.len() + 1);
        for (len, child) in trie_path(gone) {
            let Some((position, MetaTrieNode::Item(item))) = self.find_node(len) else {
                unreachable!("each prefix of an anchor has an item")
            };
            items.push((position, item, child));
        }
        for (position, item, child) in items.into_iter().rev() {
            if !child_is_gone {
                if item.last_of(child) == Some(gone) {
                    item.set_last_of(child, left);
                }
                continue;
            }
            match item.without(self.arena, child) {
                Some(smaller) => {
                    self.replace_node(&position, Self::collapsed(smaller));
                    child_is_gone = false;
                }
                None => match position {
                    NodePosition::Entry(place) => self.meta.table().remove(place),
                    NodePosition::Root => {
                        unreachable!("the root has the anchor of the first leaf, which is never removed")
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

    /// Returns the node for a new item. If only the terminator is left in the item, that is its
    /// leaf, whose anchor then loses the terminator.
    fn collapsed(item: TrieItem) -> MetaTrieNode {
        if item.children() > 1 || !item.has_terminator() {
            return MetaTrieNode::Item(item);
        }
        let leaf = item.last_of(None).expect("a child has leaves");
        leaf.set_terminated(false);
        // SAFETY: allocated by the caller and not linked.
        unsafe { item.free(MemoryPart::Nodes) };
        MetaTrieNode::Leaf(leaf)
    }

    /// Extends a leaf's anchor by the terminator.
    fn terminate(&mut self, leaf: WormholeLeaf) {
        let len = leaf.anchor().len();
        self.select_anchor(leaf.anchor());
        let (position, _) = self.find_node(len).expect("an anchor without terminator has an entry");
        let item = TrieItem::with_child(self.arena, len, leaf.prev(), None, leaf);
        self.replace_node(&position, MetaTrieNode::Item(item));
        leaf.set_terminated(true);
    }

    /// Sets the leaf to the left of all subtrees that begin with `next` and do not contain the leaf
    /// of `anchor` to `before`.
    fn set_before(&mut self, next: Option<WormholeLeaf>, anchor: &[u8], before: WormholeLeaf) {
        let Some(next) = next else { return };
        let shared = common_len(anchor, next.anchor());
        self.select_anchor(next.anchor());
        for len in shared + 1..=next.anchor().len() {
            if let Some((_, MetaTrieNode::Item(item))) = self.find_node(len) {
                item.set_before(Some(before));
            }
        }
    }

    /// Selects the anchor to which `len` parameters refer from now on.
    fn select_anchor(&mut self, anchor: &'a [u8]) {
        self.path.set(self.meta.table().hash, anchor);
        #[cfg(all(test, not(skein_loom)))]
        steps::count(anchor.len());
        self.known = KnownAnchor::NONE;
    }

    /// Returns the node of the prefix of this length, and its position.
    fn find_node(&mut self, len: usize) -> Option<(NodePosition, MetaTrieNode)> {
        let (position, node) = if len == 0 {
            (NodePosition::Root, self.meta.root())
        } else {
            let known = Cell::new(self.known);
            let (path, hash) = (self.path.bytes(), self.path.at(len));
            let place = self.meta.table().find(hash, |node| {
                node.len() == len
                    && node.sample_anchor().is_some_and(|anchor| shares(path, len, anchor, &known))
            })?;
            (NodePosition::Entry(place), place.node)
        };
        // The last leaf of the child is the sample of the child's node.
        if let (MetaTrieNode::Item(item), Some(&byte)) = (node, self.path.bytes().get(len))
            && item.has(Some(byte))
            && let Some(last) = item.last_of(Some(byte))
        {
            self.known = KnownAnchor { bytes: last.anchor().as_ptr(), shared: len + 1 };
        }
        Some((position, node))
    }

    /// Replaces the node at a position.
    fn replace_node(&self, position: &NodePosition, node: MetaTrieNode) {
        match position {
            // Release: pairs with the load in `root_word`; the node is initialised.
            NodePosition::Root => self.meta.root.store(node.untagged(), Ordering::Release),
            NodePosition::Entry(place) => self.meta.table().replace(*place, node),
        }
    }

    /// Adds a node for the prefix of this length.
    fn add_node(&mut self, len: usize, node: MetaTrieNode) {
        while !self.meta.table().insert(self.path.at(len), len, node) {
            // The table had free entries, so this is not chance: a user chooses colliding prefixes.
            self.rebuild(1, self.meta.keyed);
        }
    }

    /// Replaces the table by one for all entries and `more` others, with this hash.
    fn rebuild(&mut self, more: usize, mut hash: PrefixHash) {
        unsafe fn reclaim(table: *mut PrefixTable, _: &GracePeriod) {
            // SAFETY: made by `Box::into_raw`, and passed back once.
            drop(unsafe { Box::from_raw(table) });
        }
        let old = self.meta.table();
        let mut entries = old.len() + more;
        let table = loop {
            let table = PrefixTable::for_entries(self.arena, entries, hash, self.meta.huge);
            if copy_nodes(old, &table) {
                break table;
            }
            if hash.is_keyed() {
                entries = entries * 2 + 8;
            }
            hash = self.meta.keyed;
        };
        old.mark_retired();
        // Release: pairs with the load in `table`; the new table is written. The swap returns the
        // pointer that `Box::into_raw` made. A pointer derived from the reference `old` would not
        // be allowed to free the table.
        let old = self.meta.table.swap(Box::into_raw(Box::new(table)), Ordering::Release);
        // SAFETY: no longer the table: no guard entered from now on finds it.
        unsafe { self.guard.defer_retire(old, reclaim) };
        // The old table is large and counts against the budget, so it must not wait until a batch
        // is full.
        self.guard.flush();
        self.path.set(hash, self.path.bytes());
    }

    fn retire(&self, item: TrieItem) {
        // SAFETY: the caller has replaced or removed the item at its position.
        unsafe { item.retire(self.guard) };
    }
}

/// Returns whether an anchor begins with the first `len` bytes of `path`, and notes how many they
/// share.
fn shares(path: &[u8], len: usize, anchor: &[u8], known: &Cell<KnownAnchor>) -> bool {
    let bytes = anchor.as_ptr();
    if known.get().bytes != bytes || known.get().shared < len {
        let shared = common_len(path, anchor);
        #[cfg(all(test, not(skein_loom)))]
        steps::count(shared);
        if shared < len {
            return false;
        }
        known.set(KnownAnchor { bytes, shared });
    }
    true
}

/// Copies all nodes into an empty table. Returns false if an entry found no free word.
fn copy_nodes(old: &PrefixTable, table: &PrefixTable) -> bool {
    let hash = table.hash;
    let mut long: Vec<(&[u8], MetaTrieNode)> = Vec::new();
    for node in old.nodes() {
        let prefix = node.prefix().expect("under the lock, items have leaves");
        if prefix.len() > SHORT {
            long.push((prefix, node));
        } else if !table.insert(hash.of(prefix), prefix.len(), node) {
            return false;
        }
    }
    // Prefixes of one anchor have one address. Its states are computed once, from the longest.
    long.sort_unstable_by_key(|(prefix, _)| (prefix.as_ptr().addr(), Reverse(prefix.len())));
    let mut states = PrefixStates::empty(hash);
    long.into_iter().all(|(prefix, node)| {
        if states.bytes().as_ptr() != prefix.as_ptr() {
            states.set(hash, prefix);
            #[cfg(all(test, not(skein_loom)))]
            steps::count(prefix.len());
        }
        table.insert(states.at(prefix.len()), prefix.len(), node)
    })
}

/// Returns the path from the root down to a leaf's anchor: the length of each item's prefix, and
/// the child that leads on.
fn trie_path(leaf: WormholeLeaf) -> impl Iterator<Item = (usize, TrieItemChild)> {
    let anchor = leaf.anchor();
    let terminator = leaf.is_terminated().then_some((anchor.len(), None));
    anchor.iter().map(|&byte| Some(byte)).enumerate().chain(terminator)
}
