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

use super::core::{DescentStep, RecordVisit, TrieCore, leaf_of, node_in, value_at};
use super::hash::KeyHashing;
use super::value::{StoredValue, VersionedValue};
use crate::buffer::{LongValueId, PageView, WalkStop, WantedPages};
use crate::page::DiskPageKind;
use crate::record::{PageRecords, WalkResult, body_of, prefetch_slot, records_of};

/// Lookups under way.
const LANES: usize = 12;
/// Long values that a walk goes on without have so many bytes together, and one value more: what reads them has not said yet how many it takes.
const LONG_AT_ONCE: usize = 16 << 20;

/// What a lookup in a node came to.
pub(super) enum LookupEnd<'w> {
    /// There is no such key.
    Absent,
    /// The version, and the value as the node has it.
    Found(u64, StoredValue<'w>),
}

/// What a walk goes on without, so that all of it can be fetched at once.
#[derive(Default)]
pub(super) struct MissingPages {
    wanted: Vec<WantedPages>,
    /// Bytes of the long values among it.
    pub(super) bytes: usize,
}

impl MissingPages {
    /// Notes what is missing, unless it is too much to be fetched at once.
    ///
    /// # Errors
    /// All that is missing if it is too much; any other stop.
    pub(super) fn or(&mut self, walked: WalkResult<()>) -> WalkResult<()> {
        match walked {
            Err(WalkStop::Missing(wanted)) => {
                self.bytes += wanted.iter().map(bytes_of).sum::<usize>();
                self.wanted.extend(wanted);
                if self.bytes < LONG_AT_ONCE { Ok(()) } else { self.end() }
            }
            walked => walked,
        }
    }

    /// # Errors
    /// What is missing, if anything is.
    pub(super) fn end(&mut self) -> WalkResult<()> {
        let wanted = std::mem::take(&mut self.wanted);
        if wanted.is_empty() { Ok(()) } else { Err(WalkStop::Missing(wanted)) }
    }
}

fn bytes_of(wanted: &WantedPages) -> usize {
    match wanted {
        WantedPages::Page(_) => 0,
        WantedPages::Long(LongValueId { len, .. }) => *len as usize,
    }
}

/// A lookup under way.
struct LookupLane<'k, 'w> {
    /// Which of the keys.
    which: usize,
    path: &'k [u8],
    at: RecordVisit,
    next: LookupStage<'w>,
}

/// What was asked for.
enum LookupStage<'w> {
    /// The frame of the node's page.
    Page,
    /// The page's head, and the node's slot.
    Head(&'w [u8]),
    /// The node's slot.
    Slot(PageRecords<'w>),
    /// The node's record.
    Node(PageRecords<'w>),
}

/// What a turn came to.
enum LaneTurn<'w> {
    Again,
    End(LookupEnd<'w>),
}

/// Looks up many keys, by their hashes in a hash trie; see [`Core::get_many`].
pub(super) fn look_up<'w>(
    core: &TrieCore,
    hashing: Option<&KeyHashing>,
    view: &PageView<'w>,
    keys: &[&[u8]],
    end: impl FnMut(usize, LookupEnd<'w>) -> WalkResult<()>,
) -> WalkResult<()> {
    let Some(hashing) = hashing else { return core.get_many(view, keys.iter().copied(), end) };
    let hashes: Vec<_> = keys.iter().map(|key| hashing.hash(key)).collect();
    core.get_many(view, hashes.iter().map(|hash| &hash[..]), end)
}

impl TrieCore {
    /// Looks up many paths; `end` is given the place of each, and what came of it, in any order.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`Stop::Missing`] has all pages at which a lookup of this walk ended.
    fn get_many<'w, 'k>(
        &self,
        view: &PageView<'w>,
        paths: impl Iterator<Item = &'k [u8]>,
        mut end: impl FnMut(usize, LookupEnd<'w>) -> WalkResult<()>,
    ) -> WalkResult<()> {
        let begin = |(which, path)| LookupLane {
            which,
            path,
            at: RecordVisit { id: self.root, depth: 0 },
            next: LookupStage::Page,
        };
        let mut waiting = paths.enumerate().map(begin);
        let mut lanes: Vec<LookupLane<'_, 'w>> = waiting.by_ref().take(LANES).collect();
        let mut missing = MissingPages::default();
        while !lanes.is_empty() {
            let mut at = 0;
            while at < lanes.len() {
                match self.turn(view, &mut lanes[at]) {
                    Ok(LaneTurn::Again) => {
                        at += 1;
                        continue;
                    }
                    Ok(LaneTurn::End(came)) => missing.or(end(lanes[at].which, came))?,
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
    fn turn<'w>(&self, view: &PageView<'w>, lane: &mut LookupLane<'_, 'w>) -> WalkResult<LaneTurn<'w>> {
        let id = lane.at.id;
        match lane.next {
            LookupStage::Page => {
                let body = body_of(view.page(id.page)?, id.page, DiskPageKind::Records)?;
                prefetch_slot(body, id.slot);
                lane.next = LookupStage::Head(body);
            }
            LookupStage::Head(body) => {
                let records = records_of(body, id.page)?;
                records.prefetch(id.slot);
                lane.next = LookupStage::Node(records);
            }
            LookupStage::Slot(records) => {
                records.prefetch(id.slot);
                lane.next = LookupStage::Node(records);
            }
            LookupStage::Node(records) => {
                let node = node_in(&records, id)?;
                match self.step(&node, lane.path, lane.at.depth) {
                    DescentStep::Child(child) => {
                        lane.at = child;
                        lane.next = if child.id.page == id.page {
                            records.prefetch_slot(child.id.slot);
                            LookupStage::Slot(records)
                        } else {
                            view.prefetch(child.id.page);
                            LookupStage::Page
                        };
                    }
                    DescentStep::Leaf(leaf, bytes) => {
                        let node = leaf_of(bytes, id)?;
                        let end = self.end_in_leaf(&node, lane.path, leaf.depth);
                        return Ok(LaneTurn::End(end_of(value_at(&node, end))));
                    }
                    DescentStep::End(end) => return Ok(LaneTurn::End(end_of(value_at(&node, end)))),
                }
            }
        }
        Ok(LaneTurn::Again)
    }
}

fn end_of(value: Option<VersionedValue<'_>>) -> LookupEnd<'_> {
    value.map_or(LookupEnd::Absent, |value| LookupEnd::Found(value.version, value.stored))
}
