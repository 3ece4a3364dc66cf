//! Many lookups at once, whose reads of memory overlap.
//!
//! ```text
//!   lane 0   frame ─────► page ─────► slot ─────► node ─────► slot ─────► ...          a turn uses what the one before asked for, and asks
//!   lane 1        frame ─────► page ─────► slot ─────► node ─────► ...                 for what the next one needs
//!   lane 2             frame ─────► page ─────► slot ─────► ...                        a lane whose key is done takes the next key
//! ```
//!
//! A lookup in memory is a chain of reads each of which needs the one before: the frame of a page, the slot of a node, the node. One chain waits for each of
//! them; several in turn wait for the first. So it is with pages that have to be read from the file: a walk tells all that it misses, not only the first.
//!
//! Source: the paper has one key at a time. Masstree, section 4.8, has batches whose reads overlap.

use super::core::{Core, Step, Visit, leaf_of, node_in, value_at};
use super::hash::Hashing;
use super::value::{Stored, Versioned};
use crate::buffer::{Long, Stop, View, Wanted};
use crate::page::Kind;
use crate::record::{Records, Walked, body_of, prefetch_slot, records_of};

/// Lookups under way.
const LANES: usize = 12;
/// Long values that a walk goes on without have so many bytes together, and one value more: what reads them has not said yet how many it takes.
const LONG_AT_ONCE: usize = 16 << 20;

/// What a lookup in a node came to.
pub(super) enum End<'w> {
    /// There is no such key.
    Absent,
    /// The version, and the value as the node has it.
    Found(u64, Stored<'w>),
}

/// What a walk goes on without, so that all of it can be fetched at once.
#[derive(Default)]
pub(super) struct Missing {
    wanted: Vec<Wanted>,
    /// Bytes of the long values among it.
    pub(super) bytes: usize,
}

impl Missing {
    /// Notes what is missing, unless it is too much to be fetched at once.
    ///
    /// # Errors
    /// All that is missing if it is too much; any other stop.
    pub(super) fn or(&mut self, walked: Walked<()>) -> Walked<()> {
        match walked {
            Err(Stop::Missing(wanted)) => {
                self.bytes += wanted.iter().map(bytes_of).sum::<usize>();
                self.wanted.extend(wanted);
                if self.bytes < LONG_AT_ONCE { Ok(()) } else { self.end() }
            }
            walked => walked,
        }
    }

    /// # Errors
    /// What is missing, if anything is.
    pub(super) fn end(&mut self) -> Walked<()> {
        let wanted = std::mem::take(&mut self.wanted);
        if wanted.is_empty() { Ok(()) } else { Err(Stop::Missing(wanted)) }
    }
}

fn bytes_of(wanted: &Wanted) -> usize {
    match wanted {
        Wanted::Page(_) => 0,
        Wanted::Long(Long { len, .. }) => *len as usize,
    }
}

/// A lookup under way.
struct Lane<'k, 'w> {
    /// Which of the keys.
    which: usize,
    path: &'k [u8],
    at: Visit,
    next: Next<'w>,
}

/// What was asked for.
enum Next<'w> {
    /// The frame of the node's page.
    Page,
    /// The page's head, and the node's slot.
    Head(&'w [u8]),
    /// The node's slot.
    Slot(Records<'w>),
    /// The node's record.
    Node(Records<'w>),
}

/// What a turn came to.
enum Turn<'w> {
    Again,
    End(End<'w>),
}

/// Looks up many keys, by their hashes in a hash trie; see [`Core::get_many`].
pub(super) fn look_up<'w>(
    core: &Core,
    hashing: Option<&Hashing>,
    view: &View<'w>,
    keys: &[&[u8]],
    end: impl FnMut(usize, End<'w>) -> Walked<()>,
) -> Walked<()> {
    let Some(hashing) = hashing else { return core.get_many(view, keys.iter().copied(), end) };
    let hashes: Vec<_> = keys.iter().map(|key| hashing.hash(key)).collect();
    core.get_many(view, hashes.iter().map(|hash| &hash[..]), end)
}

impl Core {
    /// Looks up many paths; `end` is given the place of each, and what came of it, in any order.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`Stop::Missing`] has all pages at which a lookup of this walk ended.
    fn get_many<'w, 'k>(
        &self,
        view: &View<'w>,
        paths: impl Iterator<Item = &'k [u8]>,
        mut end: impl FnMut(usize, End<'w>) -> Walked<()>,
    ) -> Walked<()> {
        let begin =
            |(which, path)| Lane { which, path, at: Visit { id: self.root, depth: 0 }, next: Next::Page };
        let mut waiting = paths.enumerate().map(begin);
        let mut lanes: Vec<Lane<'_, 'w>> = waiting.by_ref().take(LANES).collect();
        let mut missing = Missing::default();
        while !lanes.is_empty() {
            let mut at = 0;
            while at < lanes.len() {
                match self.turn(view, &mut lanes[at]) {
                    Ok(Turn::Again) => {
                        at += 1;
                        continue;
                    }
                    Ok(Turn::End(came)) => missing.or(end(lanes[at].which, came))?,
                    Err(stop) => missing.or(Err(stop))?,
                }
                match waiting.next() {
                    Some(lane) => lanes[at] = lane,
                    None => _ = lanes.swap_remove(at),
                }
            }
        }
        missing.end()
    }

    #[inline]
    fn turn<'w>(&self, view: &View<'w>, lane: &mut Lane<'_, 'w>) -> Walked<Turn<'w>> {
        let id = lane.at.id;
        match lane.next {
            Next::Page => {
                let body = body_of(view.page(id.page)?, id.page, Kind::Records)?;
                prefetch_slot(body, id.slot);
                lane.next = Next::Head(body);
            }
            Next::Head(body) => {
                let records = records_of(body, id.page)?;
                records.prefetch(id.slot);
                lane.next = Next::Node(records);
            }
            Next::Slot(records) => {
                records.prefetch(id.slot);
                lane.next = Next::Node(records);
            }
            Next::Node(records) => {
                let node = node_in(&records, id)?;
                match self.step(&node, lane.path, lane.at.depth) {
                    Step::Child(child) => {
                        lane.at = child;
                        lane.next = if child.id.page == id.page {
                            records.prefetch_slot(child.id.slot);
                            Next::Slot(records)
                        } else {
                            view.prefetch(child.id.page);
                            Next::Page
                        };
                    }
                    Step::Leaf(leaf, bytes) => {
                        let node = leaf_of(bytes, id)?;
                        let end = self.end_in(&node, lane.path, leaf.depth);
                        return Ok(Turn::End(end_of(value_at(&node, end))));
                    }
                    Step::End(end) => return Ok(Turn::End(end_of(value_at(&node, end)))),
                }
            }
        }
        Ok(Turn::Again)
    }
}

fn end_of(value: Option<Versioned<'_>>) -> End<'_> {
    value.map_or(End::Absent, |value| End::Found(value.version, value.stored))
}
