//! The first steps of Masstree's figure 8: a concurrent binary tree, with and without huge pages
//! and integer comparison.
//!
//! ```text
//!   node   [left][right][value][head][length][key bytes …]
//! ```
//!
//! The tree is lock-free and unbalanced, as in Masstree's section 6.2. An insert links a new node
//! below the last node of its search path, by compare-and-swap. Values are stored in place. Nodes
//! are never removed. Keys arrive in random order, so the depth is logarithmic.
//!
//! # Invariants
//! 1. A node is linked once, after it is filled. Its key never changes, and it lives as long as the
//!    tree.
//! 2. A node is `HEAD` bytes and its key, allocated from the tree's arena with that size.

use std::cmp::Ordering as Order;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use skein_index::memory::{Arena, MemoryPart};

use super::{IndexAbilities, IndexContender, MASSTREE, RegisteredIndex};
use crate::workload::run::head;

pub static ENTRIES: [RegisteredIndex; 3] = [
    RegisteredIndex::shared::<BinaryTree<false, false>>().as_step_of(MASSTREE, "binary tree"),
    RegisteredIndex::shared::<BinaryTree<true, false>>().as_step_of(MASSTREE, "binary tree + huge pages"),
    RegisteredIndex::shared::<BinaryTree<true, true>>()
        .as_step_of(MASSTREE, "binary tree + huge pages + integers"),
];

/// The fixed part of a node; the key's bytes follow it.
#[repr(C)]
struct BinaryTreeNode {
    left: AtomicPtr<BinaryTreeNode>,
    right: AtomicPtr<BinaryTreeNode>,
    value: AtomicU64,
    /// The first 8 bytes of the key as a number.
    head: u64,
    length: usize,
}

const HEAD: usize = size_of::<BinaryTreeNode>();

/// The tree. `HUGE_PAGES`: its arena asks for huge pages. `BY_INTEGERS`: heads are compared as
/// integers first.
struct BinaryTree<const HUGE_PAGES: bool, const BY_INTEGERS: bool> {
    root: AtomicPtr<BinaryTreeNode>,
    arena: Arena,
}

impl BinaryTreeNode {
    fn new(arena: &Arena, key: &[u8], value: u64) -> *mut Self {
        let node = arena.alloc(HEAD + key.len(), MemoryPart::Nodes).cast::<Self>();
        // SAFETY: no other thread knows the memory; it is aligned to at least 8 bytes, and long
        // enough for the head and the key (invariant 2).
        unsafe {
            node.write(Self {
                left: AtomicPtr::new(null_mut()),
                right: AtomicPtr::new(null_mut()),
                value: AtomicU64::new(value),
                head: head(key),
                length: key.len(),
            });
            std::ptr::copy_nonoverlapping(key.as_ptr(), node.add(1).cast().as_ptr(), key.len());
        }
        node.as_ptr()
    }

    /// Returns a node's key.
    ///
    /// # Safety
    /// `node` must be a node of a tree that outlives `'a`.
    unsafe fn key<'a>(node: *const Self) -> &'a [u8] {
        // SAFETY: the key follows the node, has the length that the node holds, and does not change
        // (invariants 1 and 2).
        unsafe { std::slice::from_raw_parts(node.add(1).cast(), (*node).length) }
    }

    fn child(&self, order: Order) -> &AtomicPtr<Self> {
        if order == Order::Less { &self.left } else { &self.right }
    }
}

impl<const HUGE_PAGES: bool, const BY_INTEGERS: bool> BinaryTree<HUGE_PAGES, BY_INTEGERS> {
    /// Returns the key's node, or the link where a node with this key belongs.
    fn find(&self, key: &[u8]) -> Result<&BinaryTreeNode, &AtomicPtr<BinaryTreeNode>> {
        let wanted = head(key);
        let mut link = &self.root;
        loop {
            // Acquire: pairs with the Release in `insert`, so the node is filled.
            let node = link.load(Ordering::Acquire);
            if node.is_null() {
                return Err(link);
            }
            // SAFETY: a linked node lives as long as the tree (invariant 1).
            let (here, bytes) = unsafe { (&*node, BinaryTreeNode::key(node)) };
            let order =
                if BY_INTEGERS && here.head != wanted { wanted.cmp(&here.head) } else { key.cmp(bytes) };
            if order == Order::Equal {
                return Ok(here);
            }
            link = here.child(order);
        }
    }
}

impl<const HUGE_PAGES: bool, const BY_INTEGERS: bool> IndexContender for BinaryTree<HUGE_PAGES, BY_INTEGERS> {
    const NAME: &'static str = "binary tree";
    const ABOUT: &'static str = "lock-free, unbalanced, keys in the nodes; nodes from our arena";
    const CAN: IndexAbilities = IndexAbilities::NOTHING;
    type Pin<'a> = ();

    fn new(_expected: usize) -> Self {
        let arena = if HUGE_PAGES { Arena::new() } else { Arena::on_small_pages() };
        Self { root: AtomicPtr::new(null_mut()), arena }
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        let mut made: *mut BinaryTreeNode = null_mut();
        loop {
            let link = match self.find(key) {
                Ok(node) => {
                    node.value.store(value, Ordering::Relaxed);
                    break;
                }
                Err(link) => link,
            };
            if made.is_null() {
                made = BinaryTreeNode::new(&self.arena, key, value);
            }
            // Release: pairs with the Acquire in `find`. On failure another thread linked a node
            // here; the search continues below it.
            if link.compare_exchange(null_mut(), made, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
        }
        if let Some(unused) = NonNull::new(made) {
            // SAFETY: the node was allocated in `new` with this size and never linked.
            unsafe { Arena::free(unused.cast(), HEAD + key.len(), MemoryPart::Nodes) };
        }
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        self.find(key).ok().map(|node| node.value.load(Ordering::Relaxed))
    }

    fn own_bytes(&self) -> Vec<(&'static str, usize)> {
        vec![("nodes", self.arena.live(MemoryPart::Nodes))]
    }
}

impl<const HUGE_PAGES: bool, const BY_INTEGERS: bool> Drop for BinaryTree<HUGE_PAGES, BY_INTEGERS> {
    fn drop(&mut self) {
        // SAFETY: the tree is borrowed mutably, so no thread reads its nodes any more; they have no
        // destructors.
        unsafe { self.arena.clone().discard() };
    }
}
