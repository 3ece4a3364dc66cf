//! Writing a new node.

use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use skein_sync::version::{Version, VersionWord};

use super::content::{NodeContent, NodeRun};
use super::{HEAD, Node, NodeHead, Separator, children_start, ends_start, head_of, heap_start};
use crate::memory::{Arena, CACHE_LINE, MemoryPart, copy_short};
use crate::page_tree::child::Child;

/// A node whose head is written, with the children and separators that it has by now.
struct NodeBuilder {
    node: Node,
    prefix_len: usize,
    children: usize,
    separators: usize,
    /// The bytes in the heap.
    heap_len: usize,
}

impl Node {
    /// Allocates a node. All keys that reach it share `known` bytes.
    pub(in crate::page_tree) fn new(
        arena: &Arena,
        content: &NodeContent<'_>,
        level: u8,
        known: usize,
    ) -> Self {
        let children = content.children();
        let separators = children - 1;
        // Without separators, nothing is compared.
        let prefix_len = match separators {
            0 => 0,
            _ => content.separator_before(1).shared(content.separator_before(separators)),
        };
        debug_assert!(separators == 0 || prefix_len >= known, "separators share what the range does");
        let bytes: usize = content.runs().map(|(separator, run)| bytes_of(separator, run)).sum();
        let heap = bytes + prefix_len - separators * prefix_len;
        let size = Arena::rounded((heap_start(children) + heap).next_multiple_of(CACHE_LINE));
        let block = arena.alloc(size, MemoryPart::Nodes).cast::<NodeHead>();
        block.as_ptr().expose_provenance();
        let head = NodeHead {
            version: VersionWord::new(Version::INTERIOR),
            size: size as u32,
            children: children as u8,
            level,
            known: known as u16,
            prefix_len: prefix_len as u16,
        };
        let node = Self(block);
        // SAFETY: the block has `size` bytes and is exclusively ours; the parts lie inside it, as
        // `heap_start` and `size` count them.
        unsafe {
            block.write(head);
            let mut builder = NodeBuilder { node, prefix_len, children: 0, separators: 0, heap_len: 0 };
            if separators > 0 {
                builder.push_bytes(content.separator_before(1), 0, prefix_len);
            }
            for (separator, run) in content.runs() {
                if let Some(separator) = separator {
                    builder.push_separator(separator);
                }
                builder.push_run(run);
            }
        }
        node
    }
}

/// The bytes of all separators of a run, and of the one before it.
fn bytes_of(separator: Option<Separator<'_>>, run: NodeRun) -> usize {
    let within = match run {
        NodeRun::Old(node, from, to) => {
            let (start, end) = node.heap_range(from, to - 1);
            end - start + (to - 1 - from) * node.prefix().len()
        }
        NodeRun::New(_) => 0,
    };
    within + separator.map_or(0, Separator::len)
}

/// # Safety
/// Of all functions: the node is exclusively ours, and its block has room for what is pushed.
impl NodeBuilder {
    unsafe fn push_child(&mut self, child: Child) {
        let words = self.node.at(children_start(self.node.children())).cast::<AtomicU64>();
        // SAFETY: the caller's promise.
        unsafe { words.add(self.children).write(AtomicU64::new(child.0)) };
        self.children += 1;
    }

    /// Appends bytes of a separator to the heap.
    unsafe fn push_bytes(&mut self, separator: Separator<'_>, from: usize, to: usize) {
        let heap = self.node.at(heap_start(self.node.children()));
        for part in separator.part(from, to) {
            // SAFETY: the caller's promise.
            unsafe { copy_short(NonNull::from(part).cast(), heap.add(self.heap_len), part.len()) };
            self.heap_len += part.len();
        }
    }

    unsafe fn push_separator(&mut self, separator: Separator<'_>) {
        let children = self.node.children();
        let (start, at) = (self.heap_len, self.separators);
        // SAFETY: the caller's promise; the heap is written up to its length.
        unsafe {
            self.push_bytes(separator, self.prefix_len, separator.len());
            self.node.at(ends_start(children)).cast::<u32>().add(at).write(self.heap_len as u32);
            let heap = NonNull::slice_from_raw_parts(self.node.at(heap_start(children)), self.heap_len);
            self.node.at(HEAD).cast::<u64>().add(at).write(head_of(heap.as_ref(), start));
        }
        self.separators += 1;
    }

    unsafe fn push_run(&mut self, run: NodeRun) {
        // SAFETY: the caller's promise.
        unsafe {
            match run {
                NodeRun::New(child) => self.push_child(child),
                NodeRun::Old(node, from, to) if node.prefix().len() == self.prefix_len => {
                    self.copy_separators(node, from, to - 1);
                    (from..to).for_each(|at| self.push_child(node.child(at)));
                }
                NodeRun::Old(node, from, to) => {
                    (from..to - 1).for_each(|at| self.push_separator(node.separator(at)));
                    (from..to).for_each(|at| self.push_child(node.child(at)));
                }
            }
        }
    }

    /// Copies the separators of a node with the same prefix, from one position up to another one.
    unsafe fn copy_separators(&mut self, from_node: Node, from: usize, to: usize) {
        let (old, new) = (from_node.children(), self.node.children());
        let (start, end) = from_node.heap_range(from, to);
        // SAFETY: the caller's promise; the positions are those of separators of the old node, which
        // never change (invariant 2).
        unsafe {
            let heads = from_node.at(HEAD + 8 * from);
            heads.copy_to_nonoverlapping(self.node.at(HEAD + 8 * self.separators), 8 * (to - from));
            let heap = from_node.at(heap_start(old) + start);
            heap.copy_to_nonoverlapping(self.node.at(heap_start(new) + self.heap_len), end - start);
            let old_ends = from_node.at(ends_start(old)).cast::<u32>().add(from);
            let new_ends = self.node.at(ends_start(new)).cast::<u32>().add(self.separators);
            let moved = (self.heap_len as u32).wrapping_sub(start as u32);
            for at in 0..to - from {
                new_ends.add(at).write(old_ends.add(at).read().wrapping_add(moved));
            }
        }
        self.separators += to - from;
        self.heap_len += end - start;
    }
}
