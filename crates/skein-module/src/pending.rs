//! A batch of changes that are not merged into the index of names yet.
//!
//! ```text
//!   notification of a key ──► note ──► [name, change][name, change] ...    a few nanoseconds each
//!                                              │ batch full, or a read
//!                                              ▼
//!                                           settle: sorted, one change per name ──► the index
//! ```
//!
//! An insert into a large index waits for memory several times. A batch of inserts waits for all of
//! its keys at the same time, so a name costs less than half in a batch. A name that is inserted
//! and removed within one batch costs the index one lookup.
//!
//! # Invariants
//! 1. **The last change counts.** The changes of one name keep their order;
//!    [`settle`](Pending::settle) passes on the last one.
//! 2. **Bounded.** `note` returns true when the batch is full. The owner must then settle the batch
//!    before the next change. So a reader never waits for more than [`CHANGES`] changes, or
//!    [`BYTES`] bytes of names plus one name.
//! 3. **Independent of the index.** This file does not know the index. A reader of the index must
//!    settle the batch first.

use crate::expiry_knowledge::ExpiryKnowledge;

/// Number of changes in a full batch. Merging so many new names into ten million takes 0.3 ms.
pub const CHANGES: usize = 1_024;
const _: () = assert!(CHANGES <= 1 << 16, "a place has 16 bits");
/// Number of the names' bytes in a full batch.
pub const BYTES: usize = 64 << 10;

/// The change of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyNameChange {
    /// Inserts the name or updates its standing.
    Put(ExpiryKnowledge),
    Remove,
}

/// A recorded change: the position of the name in `bytes`, its length, and the change.
#[derive(Debug, Clone, Copy)]
struct RecordedChange {
    begin: u32,
    len: u16,
    change: KeyNameChange,
}

/// A batch of waiting changes; see the module's head.
#[derive(Debug, Default)]
pub struct PendingChanges {
    /// The names, one after the other.
    bytes: Vec<u8>,
    noted: Vec<RecordedChange>,
}

impl PendingChanges {
    pub fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }

    /// Returns the bytes of memory that the batch takes.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.noted.capacity() * size_of::<RecordedChange>()
    }

    /// Adds a change. Returns whether the batch is full.
    ///
    /// # Panics
    /// Panics if the name is longer than an index accepts.
    pub fn note(&mut self, name: &[u8], change: KeyNameChange) -> bool {
        let begin = u32::try_from(self.bytes.len()).expect("a batch that is full is settled");
        let len = u16::try_from(name.len()).expect("an index takes no longer names");
        self.bytes.extend_from_slice(name);
        self.noted.push(RecordedChange { begin, len, change });
        self.noted.len() >= CHANGES || self.bytes.len() >= BYTES
    }

    /// Calls `each` once with all names, sorted, each with its last change. Then empties the batch.
    pub fn settle(&mut self, each: impl FnOnce(&[(&[u8], KeyNameChange)])) {
        let bytes = &self.bytes;
        let name_of = |noted: &RecordedChange| &bytes[noted.begin as usize..][..noted.len.into()];
        let shared = self.shared_prefix();
        // Integers sort without a branch for each comparison. Each holds the six bytes that follow
        // the shared prefix, and the position of the change.
        let numbers = self.noted.iter().zip(0_u64..);
        let mut order: Vec<u64> =
            numbers.map(|(noted, place)| head(&name_of(noted)[shared..]) & !0xffff | place).collect();
        order.sort_unstable();
        let noted = |number: u64| &self.noted[usize::from(number as u16)];
        // Few names agree in all six bytes. A stable sort keeps the changes of one name in order.
        for alike in order.chunk_by_mut(|one, other| one >> 16 == other >> 16).filter(|alike| alike.len() > 1)
        {
            alike.sort_by(|&one, &other| name_of(noted(one)).cmp(name_of(noted(other))));
        }
        let mut changes: Vec<(&[u8], KeyNameChange)> = Vec::with_capacity(order.len());
        for number in order {
            let (name, change) = (name_of(noted(number)), noted(number).change);
            match changes.last_mut() {
                Some(last) if last.0 == name => last.1 = change,
                _ => changes.push((name, change)),
            }
        }
        each(&changes);
        self.bytes.clear();
        self.noted.clear();
        // The buffer shrinks, so that one long name does not occupy its memory for ever.
        self.bytes.shrink_to(BYTES);
    }

    /// Returns the length of a prefix that all names share.
    fn shared_prefix(&self) -> usize {
        let Some(first) = self.noted.first() else { return 0 };
        let first = &self.bytes[..first.len.into()];
        self.noted.iter().fold(first.len(), |shared, noted| {
            let name = &self.bytes[noted.begin as usize..][..noted.len.into()];
            if name.get(..shared) == Some(&first[..shared]) {
                return shared;
            }
            first.iter().zip(name).take(shared).take_while(|(one, other)| one == other).count()
        })
    }
}

/// Returns the first eight bytes as a number with the same sort order, padded with zeros.
fn head(bytes: &[u8]) -> u64 {
    let mut head = [0; 8];
    let len = bytes.len().min(head.len());
    head[..len].copy_from_slice(&bytes[..len]);
    u64::from_be_bytes(head)
}
