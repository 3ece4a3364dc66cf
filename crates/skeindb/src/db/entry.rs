//! The contents of a key, whatever their kind.

use std::ops::ControlFlow;

use skein_data::{CollectionKind, RowView, ScanDirection};

use crate::Result;

/// The contents of a key. The library writes values; a server writes the other kinds, too.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// One value.
    Value(Vec<u8>),
    /// Columns (a hash of Redis) with their names, in the order of the names.
    Columns(Vec<(Vec<u8>, Vec<u8>)>),
    /// The members of a sorted set with their scores, in the order of the scores.
    SortedSet(Vec<(Vec<u8>, f64)>),
    /// The members of a set, in the order of their bytes.
    Set(Vec<Vec<u8>>),
    /// The elements of a list, from its front.
    List(Vec<Vec<u8>>),
}

impl Entry {
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method has one lifetime too many")]
    pub(super) fn of(row: RowView<'_>) -> Result<Self> {
        if let Some(value) = row.row().value() {
            return Ok(Self::Value(value.to_vec()));
        }
        if let Some(columns) = row.columns(|columns| columns.to_vec())? {
            return Ok(Self::Columns(columns));
        }
        let mut members = Vec::new();
        let scored = row.sorted_set(|set| {
            set.walk(0, ScanDirection::Forward, |score, member| {
                members.push((member.to_vec(), score));
                ControlFlow::Continue(())
            });
        })?;
        if scored.is_some() {
            return Ok(Self::SortedSet(members));
        }
        let mut elements = Vec::new();
        let listed = row.list(|list| {
            list.walk_from(0, |element| {
                elements.push(element.to_vec());
                ControlFlow::Continue(())
            });
        })?;
        if listed.is_some() {
            return Ok(Self::List(elements));
        }
        let mut names = Vec::new();
        row.set_of(CollectionKind::Set, |set| {
            set.members_after(None, |member, _| {
                names.push(member.to_vec());
                ControlFlow::Continue(())
            });
        })?;
        Ok(Self::Set(names))
    }
}
