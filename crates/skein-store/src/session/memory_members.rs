//! The collections in memory, as the writes of every engine see them.

use std::sync::Arc;

use skein_model::{EachNamed, EachRanked, FoundMember, Member, MemberWrites, Members, SET_SCORE};

use super::member_writer::MemberWriter;
use crate::collection::{SharedCollection, score_of};
use crate::{Result, ScanDirection};

/// A collection in memory that a writer has found; see [`RowWriter`](crate::RowWriter).
pub type MemoryCollection = Arc<SharedCollection>;

impl Members for MemberWriter<'_> {
    fn len(&self) -> u64 {
        self.state.len()
    }

    fn with_value(&self, name: &[u8], look: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let found = self.look_for_value(name);
        if let Some(row) = found {
            look(row.value().unwrap_or_default());
        }
        Ok(found.is_some())
    }

    fn walk_names(&self, after: Option<&[u8]>, each: EachNamed<'_>) -> Result<()> {
        self.collection.walk_members(after, |name, row| each(name, row.value().unwrap_or_default()));
        Ok(())
    }

    fn rank_by(&self, before: &dyn Fn(f64, Member<'_>) -> bool) -> Result<u64> {
        Ok(self.state.score_index.rank_by(before))
    }

    fn walk_ranks(&self, rank: u64, direction: ScanDirection, each: EachRanked<'_>) -> Result<()> {
        self.state.score_index.walk(rank, direction, each);
        Ok(())
    }
}

impl MemberWrites for MemberWriter<'_> {
    fn find<'m>(&mut self, member: &'m [u8]) -> Result<FoundMember<'m>> {
        let kind = self.kind();
        let found = self.look(member).map(|row| (score_of(kind, row), row.version()));
        let (score, version) = found.unzip();
        Ok(FoundMember::new(member, score, version.unwrap_or_default()))
    }

    fn put_score(&mut self, found: FoundMember<'_>, score: f64) -> Result<()> {
        self.note_score(found.name(), found.score(), Some(score));
        self.select(found.name());
        self.put(self.kind().value_of(&score.to_le_bytes()))?;
        if let Some(before) = found.score() {
            self.state.score_index.remove(before, found.name());
        }
        self.state.score_index.insert(score, found.name());
        Ok(())
    }

    fn remove_score(&mut self, found: FoundMember<'_>) -> Result<()> {
        if let Some(score) = found.score() {
            self.note_score(found.name(), Some(score), None);
            self.select(found.name());
            self.remove(found.version());
            self.state.score_index.remove(score, found.name());
        }
        Ok(())
    }

    fn put_value(&mut self, name: &[u8], value: &[u8]) -> Result<bool> {
        self.note_value(name);
        self.select(name);
        let is_new = self.put(value)?;
        if is_new {
            self.count_put(name);
        }
        Ok(is_new)
    }

    fn remove_value(&mut self, name: &[u8]) -> Result<bool> {
        self.note_value(name);
        let Some(seen) = self.look_again(name) else { return Ok(false) };
        self.remove(seen);
        if self.kind().has_ranks() {
            self.state.score_index.remove(SET_SCORE, name);
        } else {
            self.state.remove_column(name);
        }
        Ok(true)
    }

    fn set_cleared(&mut self, cleared: bool) -> bool {
        std::mem::replace(&mut self.state.cleared, cleared)
    }

    fn elements(&self) -> Option<u64> {
        self.state.elements
    }

    fn note_elements(&mut self, elements: u64) {
        self.state.elements = Some(elements);
    }

    fn expect(&mut self, members: &mut dyn Iterator<Item = &[u8]>) {
        self.fetch(members);
    }

    fn check_sizes(&self, key: &[u8], bytes: usize) -> Result<()> {
        self.core.check_sizes(key, bytes)
    }

    fn admit_growth(&self) -> Result<()> {
        self.over_budget.map_or(Ok(()), |error| Err(error.clone()))
    }
}
