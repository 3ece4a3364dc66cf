//! Moves a member from a set to a set.

use crate::CollectionKind;

use super::change_or_make::check_kind;
use super::row_writer::RowWriter;

/// Moves a member to another set; see [`RowWriter::move_member`].
///
/// # Errors
/// As for that method.
pub fn move_member<W: RowWriter + ?Sized>(
    writer: &mut W,
    kind: CollectionKind,
    from: &[u8],
    to: &[u8],
    member: &[u8],
) -> std::result::Result<bool, W::Error> {
    let is_there = writer.begin_at(from, |row| check_kind(row, kind).map(|()| row.is_some()))??;
    if !is_there {
        return Ok(false);
    }
    writer.begin_at(to, |row| check_kind(row, kind))??;
    // The caller excludes writers, so only an expired set may have been removed.
    let score = writer.change_set_of::<_, W::Error>(kind, from, false, |set| Ok(set.score(member)?))?;
    let Some(score) = score.flatten() else { return Ok(false) };
    if from != to {
        // First, because only this write may be refused.
        writer.change_set_of::<_, W::Error>(kind, to, true, |set| Ok(set.put(member, score)?))?;
        writer.change_set_of::<_, W::Error>(kind, from, false, |set| Ok(set.remove(member)?))?;
    }
    Ok(true)
}
