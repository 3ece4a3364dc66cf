//! Recovers collections after checkpoint and logs are in both indexes: builds the score indexes,
//! and drops the partial collections that a crash left.

use std::collections::HashMap;
use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, Mutex};

use skein_index::ComputeAction;
use skein_sync::locks::{alone, lock, shared};

use super::members::{MemberIndex, score_of, weight};
use super::{Collection, ID, ScoreIndex, SharedCollection};
use crate::index::{StoreIndex, ranges};
use crate::stripes::Stripes;
use crate::{Result, RowRef, ScanDirection};

/// Collections by id.
type CollectionsById = HashMap<u64, Arc<SharedCollection>>;

/// Builds all score indexes, queues members without a collection for the sweeper, and removes main
/// rows without members.
pub(crate) fn rebuild(
    index: &StoreIndex,
    members: &MemberIndex,
    stripes: &Stripes,
    threads: usize,
) -> Result<()> {
    if !members.any() {
        return Ok(());
    }
    let mut found = CollectionsById::new();
    index.scan((Bound::Unbounded, Bound::Unbounded), ScanDirection::Forward, |_, row| {
        found.extend(
            row.shared_collection().map(|collection: Arc<SharedCollection>| (collection.id(), collection)),
        );
        ControlFlow::Continue(())
    });
    let cuts = id_cuts(members, ranges::parts(threads));
    ranges::share(threads, &cuts, |bounds| build_range(members, &found, bounds));
    remove_empty(index, stripes)
}

/// Returns keys between which the members are divided, so that no collection is cut.
fn id_cuts(members: &MemberIndex, parts: usize) -> Vec<Vec<u8>> {
    let mut cuts = members.index.split_points(parts);
    for cut in &mut cuts {
        cut.truncate(ID);
    }
    cuts.dedup();
    cuts
}

/// The members of one collection.
#[derive(Default)]
pub(super) struct GatheredMembers<'f> {
    id: u64,
    /// Their collection. Members without a collection are garbage.
    of: Option<&'f Collection>,
    count: u64,
    /// The sum of their weights.
    weight: usize,
    bytes: Vec<u8>,
    /// Score, start and end of each member.
    entries: Vec<(f64, usize, usize)>,
}

impl<'f> GatheredMembers<'f> {
    fn begin(found: &'f CollectionsById, id: u64) -> Self {
        Self { id, of: found.get(&id).map(|collection| &***collection), ..Self::default() }
    }

    /// Returns the gathered members of a collection, none yet.
    pub(super) fn of(collection: &'f Collection) -> Self {
        Self { id: collection.id(), of: Some(collection), ..Self::default() }
    }

    pub(super) fn add(&mut self, row: RowRef<'_>, member: &[u8]) {
        self.count += 1;
        self.weight += weight(member, row);
        if let Some(kind) = self.of.map(|collection| collection.kind).filter(|kind| kind.has_ranks()) {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(member);
            self.entries.push((score_of(kind, row), start, self.bytes.len()));
        }
    }

    /// Stores the score index or the count in the collection.
    pub(super) fn finish(mut self, members: &MemberIndex) {
        match self.of {
            _ if self.count == 0 => {}
            None => members.discard_members(self.id, self.count, self.weight),
            Some(hash) if !hash.kind.has_ranks() => {
                let mut state = alone(hash.state());
                (state.columns, state.bytes) = (self.count, self.weight);
            }
            Some(set) => {
                // Members are in the order of their bytes, so a stable sort keeps this order for
                // equal scores.
                self.entries.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
                let entries =
                    self.entries.iter().map(|(score, start, end)| (*score, &self.bytes[*start..*end]));
                let score_index = ScoreIndex::of(entries);
                members.account(0, score_index.memory());
                let mut state = alone(set.state());
                (state.score_index, state.bytes) = (score_index, self.weight);
            }
        }
    }
}

fn build_range(members: &MemberIndex, found: &CollectionsById, bounds: (Bound<&[u8]>, Bound<&[u8]>)) {
    let mut gathered = GatheredMembers::default();
    members.index.scan(bounds, ScanDirection::Forward, |key, row| {
        if let Some((id, member)) = key.split_first_chunk() {
            let id = u64::from_be_bytes(*id);
            if id != gathered.id {
                std::mem::replace(&mut gathered, GatheredMembers::begin(found, id)).finish(members);
            }
            gathered.add(row, member);
        }
        ControlFlow::Continue(())
    });
    gathered.finish(members);
}

/// Removes main rows of collections without members. This writes no record: the next recovery finds
/// the same, unless the key was written.
fn remove_empty(index: &StoreIndex, stripes: &Stripes) -> Result<()> {
    let empty = Mutex::new(Vec::new());
    index.scan((Bound::Unbounded, Bound::Unbounded), ScanDirection::Forward, |key, row| {
        if row.collection().is_some_and(|collection: &Collection| shared(collection.state()).len() == 0) {
            lock(&empty).push(key.to_vec());
        }
        ControlFlow::Continue(())
    });
    let guard = index.collector().enter();
    for key in lock(&empty).iter() {
        let remove = |row: Option<RowRef<'_>>| {
            row.map_or(ComputeAction::Keep, |row| {
                stripes.raise_floor(key, row.version());
                ComputeAction::Remove
            })
        };
        index.compute(key, remove, &guard)?;
    }
    Ok(())
}
