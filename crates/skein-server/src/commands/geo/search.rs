//! The members that a search finds, in the order of the reply.
//!
//! ```text
//!   members of the cells ─► inside? ─► found: distance, number ─► the first ones are replied
//!                                      with COUNT, the last one is dropped
//! ```
//!
//! A tree keeps the found members in order, so no step takes longer than one insertion. Members at
//! the same distance keep the order in which they were found.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use super::query::{FoundFormat, FoundOrder, GeoQuery};
use super::units::{write_distance, write_position};
use crate::commands::sorted_sets::ScoredMembers;
use crate::redis::geo::{Position, SearchArea, score_as_integer};
use crate::resp::Reply;
use skein_data::{Member, SetReader};

/// Bytes of a found member besides its name, about.
const FOUND_BYTES: usize = 96;

/// The rank of a found member: by its distance, if there is an order, and by its number.
type FoundRank = (u64, u64);

struct FoundMember {
    name: Vec<u8>,
    score: f64,
    /// In meters.
    distance: f64,
}

/// A search and its matches so far.
pub(super) struct MemberSearch {
    area: SearchArea,
    format: FoundFormat,
    order: FoundOrder,
    count: Option<u64>,
    any: bool,
    found: BTreeMap<FoundRank, FoundMember>,
    /// The number of members that were found, also of those that were dropped.
    seen: u64,
    /// Bytes of the found members.
    bytes: usize,
}

impl MemberSearch {
    pub(super) fn new(query: &GeoQuery<'_>, area: SearchArea) -> Self {
        Self {
            area,
            format: query.format,
            order: query.order,
            count: query.count.map(u64::from),
            any: query.any,
            found: BTreeMap::new(),
            seen: 0,
            bytes: 0,
        }
    }

    /// Returns the ranks of the members in each cell, in the order of the search.
    pub(super) fn ranges(&self, set: &SetReader) -> Vec<Range<u64>> {
        let rank = |bound: f64| set.rank_by(|score, _| score < bound);
        let ranges = self.area.cells().into_iter().map(|cell| {
            let scores = cell.scores();
            rank(scores.start)..rank(scores.end)
        });
        ranges.filter(|range| !range.is_empty()).collect()
    }

    /// Looks at a member. Breaks if no later one matters.
    pub(super) fn look(&mut self, score: f64, member: Member<'_>) -> ControlFlow<()> {
        let Some(distance) = self.area.distance(Position::of_score(score)) else {
            return ControlFlow::Continue(());
        };
        let name = member.to_vec();
        self.bytes += name.len() + FOUND_BYTES;
        self.found.insert((self.rank(distance), self.seen), FoundMember { name, score, distance });
        self.seen += 1;
        match self.count {
            Some(count) if self.any && self.seen >= count => return ControlFlow::Break(()),
            Some(count) if self.found.len() as u64 > count => {
                if let Some((_, dropped)) = self.found.pop_last() {
                    self.bytes -= dropped.name.len() + FOUND_BYTES;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// Returns a number that orders the members. Distances are not negative, so their bits have
    /// their order.
    fn rank(&self, distance: f64) -> u64 {
        match self.order {
            FoundOrder::Any => 0,
            FoundOrder::Nearest => distance.to_bits(),
            FoundOrder::Farthest => !distance.to_bits(),
        }
    }

    /// Returns the number of found members that are not written yet.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Returns the bytes of the found members.
    pub(super) fn memory(&self) -> usize {
        self.bytes
    }

    /// Writes the next member. Returns `false` if no member is left.
    pub(super) fn write_next(&mut self, reply: &mut Reply) -> bool {
        let Some((_, found)) = self.found.pop_first() else { return false };
        self.bytes -= found.name.len() + FOUND_BYTES;
        if self.format.len() > 0 {
            reply.array(1 + self.format.len());
        }
        reply.bulk(&found.name);
        if self.format.distance {
            write_distance(found.distance / self.area.unit, reply);
        }
        if self.format.hash {
            reply.int(score_as_integer(found.score));
        }
        if self.format.position {
            write_position(Position::of_score(found.score), reply);
        }
        true
    }

    /// Returns the members with the scores that are stored: their distances, or their own scores.
    pub(super) fn into_stored(self, distances: bool) -> ScoredMembers {
        let unit = self.area.unit;
        let score = |found: &FoundMember| if distances { found.distance / unit } else { found.score };
        self.found.into_values().map(|found| (score(&found), found.name)).collect()
    }
}
