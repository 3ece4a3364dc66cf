//! The payload of a key in one piece, for threads that keep no client waiting.

use super::short::answer_row;
use crate::commands::CommandResult;
use crate::commands::task::{LongReply, TaskProgress, TaskSlice};
use crate::notice::key_events::KeyChanges;
use crate::resp::Reply;
use skein_data::{EngineKeys, Ticket};

/// Writes a head, which receives the expiry time of the key, and the payload as a bulk string.
/// Returns `false` if the key is absent; then the head may be written already.
///
/// # Errors
/// The key cannot be read, or its payload would have more than about `most` bytes.
pub(crate) fn write_whole_payload(
    keys: &mut EngineKeys,
    key: &[u8],
    most: usize,
    head: impl FnOnce(Option<u64>, &mut Reply),
    out: &mut Reply,
) -> CommandResult<bool> {
    let mut long = LongReply::Slices(None);
    let mut payload = out.position();
    let is_present = keys.get_with(key, |row| {
        let Some(row) = row? else { return Ok(false) };
        head(row.expires_at(), out);
        payload = out.position();
        answer_row(row, out, &mut long).map(|()| true)
    })?;
    if let LongReply::Slices(Some(mut task)) = long {
        let mut slice = TaskSlice {
            session: keys,
            changes: &mut KeyChanges::default(),
            ticket: Ticket::default(),
            reply_bytes_max: most,
            start: payload,
        };
        while matches!(task.step(&mut slice, out)?, TaskProgress::More) {}
    }
    // A collection that was removed during the call has no payload but null.
    Ok(is_present && !matches!(out.written(payload), NULL | []))
}

/// The reply of DUMP to an absent key.
const NULL: &[u8] = b"$-1\r\n";
