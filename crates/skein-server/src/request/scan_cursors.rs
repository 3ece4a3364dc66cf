//! The cursors of SCAN: numbers for positions among the keys.
//!
//! Clients read a cursor as an unsigned 64-bit number, so it cannot be a key. It is the number of
//! an entry in this table, which all workers share: "continue after this key".
//!
//! - A client may request the same position again, because a reply may be lost. So an entry stays
//!   until the position after it was used.
//! - The table is bounded by count and by bytes. The oldest entry is removed first.
//! - A number that is not in the table is an error. To start over would return keys twice, and to
//!   end the scan would hide keys.
//!
//! Numbers stay below 2^53, because some clients read them as a double. They begin at a random
//! number, so that a number from before a restart is most likely unknown, and not the position of
//! another scan.
//!
//! Design: `docs/design/server.md`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use skein_sync::locks::lock;

/// The most bytes of keys in the table.
const KEY_BYTES_MAX: usize = 64 << 20;

const NUMBER_MASK: u64 = (1 << 53) - 1;

#[derive(Debug)]
struct ScanPosition {
    /// The last key that was returned.
    after: Vec<u8>,
    /// The position before this one.
    previous: u64,
}

#[derive(Debug)]
struct ScanPositions {
    /// By number. Numbers increase, so the first entry is the oldest.
    entries: BTreeMap<u64, ScanPosition>,
    key_bytes: usize,
    next: u64,
}

/// The table of positions.
#[derive(Debug)]
pub(crate) struct ScanCursors {
    table: Mutex<ScanPositions>,
    entries_max: usize,
}

impl ScanCursors {
    /// Creates a table of at most `entries_max` entries. Their numbers follow `seed`.
    pub(crate) fn new(entries_max: usize, seed: u64) -> Self {
        // Numbers increase by one. Half of the space is reserved for that.
        let next = (seed & (NUMBER_MASK >> 1)).max(1);
        let table = ScanPositions { entries: BTreeMap::new(), key_bytes: 0, next };
        Self { table: Mutex::new(table), entries_max }
    }

    fn table(&self) -> MutexGuard<'_, ScanPositions> {
        // A panic cannot leave the table inconsistent: no statement within a change panics.
        lock(&self.table)
    }

    /// Returns the key after which `cursor` continues, or `None` if the cursor is unknown.
    pub(crate) fn resume(&self, cursor: u64) -> Option<Vec<u8>> {
        let mut table = self.table();
        let entry = table.entries.get(&cursor)?;
        let (after, previous) = (entry.after.clone(), entry.previous);
        // The client has received this position, so it does not need the one before any more.
        table.remove(previous);
        Some(after)
    }

    /// Adds a position after `previous` (0 if there is no previous position). Returns its number.
    pub(crate) fn put(&self, after: &[u8], previous: u64) -> u64 {
        let mut table = self.table();
        let number = table.next;
        table.next = (number + 1) & NUMBER_MASK;
        if table.next == 0 {
            table.next = 1;
        }
        table.remove(number);
        table.key_bytes += after.len();
        table.entries.insert(number, ScanPosition { after: after.to_vec(), previous });
        while table.entries.len() > self.entries_max || table.key_bytes > KEY_BYTES_MAX {
            let Some((&oldest, _)) = table.entries.first_key_value() else { break };
            table.remove(oldest);
        }
        number
    }

    /// Returns the number of positions.
    pub(crate) fn len(&self) -> usize {
        self.table().entries.len()
    }
}

impl ScanPositions {
    fn remove(&mut self, number: u64) {
        if let Some(entry) = self.entries.remove(&number) {
            self.key_bytes -= entry.after.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_is_kept_until_the_next_one_is_used() {
        let cursors = ScanCursors::new(100, 7);
        let first = cursors.put(b"a", 0);
        assert_eq!(cursors.resume(first).as_deref(), Some(&b"a"[..]));
        let second = cursors.put(b"b", first);
        assert_eq!(cursors.resume(first).as_deref(), Some(&b"a"[..]), "the reply may have been lost");
        assert_eq!(cursors.resume(second).as_deref(), Some(&b"b"[..]));
        assert_eq!(cursors.resume(first), None);
        assert_eq!(cursors.resume(0), None);
        assert_eq!(cursors.len(), 1);
    }

    #[test]
    fn oldest_position_is_removed_first() {
        let cursors = ScanCursors::new(16, u64::MAX);
        let numbers: Vec<u64> = (0..20u8).map(|i| cursors.put(&[i], 0)).collect();
        assert!(numbers.iter().all(|number| *number < 1 << 53 && *number > 0));
        assert_eq!(cursors.len(), 16);
        assert_eq!(cursors.resume(numbers[3]), None);
        assert_eq!(cursors.resume(numbers[4]).as_deref(), Some(&[4][..]));
    }

    #[test]
    fn bytes_of_positions_are_bounded() {
        let cursors = ScanCursors::new(1 << 20, 1);
        let key = vec![0; 60_000];
        for _ in 0..1500 {
            cursors.put(&key, 0);
        }
        assert!(cursors.len() <= KEY_BYTES_MAX / key.len());
    }
}
