//! Moves an element from an end of a list to an end of a list.

use crate::ListEnd;

use super::row_writer::RowWriter;

/// Moves an element; see [`RowWriter::move_element`].
///
/// # Errors
/// As for that method.
pub fn move_element<W: RowWriter + ?Sized>(
    writer: &mut W,
    (from, from_end): (&[u8], ListEnd),
    (to, to_end): (&[u8], ListEnd),
) -> std::result::Result<Option<Vec<u8>>, W::Error> {
    let mut moved = None;
    let is_rotation = from == to;
    writer.change_list::<_, W::Error>(from, false, |list| {
        moved = list.peek(from_end)?;
        if is_rotation && let Some(element) = &moved {
            list.pop(from_end, 1, |_| {})?;
            list.push(to_end, std::iter::once(&element[..]))?;
        }
        Ok(())
    })?;
    let Some(element) = &moved else { return Ok(None) };
    if !is_rotation {
        // First, because only this write may be refused.
        writer.change_list::<_, W::Error>(to, true, |list| {
            Ok(list.push(to_end, std::iter::once(&element[..]))?)
        })?;
        writer.change_list::<_, W::Error>(from, false, |list| Ok(list.pop(from_end, 1, |_| {})?))?;
    }
    Ok(moved)
}
