//! Looks up many keys at once, so that their memory accesses overlap.
//!
//! ```text
//!   lane 0   frame ────► page ────► slot ────► node ────► slot ────► ...
//!   lane 1       frame ────► page ────► slot ────► node ────► ...
//!   lane 2           frame ────► page ────► slot ────► ...
//! ```
//!
//! A lookup is a chain of dependent reads: the frame of a page, the slot of a node, the node. A
//! single lookup waits for each of them. Here several lookups take turns: a turn uses the bytes
//! that the lane's last turn has prefetched, and prefetches those for the next. When a lane has
//! finished its key, it takes the next one. Pages that must be loaded from the file are treated
//! alike: the walk reports all missing pages, not only the first. The walk that follows goes on at
//! these pages ([`LookupProgress`]), so each lookup visits each page of its path once.
//!
//! Source: the paper looks up one key at a time. Masstree, section 4.8, has batches with
//! overlapping reads.

use super::core::{DescentStep, RecordVisit, TrieCore, leaf_of, node_in, value_at};
use super::hash::KeyHashing;
use super::value::{StoredValue, VersionedValue};
use crate::buffer::{LongValueId, SharedPages, WalkStop, WantedPages};
use crate::page::DiskPageKind;
use crate::record::{PageRecords, WalkResult, body_of, prefetch_slot, records_of};

/// Lookups in progress.
const LANES: usize = 12;
/// A walk continues without long values until they have this many bytes together; the last one may
/// exceed that. The caller's own limit is checked only after the values are loaded.
const LONG_AT_ONCE: usize = 16 << 20;

/// The result of a lookup in a node.
pub(super) enum LookupEnd<'w> {
    /// There is no such key.
    Absent,
    /// The version, and the value as stored in the node.
    Found(u64, StoredValue<'w>),
}

/// Missing pages and values that a walk continues without, so that all can be loaded at once.
#[derive(Default)]
pub(super) struct MissingPages {
    wanted: Vec<WantedPages>,
    /// Bytes of the long values among them.
    pub(super) bytes: usize,
}

impl MissingPages {
    /// Notes what is missing, if the result is a [`WalkStop::Missing`] within the limit.
    ///
    /// # Errors
    /// All missing items if they exceed the limit, or any other stop.
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

    /// Ends the walk.
    ///
    /// # Errors
    /// All missing items, if there are any.
    pub(super) fn end(&mut self) -> WalkResult<()> {
        let wanted = std::mem::take(&mut self.wanted);
        if wanted.is_empty() { Ok(()) } else { Err(WalkStop::Missing(wanted)) }
    }
}

/// Where the lookups of a walk have arrived: at the first node in the last page of each.
///
/// The next walk goes on there if it sees the same version of all pages
/// ([`SharedPages::moment`]). Positions of an invalid walk are never used: a later walk with the
/// same number is invalid, too.
#[derive(Debug, Default)]
pub(crate) struct LookupProgress {
    moment: u64,
    /// By the index of the key, as far as lookups have left their first page.
    at: Vec<Option<RecordVisit>>,
}

impl LookupProgress {
    /// Begins a walk, and forgets positions in another version of the pages.
    fn begin(&mut self, moment: u64) {
        if self.moment != moment {
            *self = Self { moment, at: Vec::new() };
        }
    }

    /// Returns where a lookup goes on, or `None` if it starts at the root.
    fn of(&self, which: usize) -> Option<RecordVisit> {
        self.at.get(which).copied().flatten()
    }

    /// Notes that a lookup enters another page.
    fn note(&mut self, which: usize, at: RecordVisit) {
        if self.at.len() <= which {
            self.at.resize(which + 1, None);
        }
        self.at[which] = Some(at);
    }
}

fn bytes_of(wanted: &WantedPages) -> usize {
    match wanted {
        WantedPages::Page(_) => 0,
        WantedPages::Long(LongValueId { len, .. }) => *len as usize,
    }
}

/// A lookup in progress.
struct LookupLane<'k, 'w> {
    /// The index of the key.
    which: usize,
    path: &'k [u8],
    at: RecordVisit,
    next: LookupStage<'w>,
}

/// The bytes that were prefetched for the next turn.
enum LookupStage<'w> {
    /// The frame of the node's page.
    Page,
    /// The page's head and the node's slot.
    Head(&'w [u8]),
    /// The node's slot.
    Slot(PageRecords<'w>),
    /// The node's record.
    Node(PageRecords<'w>),
}

/// The result of a turn.
enum LaneTurn<'w> {
    Again,
    End(LookupEnd<'w>),
}

/// Looks up many keys, in a hash trie by their hashes; see [`TrieCore::get_many`].
pub(super) fn look_up<'w>(
    core: &TrieCore,
    hashing: Option<&KeyHashing>,
    view: &'w impl SharedPages,
    keys: &[&[u8]],
    progress: &mut LookupProgress,
    end: impl FnMut(usize, LookupEnd<'w>) -> WalkResult<()>,
) -> WalkResult<()> {
    let Some(hashing) = hashing else { return core.get_many(view, keys.iter().copied(), progress, end) };
    let hashes: Vec<_> = keys.iter().map(|key| hashing.hash(key)).collect();
    core.get_many(view, hashes.iter().map(|hash| &hash[..]), progress, end)
}

impl TrieCore {
    /// Looks up many paths. Calls `end` with the index of each path and its result, in any order.
    /// A repeated walk goes on where `progress` says.
    ///
    /// # Errors
    /// As [`get`](Self::get). [`WalkStop::Missing`] lists all missing pages of all lookups.
    fn get_many<'w, 'k>(
        &self,
        view: &'w impl SharedPages,
        paths: impl Iterator<Item = &'k [u8]>,
        progress: &mut LookupProgress,
        mut end: impl FnMut(usize, LookupEnd<'w>) -> WalkResult<()>,
    ) -> WalkResult<()> {
        progress.begin(view.moment());
        let root = RecordVisit { id: self.root, depth: 0 };
        let begin = |(which, path), progress: &LookupProgress| LookupLane {
            which,
            path,
            at: progress.of(which).unwrap_or(root),
            next: LookupStage::Page,
        };
        let mut waiting = paths.enumerate();
        let first = waiting.by_ref().take(LANES).map(|key| begin(key, progress));
        let mut lanes: Vec<LookupLane<'_, 'w>> = first.collect();
        let mut missing = MissingPages::default();
        while !lanes.is_empty() {
            let mut at = 0;
            while at < lanes.len() {
                match self.turn(view, progress, &mut lanes[at]) {
                    Ok(LaneTurn::Again) => {
                        at += 1;
                        continue;
                    }
                    Ok(LaneTurn::End(result)) => missing.or(end(lanes[at].which, result))?,
                    Err(stop) => missing.or(Err(stop))?,
                }
                match waiting.next() {
                    Some(key) => lanes[at] = begin(key, progress),
                    None => _ = lanes.swap_remove(at),
                }
            }
        }
        missing.end()
    }

    #[inline]
    fn turn<'w>(
        &self,
        view: &'w impl SharedPages,
        progress: &mut LookupProgress,
        lane: &mut LookupLane<'_, 'w>,
    ) -> WalkResult<LaneTurn<'w>> {
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
                            progress.note(lane.which, child);
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
