//! Writes of streams.

use skein_data::StreamPart;
use skein_rdb::payload;
use skein_rdb::stream::{StreamPosition, StreamWriter};
use skeindb::client::Reply;

use crate::exit::Failure;
use crate::remote::peer::CommandPeer;

/// A part of the error for an entry that is not behind the last one.
const NOT_BEHIND: &str = "equal or smaller than the target stream top item";

/// Calls `push` with each command that writes a part: RESTORE, XADD or XSETID.
pub fn stream_commands(key: &[u8], part: &StreamPart, mut push: impl FnMut(&[&[u8]])) {
    match part {
        StreamPart::Groups(groups) => {
            let mut body = Vec::new();
            StreamWriter::default().finish(&mut body, &StreamPosition::default(), groups);
            payload::seal(&mut body);
            push(&[b"RESTORE", key, b"0", &body, b"REPLACE"]);
        }
        StreamPart::Entries(entries) => {
            for entry in entries {
                let id = entry.id.to_string();
                let mut command: Vec<&[u8]> = vec![b"XADD", key, id.as_bytes()];
                command.extend(entry.fields.iter().flat_map(|(name, value)| [name.as_slice(), value]));
                push(&command);
            }
        }
        StreamPart::Position(position) => {
            let (last, deleted) = (position.last_id.to_string(), position.max_deleted_id.to_string());
            let added = position.entries_added.to_string();
            let options: [&[u8]; 4] =
                [b"ENTRIESADDED", added.as_bytes(), b"MAXDELETEDID", deleted.as_bytes()];
            push(&[&[b"XSETID", key, last.as_bytes()], &options[..]].concat());
        }
    }
}

/// Writes a part. Returns the first error of the server, if there is one.
///
/// A cluster's client sends a command again if its connection broke before the reply. A repeated
/// XADD is an error, although the entry is there. So an entry that is there counts as written.
pub fn write_stream_part(
    peer: &mut impl CommandPeer,
    key: &[u8],
    part: &StreamPart,
) -> Result<Option<String>, Failure> {
    let mut commands: Vec<Vec<Vec<u8>>> = Vec::new();
    stream_commands(key, part, |words| commands.push(words.iter().map(|word| word.to_vec()).collect()));
    let replies = peer.pipeline(&commands)?;
    for (command, reply) in commands.iter().zip(replies) {
        let Reply::Error(text) = reply else { continue };
        let is_repeated = peer.repeats() && text.contains(NOT_BEHIND) && command[0] == b"XADD";
        if !is_repeated || !has_entry(peer, key, &command[2])? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

fn has_entry(peer: &mut impl CommandPeer, key: &[u8], id: &[u8]) -> Result<bool, Failure> {
    match peer.call(&[b"XRANGE", key, id, id])? {
        Reply::Array(found) => Ok(!found.is_empty()),
        other => peer.checked(other).map(|_| false),
    }
}
