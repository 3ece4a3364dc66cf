//! The buffer of one log: where records wait for the disk.
//!
//! ```text
//!              ┌─ slot of even epochs ─┐
//!   append ──► │ records of E          │ ──► drained while the epoch is open (no sync), if it is much
//!              ├─ slot of odd epochs ──┤
//!              │ records of E - 1      │ ──► taken by the commit of E - 1, a mark behind it, synced
//!              └───────────────────────┘
//! ```
//!
//! 1. Only two epochs are open at a time, so each has a slot of its own, and what reaches the file is in the
//!    order of epochs without sorting, however many threads append.
//! 2. A slot's records are all of one epoch, and that epoch is after `closed_through`.
//! 3. Records of E may go to the file before E closes, but only once all of E - 1 was taken.
//! 4. Nobody waits for room while inside an epoch: the closer would wait for him, and what would make room may wait for
//!    the closer. Whoever is about to enter waits instead, so the bound may be passed by what is under way.

use std::sync::{Condvar, Mutex, MutexGuard};

use skein_sync::atomic::{AtomicUsize, Ordering};
use skein_sync::locks::{lock, wait};

use crate::record::{self, LogRecordKind};

/// A buffer keeps this many empty vectors: one being filled again while the other is being written.
const SPARES: usize = 2;

#[derive(Debug, Default)]
struct EpochSlot {
    epoch: u64,
    bytes: Vec<u8>,
}

/// What the lock guards.
#[derive(Debug)]
pub struct EpochSlots {
    by_parity: [EpochSlot; 2],
    closed_through: u64,
    spares: Vec<Vec<u8>>,
    appended: u64,
    /// Of them, those of epochs that were taken to be written, and those of durable epochs.
    taken: u64,
    durable: u64,
}

/// The buffer of one log.
#[derive(Debug)]
#[repr(align(128))]
pub struct LogBuffer {
    slots: Mutex<EpochSlots>,
    /// Bytes in both slots: a copy for those who do not hold the lock.
    pending: AtomicUsize,
    seed: u32,
    /// Past this many bytes the writer is woken; past `bound` whoever enters waits.
    drain_at: usize,
    bound: usize,
    room: Condvar,
}

/// Records of one epoch, taken out to be written.
#[derive(Debug)]
pub struct Chunk {
    pub epoch: u64,
    pub bytes: Vec<u8>,
}

impl LogBuffer {
    /// A buffer for records with this seed, of epochs after `closed_through`.
    pub fn new(seed: u32, closed_through: u64, bound: usize) -> Self {
        let slots = EpochSlots {
            by_parity: Default::default(),
            closed_through,
            spares: Vec::new(),
            appended: 0,
            taken: 0,
            durable: 0,
        };
        Self {
            slots: Mutex::new(slots),
            pending: AtomicUsize::new(0),
            seed,
            drain_at: (bound / 4).min(512 << 10),
            bound,
            room: Condvar::new(),
        }
    }

    /// Locks the buffer for one record or several.
    #[inline]
    pub fn lock(&self) -> LockedBuffer<'_> {
        LockedBuffer { slots: lock(&self.slots), buffer: self }
    }

    /// Whether whoever is about to enter has to wait.
    #[inline]
    pub fn is_full(&self) -> bool {
        // Relaxed: a hint; nothing is read on its strength.
        self.pending.load(Ordering::Relaxed) > self.bound
    }

    /// Waits until there is room, or `give_up` says so.
    pub fn wait_for_room(&self, give_up: impl Fn() -> bool) {
        let mut slots = lock(&self.slots);
        while self.is_full() && !give_up() {
            slots = wait(&self.room, slots);
        }
    }

    /// Wakes who waits for room, to look at `give_up` again.
    pub fn wake_all(&self) {
        drop(lock(&self.slots));
        self.room.notify_all();
    }

    /// Whether there is enough for the writer to drain.
    pub fn wants_drain(&self) -> bool {
        self.pending.load(Ordering::Relaxed) >= self.drain_at
    }

    /// Whether nothing waits for the disk.
    pub fn is_empty(&self) -> bool {
        lock(&self.slots).pending() == 0
    }

    /// Bytes that the buffer takes in memory, what is kept for later included.
    pub fn memory(&self) -> usize {
        let slots = lock(&self.slots);
        let filled = slots.by_parity.iter().map(|slot| &slot.bytes);
        filled.chain(&slots.spares).map(Vec::capacity).sum()
    }

    /// Bytes appended since the buffer was made.
    pub fn appended(&self) -> u64 {
        lock(&self.slots).appended
    }

    /// Bytes appended that are not durable yet.
    pub fn behind(&self) -> u64 {
        let slots = lock(&self.slots);
        slots.appended - slots.durable
    }

    /// The last epoch that was taken is durable.
    pub fn made_durable(&self) {
        let mut slots = lock(&self.slots);
        slots.durable = slots.taken;
    }

    /// Takes all records of `epoch`, which is closed. Every closed epoch is taken, in order: by whoever holds the token of
    /// commits. After a failure none is taken any more, unless it was [put back](Self::put_back).
    pub fn take_closed(&self, epoch: u64) -> Chunk {
        let mut slots = lock(&self.slots);
        assert_eq!(slots.closed_through + 1, epoch, "epochs are taken in order");
        slots.closed_through = epoch;
        let chunk = slots.take(epoch);
        // What is left is of the open epoch.
        slots.taken = slots.appended - slots.pending() as u64;
        self.made_room(slots);
        chunk
    }

    /// Takes what there is of the open epoch, if all before it was taken (invariant 3).
    pub fn take_open(&self) -> Option<Chunk> {
        let mut slots = lock(&self.slots);
        let epoch = slots.closed_through + 1;
        let chunk = slots.take(epoch);
        self.made_room(slots);
        (!chunk.bytes.is_empty()).then_some(chunk)
    }

    /// Puts back what was taken last, before what has come since, as if it had never been taken. Like the taking, under the file's lock.
    pub fn put_back(&self, chunk: Chunk) {
        let mut slots = lock(&self.slots);
        slots.closed_through = chunk.epoch - 1;
        let slot = &mut slots.by_parity[(chunk.epoch & 1) as usize];
        slot.epoch = chunk.epoch;
        let mut bytes = chunk.bytes;
        bytes.append(&mut slot.bytes);
        slot.bytes = bytes;
        // Relaxed: a hint, written under the lock only.
        self.pending.store(slots.pending(), Ordering::Relaxed);
    }

    /// Gives an empty vector back for use.
    pub fn give_back(&self, mut bytes: Vec<u8>) {
        // One huge record should not hold its memory for ever.
        if bytes.capacity() / 2 <= self.bound {
            bytes.clear();
            let mut slots = lock(&self.slots);
            if slots.spares.len() < SPARES {
                slots.spares.push(bytes);
            }
        }
    }

    fn made_room(&self, slots: MutexGuard<'_, EpochSlots>) {
        let was_full = self.is_full();
        self.pending.store(slots.pending(), Ordering::Relaxed);
        drop(slots);
        if was_full && !self.is_full() {
            self.room.notify_all();
        }
    }
}

impl EpochSlots {
    fn pending(&self) -> usize {
        self.by_parity[0].bytes.len() + self.by_parity[1].bytes.len()
    }

    fn take(&mut self, epoch: u64) -> Chunk {
        let slot = &mut self.by_parity[(epoch & 1) as usize];
        if slot.bytes.is_empty() || slot.epoch != epoch {
            return Chunk { epoch, bytes: Vec::new() };
        }
        let spare = self.spares.pop().unwrap_or_default();
        Chunk { epoch, bytes: std::mem::replace(&mut slot.bytes, spare) }
    }
}

/// The buffer, locked.
#[derive(Debug)]
pub struct LockedBuffer<'a> {
    slots: MutexGuard<'a, EpochSlots>,
    buffer: &'a LogBuffer,
}

impl LockedBuffer<'_> {
    /// Appends a record. Returns whether the writer should be woken: this one took the slot over the threshold.
    #[inline]
    pub fn append(&mut self, epoch: u64, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let slots = &mut *self.slots;
        let slot = &mut slots.by_parity[(epoch & 1) as usize];
        // Invariant 2; a record of a closed epoch would be lost, or kept without its predecessors.
        assert!(
            epoch > slots.closed_through && (slot.bytes.is_empty() || slot.epoch == epoch),
            "epoch {epoch} is not one that this operation was given"
        );
        slot.epoch = epoch;
        let before = slot.bytes.len();
        record::append(&mut slot.bytes, self.buffer.seed, epoch, LogRecordKind::Data, write);
        let grown = slot.bytes.len() - before;
        slots.appended += grown as u64;
        let pending = slots.pending();
        // Relaxed: a hint, written under the lock only.
        self.buffer.pending.store(pending, Ordering::Relaxed);
        pending >= self.buffer.drain_at && pending - grown < self.buffer.drain_at
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    fn put(buffer: &LogBuffer, epoch: u64, payload: &[u8]) {
        buffer.lock().append(epoch, |out| out.extend_from_slice(payload));
    }

    #[test]
    fn epochs_come_out_in_order_though_appended_out_of_order() {
        let buffer = LogBuffer::new(1, 4, 1 << 20);
        put(&buffer, 6, b"six");
        put(&buffer, 5, b"five");
        let open = buffer.take_open().unwrap();
        assert_eq!((open.epoch, open.bytes.len()), (5, 20));
        assert!(buffer.take_open().is_none(), "6 waits until 5 was taken");
        put(&buffer, 5, b"five again");
        let taken = buffer.take_closed(5);
        assert_eq!(taken.bytes.len(), 26);
        assert_eq!(buffer.take_open().unwrap().epoch, 6);
        assert!(buffer.is_empty());
    }

    #[test]
    #[should_panic(expected = "epoch 4 is not one")]
    fn a_closed_epoch_takes_no_records() {
        put(&LogBuffer::new(1, 4, 1 << 20), 4, b"late");
    }

    #[test]
    fn a_full_buffer_says_so_until_it_is_taken() {
        let buffer = LogBuffer::new(1, 0, 1000);
        assert!(!buffer.is_full());
        assert!(buffer.lock().append(1, |out| out.resize(2000, 7)));
        assert!(buffer.is_full());
        buffer.take_open().unwrap();
        assert!(!buffer.is_full());
        buffer.wait_for_room(|| false);
    }
}
