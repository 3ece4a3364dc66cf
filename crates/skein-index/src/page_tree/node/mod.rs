//! Nodes: the inner levels. A node maps a range of keys to its children by up to 63 separators.
//!
//! ```text
//!   head        version, counts, the lengths of the prefix and of its known part
//!   heads       the first eight bytes of each separator behind the prefix, as a number
//!   children    a word each
//!   ends        where each separator ends in the heap
//!   heap        the prefix, then the separators without it
//! ```
//!
//! All keys that reach a node share the *known* bytes, because both separators around the node do.
//! A search compares the rest of the prefix once, and then the next eight bytes of the key with
//! the heads, without branches. Only if a head is equal does it compare strings. Sources: prefix
//! and suffix truncation are of Bayer and Unterauer, "Prefix B-Trees" (1977), the heads of Graefe
//! and Larson, "B-Tree Indexes and CPU Caches" (2001). FB+-tree (VLDB 2025) compares one byte of
//! all separators at a time instead; here that took twice the instructions.
//!
//! `separator.rs` has separators where they lie, `content.rs` what a new node will have, and `build.rs`
//! writes it.
//!
//! # Invariants
//! 1. A node is used only while it is live: it was reached under a guard that is still held, or it
//!    is not shared yet, or the index is borrowed mutably.
//! 2. Nothing in a node changes after it is linked, except its version and the words of its
//!    children. So a node keeps its range of keys for life, and its separators are true for ever. A
//!    split or a merge of children makes a new node.
//! 3. A child's word changes only under the lock of the node, while the node is not deleted. The
//!    new child has the range of the old one.

mod build;
mod content;
mod separator;

use std::cmp::Ordering as KeyOrder;
use std::hint::select_unpredictable;
use std::ptr::NonNull;

use skein_sync::reclaim::{GracePeriod, Guard, PROTECT};
use skein_sync::version::VersionWord;
use std::sync::atomic::{AtomicU64, Ordering};

use super::child::Child;
use crate::memory::{Arena, MemoryPart, address_of, at_address};

pub(in crate::page_tree) use content::{NodeContent, NodeRun};
pub(in crate::page_tree) use separator::Separator;

/// The greatest fanout.
pub(in crate::page_tree) const FANOUT_MAX: usize = 64;

#[repr(C)]
struct NodeHead {
    version: VersionWord,
    size: u32,
    children: u8,
    /// 1 for parents of pages.
    level: u8,
    known: u16,
    prefix_len: u16,
}

const HEAD: usize = size_of::<NodeHead>();
const _: () = assert!(HEAD.is_multiple_of(8));

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::page_tree) struct Node(NonNull<NodeHead>);

/// Returns the number of bytes that two strings share at their start.
pub(in crate::page_tree) fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl Node {
    /// Returns the node at an address.
    ///
    /// # Safety
    /// The address is that of a node, and invariant 1 holds for it.
    #[inline(always)]
    pub(in crate::page_tree) unsafe fn from_address(address: u64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { at_address(address) })
    }

    /// Returns whether the node should move, because its memory is being vacated.
    pub(in crate::page_tree) fn is_vacated(self, arena: &Arena) -> bool {
        arena.is_vacated(self.0.cast(), self.size())
    }

    /// Returns the link to the node.
    pub(in crate::page_tree) fn link(self) -> Child {
        Child::to_node(address_of(self.0), self.size())
    }

    #[inline(always)]
    fn head<'a>(self) -> &'a NodeHead {
        // SAFETY: the node is live (invariant 1), and its head is written when it is made.
        unsafe { self.0.as_ref() }
    }

    /// Returns the address of a byte of the node, which must lie inside it.
    #[inline(always)]
    fn at(self, byte: usize) -> NonNull<u8> {
        // SAFETY: the caller stays inside the node's block.
        unsafe { self.0.cast::<u8>().add(byte) }
    }

    #[inline(always)]
    pub(in crate::page_tree) fn version<'a>(self) -> &'a VersionWord {
        &self.head().version
    }

    /// Returns the number of children.
    #[inline(always)]
    pub(in crate::page_tree) fn children(self) -> usize {
        self.head().children.into()
    }

    #[inline(always)]
    pub(in crate::page_tree) fn level(self) -> u8 {
        self.head().level
    }

    /// Returns the size of the node in bytes.
    pub(in crate::page_tree) fn size(self) -> usize {
        self.head().size as usize
    }

    /// Returns how many bytes all keys share that reach the node.
    pub(in crate::page_tree) fn known(self) -> usize {
        self.head().known.into()
    }

    #[inline(always)]
    fn child_word<'a>(self, at: usize) -> &'a AtomicU64 {
        debug_assert!(at < self.children());
        // SAFETY: inside the node; the node is live.
        unsafe { self.at(children_start(self.children()) + 8 * at).cast().as_ref() }
    }

    /// Returns the link to a child.
    #[inline(always)]
    pub(in crate::page_tree) fn child(self, at: usize) -> Child {
        Child(self.child_word(at).load(PROTECT))
    }

    /// Replaces a child by one of the same range. The caller must hold the node's lock.
    pub(in crate::page_tree) fn set_child(self, at: usize, child: Child) {
        // Release: pairs with the load in `child`; the child is initialised.
        self.child_word(at).store(child.0, Ordering::Release);
    }

    #[inline(always)]
    fn heap(self, from: usize, to: usize) -> &'static [u8] {
        let start = heap_start(self.children());
        // SAFETY: inside the node and initialised; it never changes (invariant 2). Callers use it
        // while the node is live.
        unsafe { NonNull::slice_from_raw_parts(self.at(start + from), to - from).as_ref() }
    }

    /// Returns the bytes that all separators share.
    #[inline(always)]
    fn prefix<'a>(self) -> &'a [u8] {
        self.heap(0, self.head().prefix_len.into())
    }

    /// Returns a separator without the prefix. It is the lower bound of the child behind it.
    #[inline(always)]
    fn rest<'a>(self, at: usize) -> &'a [u8] {
        let (start, end) = self.heap_range(at, at + 1);
        self.heap(start, end)
    }

    /// Returns where the separators lie in the heap, from one position up to another one.
    #[inline(always)]
    fn heap_range(self, from: usize, to: usize) -> (usize, usize) {
        let ends = self.at(ends_start(self.children())).cast::<u32>();
        let end_of = |count: usize| match count {
            0 => self.head().prefix_len.into(),
            // SAFETY: there are `children - 1` ends, and so many separators at least.
            _ => unsafe { ends.add(count - 1).read() as usize },
        };
        (end_of(from), end_of(to))
    }

    /// Returns a separator.
    pub(in crate::page_tree) fn separator<'a>(self, at: usize) -> Separator<'a> {
        Separator::new(self.prefix(), self.rest(at))
    }

    /// Returns the position of the child whose range includes `key`; with `below`, of the child
    /// whose range includes the keys just below `key`. The node's range must include them.
    #[inline(always)]
    pub(in crate::page_tree) fn search(self, key: &[u8], below: bool) -> usize {
        let head = self.head();
        let separators = usize::from(head.children) - 1;
        let (known, prefix) = (usize::from(head.known), usize::from(head.prefix_len));
        if prefix > known {
            let start = &key[known.min(key.len())..prefix.min(key.len())];
            match compare_few(start, &self.prefix()[known..]) {
                KeyOrder::Less => return 0,
                KeyOrder::Greater => return separators,
                KeyOrder::Equal => {}
            }
        }
        let (heads, wanted) = (self.heads(separators), head_of(key, prefix));
        let low = first_at_least(heads, wanted);
        if low < separators && heads[low] == wanted {
            let equal = wanted.checked_add(1).map(|above| first_at_least(&heads[low..], above));
            let high = equal.map_or(separators, |equal| low + equal);
            return self.search_equal(key.get(prefix..).unwrap_or_default(), below, low, high);
        }
        low
    }

    /// Returns the first bytes of all separators.
    #[inline(always)]
    fn heads<'a>(self, separators: usize) -> &'a [u64] {
        // SAFETY: inside the node, aligned and initialised; they never change (invariant 2).
        unsafe { NonNull::slice_from_raw_parts(self.at(HEAD).cast(), separators).as_ref() }
    }

    /// Completes a search among separators that have equal heads.
    fn search_equal(self, rest: &[u8], below: bool, mut low: usize, mut high: usize) -> usize {
        while low < high {
            let middle = low.midpoint(high);
            match self.rest(middle).cmp(rest) {
                KeyOrder::Less => low = middle + 1,
                KeyOrder::Equal if !below => return middle + 1,
                KeyOrder::Equal | KeyOrder::Greater => high = middle,
            }
        }
        low
    }

    /// Frees the node.
    ///
    /// # Safety
    /// No thread can reach the node, and it is counted as `part`.
    pub(in crate::page_tree) unsafe fn free(self, part: MemoryPart) {
        let size = self.size();
        // SAFETY: allocated in `new` with this size; the rest is the caller's promise. Models give
        // the version a drop.
        unsafe {
            self.0.drop_in_place();
            Arena::free(self.0.cast(), size, part);
        }
    }

    /// Frees the node when no thread can see it any more.
    ///
    /// # Safety
    /// The node is unlinked: no guard entered from now on can reach it.
    pub(in crate::page_tree) unsafe fn retire(self, guard: &impl Guard) {
        unsafe fn reclaim(head: *mut NodeHead, _: &GracePeriod) {
            // SAFETY: the collector passes the pointer of `retire`, after the grace period.
            unsafe { Node(NonNull::new_unchecked(head)).free(MemoryPart::Retired) };
        }
        let size = self.size();
        // SAFETY: the node is live and counted as `Nodes`; the caller guarantees that it is
        // unlinked.
        unsafe {
            Arena::recount(self.0.cast(), size, MemoryPart::Nodes, MemoryPart::Retired);
            guard.defer_retire(self.0.as_ptr(), reclaim);
        }
    }
}

/// Returns the eight bytes of a key from a position on, as a number that sorts as they do. Missing
/// bytes count as zeros.
#[inline(always)]
fn head_of(key: &[u8], from: usize) -> u64 {
    let rest = &key[from.min(key.len())..];
    if let Some(head) = rest.first_chunk() {
        return u64::from_be_bytes(*head);
    }
    let missing = u64::BITS - 8 * rest.len() as u32;
    match key.last_chunk() {
        // The bytes before the position are shifted out.
        Some(last) => u64::from_be_bytes(*last).checked_shl(missing).unwrap_or(0),
        None => {
            rest.iter().fold(0, |head, &byte| head << 8 | u64::from(byte)).checked_shl(missing).unwrap_or(0)
        }
    }
}

/// Returns the position of the first of the ascending heads that is at least `wanted`, or else
/// their number.
#[inline(always)]
fn first_at_least(heads: &[u64], wanted: u64) -> usize {
    let (mut start, mut count) = (0, heads.len());
    // SAFETY: `start + count` is at most the number of heads.
    let passed = |at: usize| unsafe { *heads.get_unchecked(at) < wanted };
    while count > 1 {
        let half = count / 2;
        // A processor cannot predict this comparison, so it must not be a branch.
        start = select_unpredictable(passed(start + half - 1), start + half, start);
        count -= half;
    }
    if count == 0 { 0 } else { start + usize::from(passed(start)) }
}

/// Compares a key's bytes with those of a prefix, which are mostly few.
#[inline(always)]
fn compare_few(start: &[u8], prefix: &[u8]) -> KeyOrder {
    if prefix.len() > 16 {
        return start.cmp(prefix);
    }
    for (own, other) in start.iter().zip(prefix) {
        if own != other {
            return own.cmp(other);
        }
    }
    start.len().cmp(&prefix.len())
}

#[inline(always)]
const fn children_start(children: usize) -> usize {
    HEAD + 8 * (children - 1)
}

#[inline(always)]
const fn ends_start(children: usize) -> usize {
    children_start(children) + 8 * children
}

#[inline(always)]
const fn heap_start(children: usize) -> usize {
    ends_start(children) + 4 * (children - 1)
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn node(arena: &Arena, separators: &[Vec<u8>], known: usize) -> Node {
        separators.iter().zip(1..).fold(
            Node::new(arena, &NodeContent::of(NodeRun::New(Child(0))), 1, known),
            |node, (separator, at)| {
                let mut content = NodeContent::of(NodeRun::all(node));
                content.push(Separator::whole(separator), NodeRun::New(Child(8 * at)));
                let new = Node::new(arena, &content, 1, known);
                // SAFETY: exclusively ours.
                unsafe { node.free(MemoryPart::Nodes) };
                new
            },
        )
    }

    fn separators() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let byte = prop_oneof![3 => Just(0_u8), 2 => Just(b'a'), 1 => any::<u8>()];
        let one = (0_usize..20, prop::collection::vec(byte, 1..12));
        let one = one.prop_map(|(prefix, tail)| [&b"a shared prefix of them"[..prefix], &tail].concat());
        prop::collection::btree_set(one, 0..63).prop_map(|set| set.into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 400 }, ..Default::default() })]

        #[test]
        fn a_search_finds_the_child_that_a_sorted_list_says(
            separators in separators(),
            others in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..10), 0..20),
            fence in prop::collection::vec(any::<u8>(), 0..5),
        ) {
            let arena = Arena::new();
            // All separators and keys begin with what the fences share.
            let fenced = |bytes: &Vec<u8>| [&fence[..], bytes].concat();
            let separators: Vec<Vec<u8>> = separators.iter().map(fenced).collect();
            let node = node(&arena, &separators, fence.len());
            let near = separators.iter().flat_map(|key| {
                [key.clone(), key[..key.len() - 1].to_vec(), [key, &[0][..]].concat(), [key, &[255][..]].concat()]
            });
            for key in near.filter(|key| key.len() >= fence.len()).chain(others.iter().map(fenced)) {
                let through = separators.partition_point(|separator| *separator <= key);
                prop_assert_eq!(node.search(&key, false), through, "{:?}", key);
                let below = separators.partition_point(|separator| *separator < key);
                prop_assert_eq!(node.search(&key, true), below, "below {:?}", key);
            }
            for (at, separator) in separators.iter().enumerate() {
                prop_assert_eq!(&node.separator(at).to_vec(), separator);
            }
            // SAFETY: exclusively ours.
            unsafe { node.free(MemoryPart::Nodes) };
            prop_assert_eq!(arena.live(MemoryPart::Nodes), 0);
        }
    }
}
