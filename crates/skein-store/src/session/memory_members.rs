//! The collections in memory, as the writes of every engine see them.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::member_store::{EachNamed, MemberStore, StoredCollection};
use super::member_writer::MemberWriter;
use crate::collection::{Collection, CollectionKind, Member, SET_SCORE, score_of};
use crate::row::RowRef;
use crate::{Result, ScanDirection};

/// A collection in memory that a writer has found; see [`RowWriter`](super::RowWriter).
#[derive(Debug)]
pub struct MemoryCollection(pub(super) Arc<Collection>);

impl StoredCollection for MemoryCollection {
    fn of(row: RowRef<'_>) -> Option<Self> {
        row.shared_collection().map(Self)
    }

    fn kind(&self) -> CollectionKind {
        self.0.kind()
    }
}

impl MemberStore for MemberWriter<'_> {
    fn len(&self) -> u64 {
        self.state.len()
    }

    fn score(&mut self, member: &[u8]) -> Result<Option<f64>> {
        let kind = self.kind();
        let found = self.look(member).map(|row| (score_of(kind, row), row.version()));
        self.seen = found.map(|(_, version)| version);
        Ok(found.map(|(score, _)| score))
    }

    fn put_score(&mut self, member: &[u8], before: Option<f64>, score: f64) -> Result<()> {
        self.note_score(member, before, Some(score));
        self.put(self.kind().value_of(&score.to_le_bytes()))?;
        if let Some(before) = before {
            self.state.score_index.remove(before, member);
        }
        self.state.score_index.insert(score, member);
        Ok(())
    }

    fn remove_score(&mut self, member: &[u8], score: f64) -> Result<()> {
        if let Some(seen) = self.seen {
            self.note_score(member, Some(score), None);
            self.remove(seen);
            self.state.score_index.remove(score, member);
        }
        Ok(())
    }

    fn rank_by(&mut self, before: &dyn Fn(f64, Member<'_>) -> bool) -> Result<u64> {
        Ok(self.state.score_index.rank_by(before))
    }

    fn walk(
        &mut self,
        rank: u64,
        direction: ScanDirection,
        each: &mut dyn FnMut(f64, Member<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.state.score_index.walk(rank, direction, each);
        Ok(())
    }

    fn walk_names(&mut self, each: EachNamed<'_>) -> Result<()> {
        self.collection.walk_members(None, |name, row| each(name, row.value().unwrap_or_default()));
        Ok(())
    }

    fn value(&mut self, name: &[u8]) -> Result<Option<&[u8]>> {
        let found = self.look(name);
        self.seen = found.map(RowRef::version);
        self.is_seen = true;
        Ok(found.and_then(RowRef::value))
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
