//! The algorithms that all tries share: from a path to a value.

use super::content::Content;
use super::node::{INVALID, Layout, Node, Stored, Versioned};
use super::overflow::Chain;
use super::symbols::Symbols;
use crate::buffer::{Stop, Writer};
use crate::page::{Kind, PageId};
use crate::record::{Pages, RecordId, Records, Walked, change, records};
use crate::{DiskError, Result};

/// A trie of paths: how they are cut, how nodes keep their children, and where it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Core {
    pub(super) symbols: Symbols,
    pub(super) layout: Layout,
    pub(super) root: RecordId,
}

/// A node on the way, and how many symbols lead to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Visit {
    pub(super) id: RecordId,
    pub(super) depth: usize,
}

/// Where a key leads from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It ends here.
    Here,
    /// It has so many symbols of the prefix, and goes another way then.
    Inside(usize),
    /// It goes on to a child that is not there.
    NoChild,
    Child(Visit),
}

/// The node of a record.
pub(super) fn node(pages: &mut impl Pages, id: RecordId) -> Walked<Node<'_>> {
    node_in(&records(pages, id.page)?, id)
}

/// The node of a record of a page that is at hand.
#[inline(always)]
pub(super) fn node_in<'p>(records: &Records<'p>, id: RecordId) -> Walked<Node<'p>> {
    records.get(id.slot).and_then(Node::of).map_err(|what| wrong(id, what))
}

/// What is wrong with a record.
#[cold]
pub(super) fn wrong(id: RecordId, what: impl AsRef<str>) -> Stop {
    Stop::Wrong(id.page, format!("slot {}: {}", id.slot, what.as_ref()))
}

/// Appends a node's value, and gives its version, which may be [`INVALID`].
pub(super) fn read_value(pages: &mut impl Pages, id: RecordId, out: &mut Vec<u8>) -> Walked<Option<u64>> {
    let begun = node(pages, id)?.value.map(|value| Begun::of(value, out));
    begun.map(|begun| begun.finish(pages, out)).transpose()
}

/// A value as far as its node has it.
struct Begun {
    version: u64,
    /// What is still to be read.
    rest: Option<Chain>,
}

impl Begun {
    #[inline]
    fn of(value: Versioned<'_>, out: &mut Vec<u8>) -> Self {
        let rest = match value.stored {
            Stored::Inline(bytes) => {
                out.extend_from_slice(bytes);
                None
            }
            Stored::Overflow(chain) => Some(chain),
        };
        Self { version: value.version, rest }
    }

    #[inline]
    fn finish(self, pages: &mut impl Pages, out: &mut Vec<u8>) -> Walked<u64> {
        if let Some(chain) = self.rest {
            chain.read(pages, self.version, out)?;
        }
        Ok(self.version)
    }
}

/// A node's version, which may be [`INVALID`], if it has a value.
pub(super) fn read_version(pages: &mut impl Pages, id: RecordId) -> Walked<Option<u64>> {
    Ok(node(pages, id)?.value.map(|value| value.version))
}

/// The version of a key's value, unless the last write to it was interrupted.
pub(super) fn valid(version: u64, key: &[u8]) -> Walked<u64> {
    if version == INVALID { Err(DiskError::interrupted(key).into()) } else { Ok(version) }
}

impl Core {
    /// A new trie, without keys.
    pub(super) fn create(writer: &mut Writer<'_>, symbols: Symbols, layout: Layout) -> Result<Self> {
        let page = writer.make(Kind::Records)?;
        let slot = insert(writer, page, &Content::default().encode(layout))?;
        Ok(Self { symbols, layout, root: RecordId { page, slot } })
    }

    /// Where a key leads from a node.
    #[inline(always)]
    pub(super) fn step(&self, node: &Node<'_>, key: &[u8], depth: usize) -> Step {
        let common = self.symbols.common(key, depth, node.prefix, node.symbols);
        if common < node.symbols {
            return Step::Inside(common);
        }
        let depth = depth + common;
        if depth == self.symbols.count(key.len()) {
            return Step::Here;
        }
        let child = node.children.get(self.symbols.at(key, depth));
        child.map_or(Step::NoChild, |id| Step::Child(Visit { id, depth: depth + 1 }))
    }

    /// Goes along a key to the node that it leads to, and gives what is made of that. A page is looked up once for all of the way that lies in it.
    #[inline(always)]
    fn descend<T>(
        &self,
        pages: &mut impl Pages,
        key: &[u8],
        mut visit: impl FnMut(Visit),
        end: impl FnOnce(&Node<'_>, Step) -> T,
    ) -> Walked<T> {
        let mut at = Visit { id: self.root, depth: 0 };
        loop {
            let page = at.id.page;
            let records = records(pages, page)?;
            while at.id.page == page {
                visit(at);
                let node = node_in(&records, at.id)?;
                match self.step(&node, key, at.depth) {
                    Step::Child(child) => at = child,
                    step => return Ok(end(&node, step)),
                }
            }
        }
    }

    /// Appends the value of a key, and gives its version, which may be [`INVALID`].
    pub(super) fn get(&self, pages: &mut impl Pages, key: &[u8], out: &mut Vec<u8>) -> Walked<Option<u64>> {
        let end = |node: &Node<'_>, step| {
            node.value.filter(|_| step == Step::Here).map(|value| Begun::of(value, out))
        };
        let begun = self.descend(pages, key, |_| (), end)?;
        begun.map(|begun| begun.finish(pages, out)).transpose()
    }

    /// The version of a key, which may be [`INVALID`].
    pub(super) fn version(&self, pages: &mut impl Pages, key: &[u8]) -> Walked<Option<u64>> {
        let end =
            |node: &Node<'_>, step| node.value.filter(|_| step == Step::Here).map(|value| value.version);
        self.descend(pages, key, |_| (), end)
    }

    /// The nodes along a key, and where the last one leads.
    pub(super) fn find(&self, pages: &mut impl Pages, key: &[u8]) -> Walked<(Vec<Visit>, Step)> {
        let mut trail = Vec::with_capacity(16);
        let step = self.descend(pages, key, |at| trail.push(at), |_, step| step)?;
        Ok((trail, step))
    }
}

/// Adds a record to a page that has room for it.
pub(super) fn insert(writer: &mut Writer<'_>, page: PageId, record: &[u8]) -> Result<u16> {
    let no_room = || format!("there is no room for {} bytes, and there was to be", record.len());
    change(writer, page, |records| records.insert(record)?.ok_or_else(no_room))
}

/// Gives a record other bytes, for which there is room.
pub(super) fn replace(writer: &mut Writer<'_>, id: RecordId, bytes: &[u8]) -> Result<()> {
    let (len, slot) = (bytes.len(), id.slot);
    let no_room = || format!("there is no room for {len} bytes in slot {slot}, and there was to be");
    change(writer, id.page, |records| records.replace(slot, bytes)?.then_some(()).ok_or_else(no_room))
}
