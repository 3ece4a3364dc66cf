//! Checks all invariants of a trie in the paper's layout: every node, every pointer, and the free
//! list.

use std::collections::{BTreeMap, BTreeSet};

use super::super::TrieCensus;
use super::super::core::damaged_record;
use super::super::symbols::SymbolPath;
use super::{FixedTrie, KEY_MOST};
use crate::buffer::WalkStop;
use crate::page::PageId;
use crate::record::{PageReader, RecordId, WalkResult};

/// A node that is still to be checked.
struct UncheckedFixedNode {
    id: RecordId,
    /// The number of symbols before the one that leads to it, and this symbol; `None` for the root.
    from: Option<(usize, u8)>,
    /// The page of its parent, and the number of pages on the path to it.
    above: (PageId, usize),
}

struct FixedTrieCheck<'c> {
    trie: &'c FixedTrie,
    census: TrieCensus,
    seen: BTreeSet<RecordId>,
}

impl FixedTrie {
    /// Checks the whole trie, and calls `claim` once for each of its pages.
    pub(in crate::trie) fn check(
        &self,
        pages: &mut impl PageReader,
        claim: impl FnMut(PageId) -> WalkResult<()>,
    ) -> WalkResult<TrieCensus> {
        let mut check = FixedTrieCheck { trie: self, census: TrieCensus::default(), seen: BTreeSet::new() };
        check.nodes(pages)?;
        check.census.nodes = check.seen.len();
        check.census.node_bytes = check.seen.len() * self.form.len();
        check.free(pages)?;
        check.pages(pages, claim)?;
        Ok(check.census)
    }
}

impl FixedTrieCheck<'_> {
    /// Notes a node that a pointer leads to. Errors if it was noted before.
    fn see(&mut self, id: RecordId) -> WalkResult<()> {
        if self.seen.insert(id) { Ok(()) } else { Err(damaged_record(id, "two pointers lead to it")) }
    }

    fn nodes(&mut self, pages: &mut impl PageReader) -> WalkResult<()> {
        let root = self.trie.root;
        let mut path = SymbolPath::new(self.trie.symbols, 0);
        let mut stack = vec![UncheckedFixedNode { id: root, from: None, above: (root.page, 1) }];
        while let Some(next) = stack.pop() {
            path.truncate(next.from.map_or(0, |from| from.0));
            next.from.into_iter().for_each(|from| path.push(from.1));
            let (page, above) = next.above;
            let crossed = above + usize::from(next.id.page != page);
            self.census.page_depth = self.census.page_depth.max(crossed);
            let hashed = self.trie.hashing.as_ref().map(|hashing| self.trie.hashed(hashing));
            if let Some(hashed) = hashed
                && path.depth() == hashed.depth()
            {
                self.keys(pages, next.id, &path)?;
                continue;
            }
            let children = self.node(pages, next.id, &path)?;
            let below = |(symbol, id)| UncheckedFixedNode {
                id,
                from: Some((path.depth(), symbol)),
                above: (next.id.page, crossed),
            };
            stack.extend(children.into_iter().rev().map(below));
        }
        Ok(())
    }

    /// Checks a node with its whole chain. Returns its children.
    fn node(
        &mut self,
        pages: &mut impl PageReader,
        id: RecordId,
        path: &SymbolPath,
    ) -> WalkResult<Vec<(u8, RecordId)>> {
        let fail = |what: &str| Err(damaged_record(id, what));
        for part in self.trie.chain(pages, id)? {
            self.see(part)?;
            if part != id && self.trie.node(pages, part)?.version() != 0 {
                return Err(damaged_record(part, "it continues another node, but has a value"));
            }
        }
        let version = self.trie.node(pages, id)?.version();
        let children = self.trie.children(pages, id)?;
        if !children.is_sorted_by(|a, b| a.0 < b.0) {
            return fail("its children are not in order");
        }
        if children.last().is_some_and(|last| usize::from(last.0) >= self.trie.symbols.range()) {
            return fail("it has a child for a symbol out of range");
        }
        if path.depth() > self.trie.symbols.count(KEY_MOST) {
            return fail("paths that lead here are longer than keys can be");
        }
        self.trie.check_not_empty(pages, id, &children)?;
        if version != 0 {
            if path.key().is_none() || self.trie.hashing.is_some() {
                return fail("it has a value, but no key ends there");
            }
            self.census.keys += 1;
        }
        Ok(children)
    }

    /// Checks the keys of a hash.
    fn keys(&mut self, pages: &mut impl PageReader, first: RecordId, path: &SymbolPath) -> WalkResult<()> {
        let Some(hashing) = &self.trie.hashing else { return Ok(()) };
        let hashed = self.trie.hashed(hashing);
        let mut found = Vec::new();
        hashed.visit(pages, first, |id, _, key, rest| {
            found.push((id, key, rest));
            true
        })?;
        let mut keys = BTreeSet::new();
        for (id, key, rest) in found {
            if !hashed.is_at(&key, path.key()) {
                return Err(damaged_record(id, "its key has another hash"));
            }
            if self.trie.node(pages, id)?.version() == 0 {
                return Err(damaged_record(id, "it has a key and no value"));
            }
            if !keys.insert(key) {
                return Err(damaged_record(id, "another node has its key"));
            }
            self.see(id)?;
            rest.into_iter().try_for_each(|rest| self.see(rest))?;
            self.census.keys += 1;
        }
        Ok(())
    }

    /// Checks the free list.
    fn free(&mut self, pages: &mut impl PageReader) -> WalkResult<()> {
        let mut next = self.trie.state(pages)?.free;
        while let Some(id) = next {
            self.see(id)?;
            next = self.trie.next_free(pages, id)?;
        }
        Ok(())
    }

    /// Checks that all allocated nodes are in use or free.
    fn pages(
        &mut self,
        pages: &mut impl PageReader,
        claim: impl FnMut(PageId) -> WalkResult<()>,
    ) -> WalkResult<()> {
        let state = self.trie.state(pages)?;
        let mut counts: BTreeMap<PageId, usize> = BTreeMap::new();
        for id in &self.seen {
            *counts.entry(id.page).or_default() += 1;
        }
        for (&page, &seen) in &counts {
            let made = if page == state.last { state.made } else { self.trie.capacity(page) };
            if seen != made {
                let what = format!("it has {made} nodes, and {seen} of them are in use or free");
                return Err(WalkStop::Damaged(page, what));
            }
        }
        self.census.pages = counts.len();
        counts.into_keys().try_for_each(claim)
    }
}
