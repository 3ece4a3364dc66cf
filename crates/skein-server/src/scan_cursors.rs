//! The positions of SCAN, by number.
//!
//! Clients take a cursor for an unsigned 64-bit number, so it cannot be a key. It names an entry of this
//! table, which all workers share: "go on after this key". A client may ask for the same position again (its
//! reply may have been lost), so an entry lives until the position that followed it has been used; and the
//! table is bounded by count and by bytes, the oldest entry going first. A number that is not in the table is
//! an error: starting over would give keys twice, and stopping would hide keys.
//!
//! Numbers stay below 2^53, because some clients read them into a double, and begin anywhere, so that a number from
//! before a restart is most likely unknown and not another scan's.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use skein_sync::locks::lock;

/// Bytes of keys in the table, over all entries.
const KEY_BYTES_MAX: usize = 64 << 20;

const NUMBER_MASK: u64 = (1 << 53) - 1;

#[derive(Debug)]
struct ScanPosition {
    /// The last key that was given out.
    after: Vec<u8>,
    /// The position that this one followed.
    previous: u64,
}

#[derive(Debug)]
struct ScanPositions {
    /// By number, which rise, so the first is the oldest.
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
    /// A table of at most so many entries, whose numbers follow `seed`.
    pub(crate) fn new(entries_max: usize, seed: u64) -> Self {
        // Numbers rise by one; half of the space is kept for that.
        let next = (seed & (NUMBER_MASK >> 1)).max(1);
        let table = ScanPositions { entries: BTreeMap::new(), key_bytes: 0, next };
        Self { table: Mutex::new(table), entries_max }
    }

    fn table(&self) -> MutexGuard<'_, ScanPositions> {
        // The table is whole between any two statements that can panic: there are none.
        lock(&self.table)
    }

    /// The key after which `cursor` goes on; `None` if it is unknown.
    pub(crate) fn resume(&self, cursor: u64) -> Option<Vec<u8>> {
        let mut table = self.table();
        let entry = table.entries.get(&cursor)?;
        let (after, previous) = (entry.after.clone(), entry.previous);
        // The client has this position, so it has no more use for the one before.
        table.remove(previous);
        Some(after)
    }

    /// A new position, which follows `previous` (0 for none).
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

    /// How many positions are kept.
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
    fn a_position_can_be_asked_for_again_until_the_next_was_used() {
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
    fn the_oldest_goes_first() {
        let cursors = ScanCursors::new(16, u64::MAX);
        let numbers: Vec<u64> = (0..20u8).map(|i| cursors.put(&[i], 0)).collect();
        assert!(numbers.iter().all(|number| *number < 1 << 53 && *number > 0));
        assert_eq!(cursors.len(), 16);
        assert_eq!(cursors.resume(numbers[3]), None);
        assert_eq!(cursors.resume(numbers[4]).as_deref(), Some(&[4][..]));
    }

    #[test]
    fn bytes_are_bounded_too() {
        let cursors = ScanCursors::new(1 << 20, 1);
        let key = vec![0; 60_000];
        for _ in 0..1500 {
            cursors.put(&key, 0);
        }
        assert!(cursors.len() <= KEY_BYTES_MAX / key.len());
    }
}
