//! A link from a node to its child, or from the index to its root.

use crate::memory::{CACHE_LINE, prefetch_lines, prefetch_read};
use crate::tagged_pointer::TaggedPointer;

use super::node::Node;
use super::page::Page;

const NODE: u64 = 0;
const PAGE: u64 = 1;

/// The address of a node or a page, with its length. So whoever follows the link can prefetch all
/// of its lines at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Child(pub(super) u64);

/// What a link leads to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Node(Node),
    Page(Page),
}

impl Child {
    /// Returns the link to a node of `size` bytes.
    pub(super) fn to_node(address: u64, size: usize) -> Self {
        Self(TaggedPointer::new(lines(size), address, NODE).0)
    }

    /// Returns the link to a page of `size` bytes.
    pub(super) fn to_page(address: u64, size: usize) -> Self {
        Self(TaggedPointer::new(lines(size), address, PAGE).0)
    }

    /// Returns what the link leads to.
    ///
    /// # Safety
    /// The link was loaded from a live node or from the index's root, under a guard that the caller
    /// holds while it uses the target.
    #[inline(always)]
    pub(super) unsafe fn target(self) -> Target {
        let address = TaggedPointer(self.0).address();
        // SAFETY: `to_node` and `to_page` made the word; the rest is the caller's promise.
        unsafe {
            if TaggedPointer(self.0).kind() == PAGE {
                Target::Page(Page::from_address(address))
            } else {
                Target::Node(Node::from_address(address))
            }
        }
    }

    /// Returns whether the link leads to a page.
    #[inline(always)]
    pub(super) fn is_page(self) -> bool {
        TaggedPointer(self.0).kind() == PAGE
    }

    /// Prefetches the lines that a lookup reads first. Of a node: its head, the heads of
    /// separators, and some children. Of a page: head, tags, and where the entries are.
    #[inline(always)]
    pub(super) fn prefetch_target(self) {
        let start = std::ptr::with_exposed_provenance::<u8>(TaggedPointer(self.0).address() as usize);
        prefetch_lines::<4, _>(start);
        if !self.is_page() {
            prefetch_lines::<4, _>(start.wrapping_add(4 * CACHE_LINE));
        }
    }

    /// Prefetches the first `most` lines of the target.
    #[inline(always)]
    pub(super) fn prefetch(self, most: usize) {
        let word = TaggedPointer(self.0);
        let start = std::ptr::with_exposed_provenance::<u8>(word.address() as usize);
        for line in 0..usize::from(word.tag()).min(most) {
            prefetch_read(start.wrapping_add(line * CACHE_LINE));
        }
    }
}

fn lines(size: usize) -> u16 {
    size.div_ceil(CACHE_LINE).try_into().unwrap_or(u16::MAX)
}
