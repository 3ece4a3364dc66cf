//! RESTORE of a stream.

use super::restored_value::BAD_FORMAT;
use crate::commands::CommandResult;
use skein_data::EngineWriter;
use skein_rdb::stream::Stream;

/// Replaces the contents of a key by a stream, until `expires`. It is one write.
pub(super) fn restore_stream(
    stream: &Stream,
    writer: &mut EngineWriter,
    key: &[u8],
    expires: Option<u64>,
) -> CommandResult<()> {
    let Stream { entries, position, groups } = stream;
    if position.len != entries.len() as u64 {
        return Err(BAD_FORMAT);
    }
    let sound = |is_sound: bool| if is_sound { Ok(()) } else { Err(BAD_FORMAT) };
    writer.replace_by_stream(key, expires, |made| {
        sound(made.add_entries(entries)?)?;
        sound(made.set_position(position)?)?;
        groups.iter().try_for_each(|group| {
            sound(made.add_group(group)?)?;
            sound(made.add_pending(group, &group.pending)?)
        })
    })
}
