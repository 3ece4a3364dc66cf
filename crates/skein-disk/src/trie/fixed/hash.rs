//! The hash trie in the paper's layout. The path of a hash ends in a list of nodes that store the
//! keys.
//!
//! ```text
//!   hash, 128 bits = path ─► key node ─other─► key node ─other─► none       one for each key
//!                              └more─► rest of the key ─more─► none
//!
//!   key node   │ value 4 │ version 4 │ other 8 │ more 8 │ length 2 │ start of the key │
//!   rest       │ more 8  │ bytes of the key │
//! ```
//!
//! All paths have the same length, so a node at the end of a path has no children, and the space of
//! the child pointers holds the key.
//!
//! # Invariants
//! 1. A key is found by its bytes. Equal hashes prove nothing.
//! 2. A key node has a value. If its key is removed, all its nodes are freed.
//!
//! Source: section 3.3. The paper stores no keys, and takes keys with equal hashes for equal.

use super::super::core::{damaged_record, valid};
use super::super::hash::{HASH, KeyHashing, after};
use super::super::visited_records::VisitedRecords;
use super::super::walk::{GatheredEntries, ScanEntries, ScanRequest};
use super::node::BODY;
use super::{FixedTrie, KEY_MOST, value_of};
use crate::buffer::PageWriter;
use crate::record::{POINTER, PageReader, RecordId, WalkResult};

/// Offsets in a key node.
const OTHER: usize = BODY;
const MORE: usize = OTHER + POINTER;
const LENGTH: usize = MORE + POINTER;
const KEY: usize = LENGTH + 2;

/// A trie with its hash function.
#[derive(Clone, Copy)]
pub(super) struct FixedHashTrie<'t> {
    trie: &'t FixedTrie,
    hashing: &'t KeyHashing,
}

impl FixedTrie {
    pub(super) fn hashed<'t>(&'t self, hashing: &'t KeyHashing) -> FixedHashTrie<'t> {
        FixedHashTrie { trie: self, hashing }
    }
}

/// The fields of a key node.
struct KeyNode {
    other: Option<RecordId>,
    more: Option<RecordId>,
    len: usize,
    begin: Vec<u8>,
}

/// A key that was found.
struct FoundKey {
    id: RecordId,
    /// The previous key node; `None` for the first of its hash.
    before: Option<RecordId>,
    /// The nodes with the rest of the key.
    rest: Vec<RecordId>,
}

fn pointer(bytes: &[u8]) -> Option<RecordId> {
    Some(RecordId::of(bytes)).filter(|id| *id != RecordId::NONE)
}

fn set_pointer(node: &mut [u8], at: usize, to: Option<RecordId>) {
    node[at..at + POINTER].copy_from_slice(&to.unwrap_or(RecordId::NONE).bytes());
}

impl FixedHashTrie<'_> {
    fn key_node(self, pages: &mut impl PageReader, id: RecordId) -> WalkResult<KeyNode> {
        let node = self.trie.node(pages, id)?.0;
        let len = usize::from(u16::from_le_bytes([node[LENGTH], node[LENGTH + 1]]));
        if len > KEY_MOST {
            return Err(damaged_record(id, format!("its key has {len} bytes, and the limit is {KEY_MOST}")));
        }
        let begin = node[KEY..node.len().min(KEY + len)].to_vec();
        Ok(KeyNode { other: pointer(&node[OTHER..]), more: pointer(&node[MORE..]), len, begin })
    }

    /// Returns the key of a key node, and the nodes with its rest.
    pub(super) fn key(
        self,
        pages: &mut impl PageReader,
        id: RecordId,
    ) -> WalkResult<(Vec<u8>, Vec<RecordId>)> {
        let KeyNode { begin: mut key, mut more, len, .. } = self.key_node(pages, id)?;
        let mut nodes = Vec::new();
        while key.len() < len {
            let Some(next) = more else { return Err(damaged_record(id, "its key is cut off")) };
            nodes.push(next);
            let node = self.trie.node(pages, next)?.0;
            more = pointer(node);
            let piece = (len - key.len()).min(node.len() - POINTER);
            key.extend(&node[POINTER..POINTER + piece]);
        }
        Ok((key, nodes))
    }

    /// Calls `wants_more` with each key node from one onwards, and with the previous one, until it
    /// returns false. Nodes that form a ring are noticed (Brent: it remembers the node at each
    /// power of two).
    pub(super) fn visit(
        self,
        pages: &mut impl PageReader,
        first: RecordId,
        mut wants_more: impl FnMut(RecordId, Option<RecordId>, Vec<u8>, Vec<RecordId>) -> bool,
    ) -> WalkResult<()> {
        let (mut before, mut remembered, mut count) = (None, None, 0_usize);
        let mut at = Some(first);
        while let Some(id) = at {
            if remembered == at {
                return Err(damaged_record(id, "the nodes of a hash form a ring at it"));
            }
            count += 1;
            if count.is_power_of_two() {
                remembered = at;
            }
            let (key, rest) = self.key(pages, id)?;
            if !wants_more(id, before, key, rest) {
                return Ok(());
            }
            (before, at) = (at, self.key_node(pages, id)?.other);
        }
        Ok(())
    }

    /// Searches a key among those of its hash.
    fn find(self, pages: &mut impl PageReader, first: RecordId, key: &[u8]) -> WalkResult<Option<FoundKey>> {
        let mut found = None;
        self.visit(pages, first, |id, before, its, rest| {
            if its == key {
                found = Some(FoundKey { id, before, rest });
            }
            found.is_none()
        })?;
        Ok(found)
    }

    /// Returns the node of a key.
    pub(super) fn get(self, pages: &mut impl PageReader, key: &[u8]) -> WalkResult<Option<RecordId>> {
        let Some(first) = self.trie.end_of(pages, &self.hashing.hash(key))? else { return Ok(None) };
        Ok(self.find(pages, first, key)?.map(|found| found.id))
    }

    pub(super) fn set(
        self,
        writer: &mut PageWriter<'_>,
        key: &[u8],
        version: u32,
        value: i32,
    ) -> WalkResult<bool> {
        let (trie, hash) = (self.trie, self.hashing.hash(key));
        let trail = trie.trail(writer, &hash)?;
        let first = trie.is_whole(&trail, &hash).then(|| trail[trail.len() - 1]);
        if let Some(first) = first
            && let Some(FoundKey { id, .. }) = self.find(writer, first, key)?
        {
            return trie.put(writer, id, version, value);
        }
        let id = self.make(writer, key)?;
        let is_new = trie.put(writer, id, version, value)?;
        match first {
            None => trie.lead_to(writer, &trail, &hash, id)?,
            Some(first) => {
                let second = self.key_node(writer, first)?.other;
                set_pointer(trie.node_mut(writer, id)?, OTHER, second);
                set_pointer(trie.node_mut(writer, first)?, OTHER, Some(id));
            }
        }
        Ok(is_new)
    }

    /// Allocates the nodes of a key, without a pointer to them.
    fn make(self, writer: &mut PageWriter<'_>, key: &[u8]) -> WalkResult<RecordId> {
        let len = self.trie.form.len();
        let (begin, rest) = key.split_at(key.len().min(len - KEY));
        let id = self.trie.make_node(writer)?;
        let mut more = None;
        for piece in rest.chunks(len - POINTER).rev() {
            let next = self.trie.make_node(writer)?;
            let node = self.trie.node_mut(writer, next)?;
            node.fill(0);
            set_pointer(node, 0, more);
            node[POINTER..POINTER + piece.len()].copy_from_slice(piece);
            more = Some(next);
        }
        let node = self.trie.node_mut(writer, id)?;
        node.fill(0);
        set_pointer(node, OTHER, None);
        set_pointer(node, MORE, more);
        node[LENGTH..KEY].copy_from_slice(&(key.len() as u16).to_le_bytes());
        node[KEY..KEY + begin.len()].copy_from_slice(begin);
        Ok(id)
    }

    pub(super) fn remove(self, writer: &mut PageWriter<'_>, key: &[u8]) -> WalkResult<bool> {
        let (trie, hash) = (self.trie, self.hashing.hash(key));
        let trail = trie.trail(writer, &hash)?;
        if !trie.is_whole(&trail, &hash) {
            return Ok(false);
        }
        let Some(FoundKey { id, before, rest }) = self.find(writer, trail[trail.len() - 1], key)? else {
            return Ok(false);
        };
        let other = self.key_node(writer, id)?.other;
        let depth = trail.len() - 1;
        if let Some(before) = before {
            set_pointer(trie.node_mut(writer, before)?, OTHER, other);
        } else {
            trie.set_child(writer, trail[depth - 1], trie.symbols.at(&hash, depth - 1), other)?;
        }
        for id in rest.into_iter().chain([id]) {
            trie.free_node(writer, id)?;
        }
        trie.prune(writer, &trail[..depth], &hash)?;
        Ok(true)
    }

    /// Returns the keys of a range in the order of their hashes, with their values and versions.
    /// Keys with the same hash are returned together.
    pub(super) fn collect(
        self,
        pages: &mut impl PageReader,
        request: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        let edge = after(request)?.map(|key| self.hashing.hash(key));
        let mut gathered = GatheredEntries::default();
        // A node, its depth, and whether it lies on the path to the start of the range.
        let mut stack = vec![(self.trie.root, 0, edge.is_some())];
        let mut visited = VisitedRecords::default();
        while let Some((id, depth, is_edge)) = stack.pop() {
            visited.note(id)?;
            if depth < self.depth() {
                let least = edge.filter(|_| is_edge).map_or(0, |hash| self.trie.symbols.at(&hash, depth));
                let children = self.trie.children(pages, id)?;
                self.trie.check_not_empty(pages, id, &children)?;
                let children = children.into_iter().rev().filter(|child| child.0 >= least);
                stack.extend(children.map(|child| (child.1, depth + 1, is_edge && child.0 == least)));
            } else if !is_edge {
                if !gathered.takes(request, &[]) {
                    break;
                }
                self.gather(pages, id, request, &mut gathered)?;
            }
        }
        Ok(gathered.found)
    }

    /// Collects the keys of one hash, with their values and versions.
    fn gather(
        self,
        pages: &mut impl PageReader,
        first: RecordId,
        request: &ScanRequest<'_>,
        gathered: &mut GatheredEntries,
    ) -> WalkResult<()> {
        let mut keys = Vec::new();
        self.visit(pages, first, |id, _, key, _| {
            keys.push((id, key));
            true
        })?;
        for (id, key) in keys {
            let found = value_of(self.trie.node(pages, id)?);
            let (version, number) = found.ok_or_else(|| damaged_record(id, "it has a key and no value"))?;
            let value = if request.values { number.to_string().into_bytes() } else { Vec::new() };
            gathered.push(&key, valid(version, &key)?, value);
        }
        Ok(())
    }

    /// Returns the number of symbols of every path.
    pub(super) fn depth(self) -> usize {
        self.trie.symbols.count(HASH)
    }

    /// Returns whether a key is at the end of its path.
    pub(super) fn is_at(self, key: &[u8], path: Option<&[u8]>) -> bool {
        path == Some(&self.hashing.hash(key)[..])
    }
}
