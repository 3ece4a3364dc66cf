//! Expiry times of a hash's fields, which Redis has since 7.4 and Valkey since 9, and SkeinDB has
//! not. A copy without them would keep fields for ever, so such a hash is rejected.

use skeindb::client::Reply;

use super::CommandPeer;
use crate::exit::Failure;

/// The reason why a hash is rejected, and the way out.
pub const FIELDS_EXPIRE: &str =
    "its fields expire, and SkeinDB has no such times; remove them at the source (HPERSIST)";

/// Fields per step of a scan.
const PIECE: &[u8] = b"1000";
/// The start of the error for a key of another type.
const OTHER_KIND: &str = "WRONGTYPE";
/// A part of the error of a server without expiry times of fields.
const NO_SUCH_COMMAND: &str = "unknown command";

/// Asks one server or cluster whether fields expire, until it says that it has no such times.
#[derive(Debug)]
pub struct FieldTimes {
    exist: bool,
}

impl FieldTimes {
    /// Returns the state before the first question.
    pub fn new() -> Self {
        Self { exist: true }
    }

    /// Returns whether one of these fields of the hash `key` expires.
    ///
    /// # Errors
    /// The user may not ask. So a hash is never copied as if its fields had no times.
    pub fn among(
        &mut self,
        peer: &mut impl CommandPeer,
        key: &[u8],
        fields: &[&[u8]],
    ) -> Result<bool, Failure> {
        if !self.exist || fields.is_empty() {
            return Ok(false);
        }
        let count = fields.len().to_string();
        let mut command = vec![b"HPEXPIRETIME".as_slice(), key, b"FIELDS", count.as_bytes()];
        command.extend(fields);
        match peer.call(&command)? {
            // Negative for a field that does not expire, or was removed.
            Reply::Array(times) => Ok(times.iter().any(|time| matches!(time, Reply::Integer(0..)))),
            Reply::Null => Ok(false),
            Reply::Error(text) if text.contains(NO_SUCH_COMMAND) => {
                self.exist = false;
                Ok(false)
            }
            // Another client replaced it after it was read.
            Reply::Error(text) if text.starts_with(OTHER_KIND) => Ok(false),
            other => peer.checked(other).and_then(|other| Err(peer.unexpected(&other))),
        }
    }

    /// Returns whether a field of the key's value expires, if the value is a hash.
    ///
    /// # Errors
    /// As for [`among`](Self::among).
    pub fn in_hash(&mut self, peer: &mut impl CommandPeer, key: &[u8]) -> Result<bool, Failure> {
        // Most servers have no such times, and say so before anything is scanned.
        self.among(peer, key, &[b""])?;
        let (mut cursor, mut connection) = (b"0".to_vec(), 0);
        while self.exist {
            let page = peer.call(&[b"HSCAN", key, &cursor, b"COUNT", PIECE])?;
            if matches!(&page, Reply::Error(text) if text.starts_with(OTHER_KIND)) {
                return Ok(false);
            }
            if cursor != b"0" && peer.connection() != connection {
                // The key is at another node, which does not know the cursor: restart.
                cursor = b"0".to_vec();
                continue;
            }
            connection = peer.connection();
            let (next, items) = peer.page(page)?;
            if self.among(peer, key, &fields_of(&items))? {
                return Ok(true);
            }
            if next == b"0" {
                break;
            }
            cursor = next;
        }
        Ok(false)
    }
}

/// Returns the fields among the items of HSCAN, which are fields and values in turn.
pub fn fields_of(items: &[Vec<u8>]) -> Vec<&[u8]> {
    items.iter().step_by(2).map(Vec::as_slice).collect()
}
