//! Checks all invariants of a trie: every node, page and pointer.

use std::collections::{BTreeMap, BTreeSet};

use super::KEY_MOST;
use super::core::{NodeId, TrieCore, children, damaged_record, leaves, node};
use super::node::{PREFIX_MOST, TrieNode};
use super::symbols::SymbolPath;
use super::value::StoredValue;
use super::walk::push_prefix;
use crate::buffer::WalkStop;
use crate::page::PageId;
use crate::record::{PageReader, RecordId, WalkResult, records};

/// The size of a trie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrieCensus {
    /// Keys.
    pub keys: usize,
    /// Nodes, including leaves in the records of their parents.
    pub nodes: usize,
    /// Pages of nodes.
    pub pages: usize,
    /// Pages of long values.
    pub overflow_pages: usize,
    /// Bytes of nodes in their pages.
    pub node_bytes: usize,
    /// The greatest number of pages on a path from the root.
    pub page_depth: usize,
}

/// A node that is still to be checked.
struct UncheckedNode {
    id: NodeId,
    parent: Option<RecordId>,
    /// Symbols before the one that leads to it.
    depth: usize,
    symbol: u8,
    /// Pages on the path to its parent.
    pages: usize,
}

struct TrieCheck<'c> {
    core: &'c TrieCore,
    census: TrieCensus,
    /// The owner of each page, and how many of its nodes were visited.
    pages: BTreeMap<PageId, (Option<RecordId>, usize)>,
    overflow: BTreeSet<PageId>,
    seen: BTreeSet<RecordId>,
}

impl TrieCore {
    /// Checks the whole trie, and calls `claim` once for each of its pages.
    ///
    /// # Errors
    /// The first violation of an invariant, with its page; the errors of `claim`.
    pub(super) fn check(
        &self,
        pages: &mut impl PageReader,
        claim: impl FnMut(PageId) -> WalkResult<()>,
    ) -> WalkResult<TrieCensus> {
        let (census, seen) = (TrieCensus::default(), BTreeSet::new());
        let mut check =
            TrieCheck { core: self, census, pages: BTreeMap::new(), overflow: BTreeSet::new(), seen };
        check.nodes(pages)?;
        check.pages(pages)?;
        check.pages.keys().chain(&check.overflow).copied().try_for_each(claim)?;
        Ok(check.census)
    }
}

impl TrieCheck<'_> {
    fn nodes(&mut self, pages: &mut impl PageReader) -> WalkResult<()> {
        let mut path = SymbolPath::new(self.core.symbols, 0);
        let mut stack =
            vec![UncheckedNode { id: self.core.root.into(), parent: None, depth: 0, symbol: 0, pages: 0 }];
        while let Some(next) = stack.pop() {
            let record = next.id.record;
            if next.id.leaf.is_none() && !self.seen.insert(record) {
                return Err(damaged_record(record, "two pointers lead to it"));
            }
            path.truncate(next.depth);
            if next.parent.is_some() {
                path.push(next.symbol);
            }
            let crossed = self.page_of(&next)?;
            self.census.page_depth = self.census.page_depth.max(crossed);
            let node = node(pages, next.id)?;
            self.shape(&next, &node, &path)?;
            push_prefix(&mut path, record, &node, self.core.symbols.count(KEY_MOST))?;
            let children: Vec<(u8, NodeId)> = leaves(record, &node).chain(children(&node)).collect();
            if next.parent.is_some() && node.value.is_none() && children.is_empty() {
                return Err(damaged_record(record, "it has neither a value nor a child"));
            }
            if let Some(chain) = self.value(&next, &node, &path)? {
                self.overflow(&next, &chain.pages(pages)?)?;
            }
            let of = |(symbol, id)| UncheckedNode {
                id,
                parent: Some(record),
                depth: path.depth(),
                symbol,
                pages: crossed,
            };
            stack.extend(children.into_iter().rev().map(of));
        }
        Ok(())
    }

    /// Checks invariant 1 of `placement.rs`. Returns how many pages lie on the path to the node.
    fn page_of(&mut self, next: &UncheckedNode) -> WalkResult<usize> {
        if next.id.leaf.is_some() {
            return Ok(next.pages);
        }
        let (page, parent) = (next.id.record.page, next.parent);
        if parent.is_some_and(|parent| parent.page == page) {
            self.pages.entry(page).and_modify(|page| page.1 += 1);
            return Ok(next.pages);
        }
        let (owner, count) = self.pages.entry(page).or_insert((parent, 0));
        *count += 1;
        if *owner == parent {
            return Ok(next.pages + 1);
        }
        Err(damaged_record(
            next.id.record,
            format!("its parent is {parent:?}, but its page's owner is {owner:?}"),
        ))
    }

    /// Checks the prefix and the children of a node.
    fn shape(&mut self, next: &UncheckedNode, node: &TrieNode<'_>, path: &SymbolPath) -> WalkResult<()> {
        let fail = |what: &str| Err(damaged_record(next.id.record, what));
        let symbols = self.core.symbols;
        let range = path.depth()..path.depth() + node.symbols;
        if node.prefix.len() > PREFIX_MOST {
            return fail("its prefix is too long");
        }
        if symbols.cut(node.prefix, range.start, range) != node.prefix {
            return fail("its prefix has bits outside of its symbols");
        }
        let leaves: Vec<u8> = node.leaves.iter().map(|leaf| leaf.0).collect();
        let children: Vec<u8> = node.children.iter().map(|child| child.0).collect();
        if !children.is_sorted_by(|a, b| a < b) || !leaves.is_sorted_by(|a, b| a < b) {
            return fail("its children are not in order");
        }
        if leaves.iter().any(|symbol| children.contains(symbol)) {
            return fail("it has two children of one symbol");
        }
        let lasts = [leaves.last(), children.last()];
        if lasts.into_iter().flatten().any(|last| usize::from(*last) >= symbols.range()) {
            return fail("it has a child for a symbol out of range");
        }
        self.census.nodes += 1;
        Ok(())
    }

    fn value(
        &mut self,
        next: &UncheckedNode,
        node: &TrieNode<'_>,
        path: &SymbolPath,
    ) -> WalkResult<Option<super::overflow::OverflowChain>> {
        let Some(value) = node.value else { return Ok(None) };
        if path.key().is_none() {
            return Err(damaged_record(next.id.record, "it has a value, but no key ends there"));
        }
        self.census.keys += 1;
        match value.stored {
            StoredValue::Inline(_) => Ok(None),
            StoredValue::Overflow(chain) => Ok(Some(chain)),
        }
    }

    fn overflow(&mut self, next: &UncheckedNode, chain: &[PageId]) -> WalkResult<()> {
        match chain.iter().find(|page| !self.overflow.insert(**page)) {
            Some(page) => Err(damaged_record(
                next.id.record,
                format!("its value has page {}, which another value has, too", page.0),
            )),
            None => Ok(()),
        }
    }

    fn pages(&mut self, pages: &mut impl PageReader) -> WalkResult<()> {
        for (&page, &(_, seen)) in &self.pages {
            let records = records(pages, page)?;
            records.check().map_err(|what| WalkStop::Damaged(page, what))?;
            if records.len() != seen {
                let count = records.len();
                let what = format!("it has {count} records, but pointers lead to {seen}");
                return Err(WalkStop::Damaged(page, what));
            }
            self.census.node_bytes += records.used();
        }
        self.census.pages = self.pages.len();
        self.census.overflow_pages = self.overflow.len();
        Ok(())
    }
}
