//! Commands that Redis does not have: ordered keys, versions, memory. `ranges` and `neighbours`
//! have keys in order, with their contents (`key_contents`); `versions` has compare-and-swap,
//! `snapshot` snapshots for several requests.

mod key_contents;
mod neighbours;
mod ranges;
mod snapshot;
pub(crate) mod table;
mod versions;

pub(super) use snapshot::snapshot;

use super::{CommandError, Replied, SlicedTask};
use crate::commands::hashes::{ColumnsReply, write_columns};
use crate::commands::keys::kind_name;
use crate::commands::lists::{ElementsReply, write_elements};
use crate::commands::sorted_sets::{MemberFormat, MembersReply, write_members};
use crate::commands::streams::{EntriesReply, write_entries};
use crate::resp::Reply;
use skein_data::RowView;

/// Returns a task that writes the contents of a row in slices, or `None` if the row is short.
pub(crate) fn long_contents(row: RowView) -> Result<Option<Box<dyn SlicedTask>>, CommandError> {
    let format = MemberFormat::of_contents(row);
    if let Some(members) = row.any_set(|set| MembersReply::all(set, format))? {
        return Ok(members.map(Into::into));
    }
    if let Some(elements) = row.list(ElementsReply::all)? {
        return Ok(elements.map(Into::into));
    }
    if let Some(entries) = row.stream(EntriesReply::all)? {
        return Ok(entries.map(Into::into));
    }
    Ok(row.columns(ColumnsReply::all)?.flatten().map(Into::into))
}

/// Begins the details of a row: an array of its type, its expiry time in milliseconds since 1970
/// (-1 for none) and its version. The contents must follow.
pub(crate) fn write_details(row: RowView, reply: &mut Reply) {
    reply.array(4);
    reply.bulk(kind_name(Some(row)).as_bytes());
    reply.int(row.expires_at().map_or(-1, |at| i64::try_from(at).unwrap_or(i64::MAX)));
    versions::write_version(row.version(), reply);
}

/// Writes the contents of a row: its value, its columns as a map, the members of a sorted set as a
/// map to their scores, the members of a set, the elements of a list, or the entries of a stream.
pub(crate) fn write_contents(row: RowView, reply: &mut Reply) -> Replied {
    if let Some(value) = row.value() {
        reply.bulk(value);
        return Ok(());
    }
    let format = MemberFormat::of_contents(row);
    if row.any_set(|set| write_members(set, format, reply))?.is_none()
        && row.list(|list| write_elements(list, reply))?.is_none()
        && row.stream(|stream| write_entries(stream, reply))?.transpose()?.is_none()
        && row.columns(|columns| write_columns(columns, reply))?.is_none()
    {
        reply.map(0);
    }
    Ok(())
}
