//! The buffer of one log: records wait here until they are written to the file.
//!
//! ```text
//!              ┌─ slot of even epochs ─┐
//!   append ──► │ records of E          │ ──► drained while the epoch is open (no sync), if large
//!              ├─ slot of odd epochs ──┤
//!              │ records of E - 1      │ ──► taken by the commit of E - 1, with a mark, and synced
//!              └───────────────────────┘
//! ```
//!
//! 1. Only two epochs are open at a time, and each has its own slot. So records reach the file in
//!    the order of epochs without sorting, however many threads append.
//! 2. All records of a slot belong to one epoch, and that epoch is after `closed_through`.
//! 3. Records of E may be written to the file before E closes, but only after all records of E - 1
//!    were taken.
//! 4. No thread waits for space while it is inside an epoch. The closer would wait for that thread,
//!    and the commit that makes space may wait for the closer. A thread waits before it enters. So
//!    the threads inside may take the buffer over its bound.
//! 5. Taken bytes count as held until [`LogBuffer::placed`] says that their position is reserved,
//!    so entering threads compare all bytes without a position with the log's room (`log_room.rs`).
//! 6. The vectors grow with the records between two writes, and shrink after these get fewer: at
//!    each look of the committer, an unused vector is freed if it is more than twice as long as the
//!    records that were taken lately. "Lately" fades by half from look to look.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use skein_sync::atomic::{AtomicUsize, Ordering};
use skein_sync::locks::{lock, wait};

use crate::log_room::LogRoom;
use crate::record::{self, LogRecordKind};

/// A buffer keeps this many empty vectors: one is filled while the other is written.
const SPARES: usize = 2;

/// Vectors up to this length are kept.
const KEPT_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
struct EpochSlot {
    epoch: u64,
    bytes: Vec<u8>,
}

/// The state that the lock protects.
#[derive(Debug)]
pub struct EpochSlots {
    by_parity: [EpochSlot; 2],
    closed_through: u64,
    spares: Vec<Vec<u8>>,
    /// Taken bytes without a position in the file (invariant 5).
    unplaced: usize,
    /// Threads that wait for room.
    waiting: usize,
    /// The bytes that were taken at once lately (invariant 6).
    taken_lately: usize,
    appended: u64,
    records: u64,
    /// Appended bytes of epochs that were taken, and of durable epochs.
    taken: u64,
    durable: u64,
}

/// The buffer of one log.
#[derive(Debug)]
#[repr(align(128))]
pub struct LogBuffer {
    slots: Mutex<EpochSlots>,
    /// Bytes without a position in the file: a copy for threads that do not hold the lock.
    pending: AtomicUsize,
    seed: u32,
    /// At this many bytes the writer thread is woken; over `bound`, entering threads wait.
    drain_at: usize,
    bound: usize,
    /// The room in segments: records within it have a place on the disk.
    on_disk: Arc<LogRoom>,
    room: Condvar,
}

/// Records of one epoch, taken out to be written.
#[derive(Debug)]
pub struct Chunk {
    pub epoch: u64,
    pub bytes: Vec<u8>,
}

impl LogBuffer {
    /// Creates a buffer for records with this seed, of epochs after `closed_through`.
    pub fn new(seed: u32, closed_through: u64, bound: usize, on_disk: Arc<LogRoom>) -> Self {
        let slots = EpochSlots {
            by_parity: Default::default(),
            closed_through,
            spares: Vec::new(),
            unplaced: 0,
            waiting: 0,
            taken_lately: 0,
            appended: 0,
            records: 0,
            taken: 0,
            durable: 0,
        };
        Self {
            slots: Mutex::new(slots),
            pending: AtomicUsize::new(0),
            seed,
            drain_at: (bound / 4).min(512 << 10),
            bound,
            on_disk,
            room: Condvar::new(),
        }
    }

    /// Locks the buffer to append one record or several.
    #[inline]
    pub fn lock(&self) -> LockedBuffer<'_> {
        LockedBuffer { slots: lock(&self.slots), buffer: self }
    }

    /// Returns whether a thread must wait before it enters an epoch.
    #[inline]
    pub fn is_full(&self) -> bool {
        // Relaxed: a hint; no other data depends on it.
        self.pending.load(Ordering::Relaxed) > self.bound || self.fills_the_room()
    }

    /// Returns whether the buffer holds all that has a place on the disk.
    #[inline]
    pub fn fills_the_room(&self) -> bool {
        self.pending.load(Ordering::Relaxed) as u64 >= self.on_disk.limit()
    }

    /// Returns whether writes that were refused may continue.
    pub fn has_room_on_disk(&self) -> bool {
        self.on_disk.is_enough()
    }

    /// Blocks until there is space or `give_up` returns true.
    pub fn wait_for_room(&self, give_up: impl Fn() -> bool) {
        let mut slots = lock(&self.slots);
        while self.is_full() && !give_up() {
            slots.waiting += 1;
            slots = wait(&self.room, slots);
            slots.waiting -= 1;
        }
    }

    /// Returns whether the writer thread should drain the buffer.
    pub fn wants_drain(&self) -> bool {
        self.pending.load(Ordering::Relaxed) >= self.drain_at || self.is_full()
    }

    /// Returns whether the buffer has no records.
    pub fn is_empty(&self) -> bool {
        lock(&self.slots).pending() == 0
    }

    /// Returns the bytes that the buffer uses in memory, including spare vectors.
    pub fn memory(&self) -> usize {
        let slots = lock(&self.slots);
        let filled = slots.by_parity.iter().map(|slot| &slot.bytes);
        filled.chain(&slots.spares).map(Vec::capacity).sum()
    }

    /// Returns the bytes appended since the buffer was created.
    pub fn appended(&self) -> u64 {
        lock(&self.slots).appended
    }

    /// Returns the records appended since the buffer was created.
    pub fn records(&self) -> u64 {
        lock(&self.slots).records
    }

    /// Returns the appended bytes that are not durable yet.
    pub fn behind(&self) -> u64 {
        let slots = lock(&self.slots);
        slots.appended - slots.durable
    }

    /// Notes that the last epoch that was taken is durable.
    pub fn made_durable(&self) {
        let mut slots = lock(&self.slots);
        debug_assert!(slots.durable <= slots.taken && slots.taken <= slots.appended, "{slots:?}");
        slots.durable = slots.taken;
    }

    /// Takes all records of the closed `epoch`. The holder of the commit token takes every closed
    /// epoch, in order. After a failure no further epoch is taken, unless this one was [put
    /// back](Self::put_back).
    pub fn take_closed(&self, epoch: u64) -> Chunk {
        let mut slots = lock(&self.slots);
        assert_eq!(slots.closed_through + 1, epoch, "epochs are taken in order");
        slots.closed_through = epoch;
        let chunk = slots.take(epoch);
        // The remaining records are of the open epoch.
        slots.taken = slots.appended - slots.pending() as u64;
        chunk
    }

    /// Takes the records of the open epoch, if all earlier ones were taken (invariant 3).
    pub fn take_open(&self) -> Option<Chunk> {
        let mut slots = lock(&self.slots);
        let epoch = slots.closed_through + 1;
        let chunk = slots.take(epoch);
        (!chunk.bytes.is_empty()).then_some(chunk)
    }

    /// Puts back the records that were taken last, before those appended since, as if they had
    /// never been taken. Like the taking, this needs the file's lock.
    pub fn put_back(&self, chunk: Chunk) {
        let mut slots = lock(&self.slots);
        slots.closed_through = chunk.epoch - 1;
        let slot = &mut slots.by_parity[(chunk.epoch & 1) as usize];
        debug_assert!(slot.bytes.is_empty() || slot.epoch == chunk.epoch, "invariant 2");
        slot.epoch = chunk.epoch;
        let mut bytes = chunk.bytes;
        bytes.append(&mut slot.bytes);
        slot.bytes = bytes;
        slots.unplaced = 0;
    }

    /// Notes that the position of the bytes that were taken last is reserved. Wakes the threads
    /// that wait for room. Like the taking, this needs the file's lock.
    pub fn placed(&self) {
        let mut slots = lock(&self.slots);
        slots.unplaced = 0;
        // Relaxed: a hint, written under the lock only.
        self.pending.store(slots.pending(), Ordering::Relaxed);
        self.notify(slots);
    }

    /// Wakes the threads that wait for space, so that they look again and call `give_up` again.
    pub fn wake_all(&self) {
        self.notify(lock(&self.slots));
    }

    fn notify(&self, slots: MutexGuard<'_, EpochSlots>) {
        if slots.waiting > 0 {
            drop(slots);
            self.room.notify_all();
        }
    }

    /// Returns an empty vector for reuse.
    pub fn give_back(&self, mut bytes: Vec<u8>) {
        // A vector that held one huge record is freed.
        if bytes.capacity() / 2 <= self.bound {
            bytes.clear();
            let mut slots = lock(&self.slots);
            if slots.spares.len() < SPARES {
                slots.spares.push(bytes);
            }
        }
    }

    /// Frees memory that lately was not needed (invariant 6). Call it at regular intervals.
    pub fn shrink(&self) {
        let mut slots = lock(&self.slots);
        let keep = (2 * slots.taken_lately).max(KEPT_BYTES);
        slots.taken_lately /= 2;
        slots.spares.retain(|spare| spare.capacity() <= keep);
        for slot in &mut slots.by_parity {
            if slot.bytes.is_empty() && slot.bytes.capacity() > keep {
                slot.bytes = Vec::new();
            }
        }
    }
}

impl EpochSlots {
    /// Returns the bytes in both slots.
    fn pending(&self) -> usize {
        self.by_parity[0].bytes.len() + self.by_parity[1].bytes.len()
    }

    fn take(&mut self, epoch: u64) -> Chunk {
        let slot = &mut self.by_parity[(epoch & 1) as usize];
        if slot.bytes.is_empty() || slot.epoch != epoch {
            return Chunk { epoch, bytes: Vec::new() };
        }
        self.taken_lately = self.taken_lately.max(slot.bytes.len());
        self.unplaced = slot.bytes.len();
        let spare = self.spares.pop().unwrap_or_default();
        Chunk { epoch, bytes: std::mem::replace(&mut slot.bytes, spare) }
    }
}

/// A locked buffer.
#[derive(Debug)]
pub struct LockedBuffer<'a> {
    slots: MutexGuard<'a, EpochSlots>,
    buffer: &'a LogBuffer,
}

impl LockedBuffer<'_> {
    /// Appends a record. Returns true if this record took the buffer over the threshold, so that
    /// the caller must wake the writer thread.
    #[inline]
    pub fn append(&mut self, epoch: u64, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let slots = &mut *self.slots;
        let slot = &mut slots.by_parity[(epoch & 1) as usize];
        // Invariant 2. Recovery would lose a record of a closed epoch, or keep it without its
        // predecessors.
        assert!(
            epoch > slots.closed_through && (slot.bytes.is_empty() || slot.epoch == epoch),
            "epoch {epoch} is closed, or is not an epoch of this operation"
        );
        slot.epoch = epoch;
        let before = slot.bytes.len();
        record::append(&mut slot.bytes, self.buffer.seed, epoch, LogRecordKind::Data, write);
        let grown = slot.bytes.len() - before;
        slots.appended += grown as u64;
        slots.records += 1;
        let pending = slots.pending() + slots.unplaced;
        // Relaxed: a hint, written under the lock only.
        self.buffer.pending.store(pending, Ordering::Relaxed);
        pending >= self.buffer.drain_at && pending - grown < self.buffer.drain_at
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    fn buffer(closed_through: u64, bound: usize) -> LogBuffer {
        LogBuffer::new(1, closed_through, bound, Arc::new(LogRoom::new(false)))
    }

    fn put(buffer: &LogBuffer, epoch: u64, payload: &[u8]) {
        buffer.lock().append(epoch, |out| out.extend_from_slice(payload));
    }

    #[test]
    fn epochs_come_out_in_order_though_appended_out_of_order() {
        let buffer = buffer(4, 1 << 20);
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
    #[should_panic(expected = "epoch 4 is closed")]
    fn a_closed_epoch_accepts_no_records() {
        put(&buffer(4, 1 << 20), 4, b"late");
    }

    #[test]
    fn a_full_buffer_says_so_until_it_is_taken() {
        let buffer = buffer(0, 1000);
        assert!(!buffer.is_full());
        assert!(buffer.lock().append(1, |out| out.resize(2000, 7)));
        assert!(buffer.is_full());
        buffer.take_open().unwrap();
        assert!(buffer.is_full(), "the bytes have no position yet");
        buffer.placed();
        assert!(!buffer.is_full());
        buffer.wait_for_room(|| false);
    }

    #[test]
    fn a_buffer_is_full_when_its_records_fill_the_room_on_the_disk() {
        let room = Arc::new(LogRoom::new(true));
        let buffer = LogBuffer::new(1, 0, 8 << 20, room.clone());
        assert!(buffer.is_full(), "there is no segment yet");
        room.set_next(64 << 10);
        assert!(!buffer.is_full());
        put(&buffer, 1, &vec![7; 48 << 10]);
        assert!(buffer.is_full() && buffer.wants_drain());
        room.set_active(1 << 20, 0);
        assert!(!buffer.is_full());
        room.set_active(0, 0);
        let chunk = buffer.take_open().unwrap();
        assert!(buffer.is_full(), "the bytes have no position yet");
        buffer.put_back(chunk);
        assert!(buffer.is_full());
        buffer.take_open().unwrap();
        buffer.placed();
        assert!(!buffer.is_full());
    }

    /// Incident: two vectors of each log stayed as long as the largest burst, 28 MB in all. Fix:
    /// they are freed when the records get fewer, and stay while the burst goes on.
    #[test]
    fn a_buffer_shrinks_after_a_burst() {
        let buffer = buffer(0, 8 << 20);
        let burst = |epoch| {
            put(&buffer, epoch, &vec![7; 5 << 20]);
            buffer.give_back(buffer.take_closed(epoch).bytes);
            buffer.shrink();
        };
        (1..=3).for_each(burst);
        let during = buffer.memory();
        burst(4);
        assert!(during >= 5 << 20 && buffer.memory() == during, "{during}, then {}", buffer.memory());
        (0..8).for_each(|_| buffer.shrink());
        assert!(buffer.memory() <= 2 * KEPT_BYTES, "{} bytes stay", buffer.memory());
        put(&buffer, 5, b"five");
        let one = buffer.memory();
        buffer.shrink();
        assert_eq!(buffer.memory(), one, "a vector with records stays");
    }
}
