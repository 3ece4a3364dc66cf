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

/// A value, and its version.
pub(crate) type Value = (u64, Vec<u8>);

/// The node of a record.
pub(super) fn node(pages: &mut impl Pages, id: RecordId) -> Walked<Node<'_>> {
    node_in(&records(pages, id.page)?, id)
}

/// The node of a record of a page that is at hand.
#[inline(always)]
fn node_in<'p>(records: &Records<'p>, id: RecordId) -> Walked<Node<'p>> {
    records.get(id.slot).and_then(Node::of).map_err(|what| wrong(id, what))
}

/// What is wrong with a record.
#[cold]
pub(super) fn wrong(id: RecordId, what: impl AsRef<str>) -> Stop {
    Stop::Wrong(id.page, format!("slot {}: {}", id.slot, what.as_ref()))
}

/// Reads a node's value, with its version, which may be [`INVALID`].
pub(super) fn read_value(pages: &mut impl Pages, id: RecordId) -> Walked<Option<Value>> {
    let begun = node(pages, id)?.value.map(Begun::of);
    begun.map(|begun| begun.finish(pages)).transpose()
}

/// A value as far as its node has it.
enum Begun {
    Whole(Value),
    Overflow(u64, Chain),
}

impl Begun {
    fn of(value: Versioned<'_>) -> Self {
        match value.stored {
            Stored::Inline(bytes) => Self::Whole((value.version, bytes.to_vec())),
            Stored::Overflow(chain) => Self::Overflow(value.version, chain),
        }
    }

    fn finish(self, pages: &mut impl Pages) -> Walked<Value> {
        match self {
            Self::Whole(value) => Ok(value),
            Self::Overflow(version, chain) => Ok((version, chain.read(pages)?)),
        }
    }
}

/// The value of a key, unless the last write to it was interrupted.
pub(super) fn valid(value: Value, key: &[u8]) -> Walked<Value> {
    if value.0 == INVALID { Err(DiskError::interrupted(key).into()) } else { Ok(value) }
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

    /// The value of a key, with its version, which may be [`INVALID`].
    pub(super) fn get(&self, pages: &mut impl Pages, key: &[u8]) -> Walked<Option<Value>> {
        let end = |node: &Node<'_>, step| node.value.filter(|_| step == Step::Here).map(Begun::of);
        let begun = self.descend(pages, key, |_| (), end)?;
        begun.map(|begun| begun.finish(pages)).transpose()
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
