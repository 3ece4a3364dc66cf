//! Makes room for writes: compares the memory in use with the limit, and evicts keys.
//!
//! A caller that writes on behalf of others, such as a server, calls [`Session::make_room`] before
//! the writes. It also calls [`Session::admit_all`], so that its writers do not check the limit
//! again. All other writers check the limit themselves, each time they enter an epoch.
//!
//! Keys are evicted one by one, each as one removal. So the time that a caller waits is bounded by
//! the number of bytes that it asks for.
//!
//! Design: `docs/design/memory.md`.

use std::time::Duration;

use skein_model::RowRef;
use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;

use super::writer::BYTES_PER_ENTRY;
use super::{Session, Writer};
use crate::index::retire_all;
use crate::memory::{MemoryBalance, MemoryBudget};
use crate::options::Eviction;
use crate::store_core::StoreCore;
use crate::{Result, Ticket};

/// The largest number of eviction rounds when a writer enters an epoch. Each round evicts up to
/// `KEYS_PER_ENTRY` keys.
const EVICTIONS_PER_ENTRY: usize = 4;

/// The largest number of keys that are evicted within one entry into the epoch.
const KEYS_PER_ENTRY: usize = 128;

/// The largest number of entries into the epoch for a small request, and the number of requested
/// bytes that allow one more entry.
const ENTRIES: usize = 4;
const BYTES_PER_EVICTION: usize = 4 << 10;

/// The largest number of bytes of dead collections that are removed for one request: a multiple of
/// the requested bytes, and a constant. The bound matters only after the limit was lowered far
/// below the memory in use. Otherwise a request removes no more than the excess over the limit.
const SWEPT_FOR_EACH: usize = 8;
const SWEPT_BESIDE: usize = 64 << 10;

/// The largest number of sweeps for one request. More than one may be needed, because the size of a
/// member is only estimated.
const SWEEPS: usize = 4;

/// A request waits for readers if more than the limit divided by this number waits for them, or if
/// there is not enough room otherwise.
const WAITING_PART: usize = 2;

/// The pauses while a request waits for readers, in microseconds. Only the first is used if more
/// than the share above waits for readers; all are used if more than the limit waits for them.
const PAUSES: [u64; 9] = [250, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000];

/// When a session may wait for readers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ReaderWaits {
    /// At each request.
    #[default]
    Each,
    /// Once more in this turn.
    Once,
    /// No more in this turn.
    Spent,
    /// The last wait did not help. The session does not wait again until less memory waits for
    /// readers.
    Vain,
}

/// The room that a session knows of.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct RoomEstimate {
    waits: ReaderWaits,
    /// The limit for which it was computed.
    limit: Option<usize>,
    /// Bytes that may be written before the next check.
    left: usize,
}

impl Session {
    /// Leaves the memory limit to the caller: writes of this session that add memory are no longer
    /// rejected. The exception is a write that adds much at once while no key may be evicted.
    pub fn admit_all(&mut self) {
        self.admits = true;
    }

    /// Begins a turn of a worker: within it [`make_room`](Self::make_room) waits for readers at
    /// most once. If that wait does not help, later turns do not wait either until the readers have
    /// released memory. A session that never calls this waits at each request.
    #[inline]
    pub fn begin_turn(&mut self) {
        if self.room.waits != ReaderWaits::Vain {
            self.room.waits = ReaderWaits::Once;
        }
    }

    /// Keeps the keys that this session evicts from now on, for
    /// [`take_evicted`](Self::take_evicted), or stops to do so.
    #[inline]
    pub fn report_evictions(&mut self, on: bool) {
        if on != self.evicted.is_some() {
            self.evicted = on.then(Vec::new);
        }
    }

    /// Returns the keys that were evicted since the last call, if they are
    /// [reported](Self::report_evictions).
    pub fn take_evicted(&mut self) -> Vec<Vec<u8>> {
        self.evicted.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the memory limit in bytes.
    #[inline]
    pub fn memory_limit(&self) -> Option<usize> {
        self.core().budget.limit()
    }

    /// Makes room for writes that add about `bytes`, and returns the number of bytes that may be
    /// added: at least `bytes` if there is room for all of them. `caller_bytes` is memory of the
    /// caller that counts toward the limit.
    ///
    /// If there is not enough room and the store may evict, it evicts keys. It evicts nothing if
    /// `bytes` and `caller_bytes` together exceed the limit, because evictions could not help.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut session = store.session();
    /// assert_eq!(session.make_room(100, 0)?.0, usize::MAX, "there is no limit");
    /// for goose in 0..30_u8 {
    ///     store.put(&[goose], &[7; 50_000])?;
    /// }
    /// let limit = 1_000_000;
    /// store.set_memory_limit(Some(limit), Eviction::None);
    /// assert_eq!(session.make_room(100, 0)?.0, 0);
    /// store.set_memory_limit(Some(limit), Eviction::Lru);
    /// assert!(session.make_room(limit + 1, 0)?.0 <= limit);
    /// assert_eq!(store.len(), 30, "over the limit, so nothing is evicted");
    /// assert!(session.make_room(100, 0)?.0 >= 100);
    /// assert!(store.len() < 20, "some keys were evicted");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The store is closed or writes are stopped.
    #[inline]
    pub fn make_room(&mut self, bytes: usize, caller_bytes: usize) -> Result<(usize, Ticket)> {
        let Some(limit) = self.core().budget.limit() else { return Ok((usize::MAX, Ticket::default())) };
        if self.room.limit == Some(limit) && bytes <= self.room.left {
            self.room.left -= bytes;
            return Ok((bytes, Ticket::default()));
        }
        self.find_room(bytes, caller_bytes, limit)
    }

    /// Returns whether memory exceeds the limit and keys may be evicted. Forgets the room that
    /// [`make_room`](Self::make_room) has found before, so that it looks again. Call this after
    /// writes for which no room was made. `caller_bytes` is as in `make_room`.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut session = store.session();
    /// store.put(b"goose", &[7; 100_000])?;
    /// assert!(!session.exceeds_limit(0), "there is no limit");
    /// store.set_memory_limit(Some(50_000), Eviction::Lru);
    /// assert!(session.exceeds_limit(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exceeds_limit(&mut self, caller_bytes: usize) -> bool {
        let Some(limit) = self.core().budget.limit() else { return false };
        self.room.limit = None;
        let balance = self.core().balance(0, caller_bytes, limit);
        balance.evicts && balance.used > limit
    }

    #[cold]
    fn find_room(&mut self, bytes: usize, caller_bytes: usize, limit: usize) -> Result<(usize, Ticket)> {
        let mut evicted = self.evicted.take();
        let found = self.find_room_noting(bytes, caller_bytes, limit, &mut evicted);
        self.evicted = evicted;
        found
    }

    fn find_room_noting(
        &mut self,
        bytes: usize,
        caller_bytes: usize,
        limit: usize,
        evicted: &mut Option<Vec<Vec<u8>>>,
    ) -> Result<(usize, Ticket)> {
        let core = self.core();
        let log_shards = core.budget.hands.len();
        let chunk = MemoryBudget::margin(limit) / log_shards;
        let look = || core.balance(bytes, caller_bytes, limit);
        let (mut ticket, mut balance, mut waits) = (Ticket::default(), look(), self.room.waits);
        if balance.waiting > limit / WAITING_PART || balance.waiting > 0 && balance.left() < bytes {
            (balance, waits) = wait_for_readers(core, balance, look, waits);
        } else if waits == ReaderWaits::Vain {
            waits = ReaderWaits::Once;
        }
        let mut least = 0;
        let may_fit = bytes.saturating_add(caller_bytes) <= limit;
        if may_fit && balance.left() < bytes && !balance.is_stuck() && balance.evicts {
            let freed;
            (freed, ticket) = evict_for(core, self.log_shard, bytes, &mut balance, look, evicted)?;
            // Memory exceeds the limit for another reason and is already shrinking.
            least = if freed >= bytes { bytes } else { 0 };
            if balance.is_stuck() {
                (balance, waits) = wait_for_readers(core, balance, look, waits);
            }
        }
        if may_fit {
            sweep_for(core, bytes, &mut balance, look);
        }
        let left = if balance.is_stuck() { 0 } else { balance.left().max(least) };
        // Other sessions may receive the same answer, so the share is a fraction of the room.
        let share = (left.saturating_sub(bytes.saturating_add(balance.dying)) / (2 * log_shards)).min(chunk);
        core.keys.rows.ages().written(bytes.saturating_add(share), limit, || core.options.clock.now_s());
        self.room = RoomEstimate { waits, limit: Some(limit), left: share };
        Ok((left, ticket))
    }
}

/// Frees the removed memory of this thread as soon as possible. If much memory waits for readers
/// and the session may wait, waits for them, but not for long.
#[cold]
fn wait_for_readers(
    core: &StoreCore,
    mut balance: MemoryBalance,
    look: impl Fn() -> MemoryBalance,
    waits: ReaderWaits,
) -> (MemoryBalance, ReaderWaits) {
    retire_all(core.keys.index.collector());
    retire_all(core.keys.members.index.collector());
    if matches!(waits, ReaderWaits::Spent | ReaderWaits::Vain) {
        balance = look();
        return (balance, if balance.is_stuck() { waits } else { ReaderWaits::Spent });
    }
    let mut slept = false;
    for (at, pause) in PAUSES.into_iter().enumerate() {
        let due = balance.evicts && balance.waiting > balance.limit / WAITING_PART;
        if !(due && at == 0 || balance.is_stuck()) {
            break;
        }
        std::thread::sleep(Duration::from_micros(pause));
        slept = true;
        balance = look();
    }
    let waits = match waits {
        ReaderWaits::Once if balance.is_stuck() => ReaderWaits::Vain,
        ReaderWaits::Once if slept => ReaderWaits::Spent,
        waits => waits,
    };
    (balance, waits)
}

/// Removes members of dead collections until `bytes` fit beside the rest, or the due share of the
/// work is done. So the limit holds although no key is evicted for memory that is about to be
/// freed, however late the sweeper thread runs.
fn sweep_for(core: &StoreCore, bytes: usize, balance: &mut MemoryBalance, look: impl Fn() -> MemoryBalance) {
    let mut due = bytes.saturating_mul(SWEPT_FOR_EACH).saturating_add(SWEPT_BESIDE);
    for _ in 0..SWEEPS {
        let wanted = balance.over(bytes).min(due);
        if balance.dying == 0 || wanted == 0 {
            break;
        }
        let swept = core.keys.members.sweep_some(wanted);
        due = due.saturating_sub(swept);
        *balance = look();
    }
}

/// Evicts until there is room for `bytes` and a margin, or the due share of the work is done.
fn evict_for(
    core: &StoreCore,
    log_shard: usize,
    bytes: usize,
    balance: &mut MemoryBalance,
    look: impl Fn() -> MemoryBalance,
    evicted: &mut Option<Vec<Vec<u8>>>,
) -> Result<(usize, Ticket)> {
    let wanted = bytes.saturating_add(MemoryBudget::margin(balance.limit));
    let (mut ticket, mut total) = (Ticket::default(), 0);
    for _ in 0..ENTRIES + bytes / BYTES_PER_EVICTION {
        let mut writer = Writer::enter_unasked(core, log_shard)?;
        writer.evicted = evicted.take();
        let freed = writer.evict(balance.missing(wanted));
        *evicted = writer.evicted.take();
        ticket = ticket.max(writer.finish()?);
        *balance = look();
        total += freed;
        if freed == 0 || balance.missing(wanted) == 0 || balance.is_stuck() {
            break;
        }
    }
    Ok((total, ticket))
}

impl Writer<'_> {
    /// Checks whether memory is used up, now and each time the writer enters the epoch again. If
    /// keys may be evicted, evicts some.
    pub(super) fn look_at_budget(&mut self) {
        self.checks_limit = true;
        self.over_budget = None;
        let Some(limit) = self.core.budget.limit() else { return };
        let mut balance = self.core.balance(0, 0, limit);
        let since = if self.writes == 0 { 0 } else { BYTES_PER_ENTRY };
        sweep_for(self.core, since, &mut balance, || self.core.balance(0, 0, limit));
        if !balance.is_used_up() {
            return;
        }
        self.over_budget = Some(balance.refusal());
        // If removed but unreclaimed memory alone fills the limit, evictions would only add to it.
        if self.is_group || balance.is_stuck() || self.core.budget.eviction() == Eviction::None {
            return;
        }
        let (mut wanted, mut freed) = (balance.missing(MemoryBudget::margin(balance.limit)), 0);
        for _ in 0..EVICTIONS_PER_ENTRY {
            let gone = self.evict(wanted);
            freed += gone;
            wanted = wanted.saturating_sub(gone);
            if gone == 0 || wanted == 0 {
                break;
            }
        }
        if freed > 0 {
            // Evicted memory counts as long as a reader may see it, so the writes are allowed.
            self.over_budget = None;
        }
    }

    /// Evicts keys that use about `wanted` bytes, but a bounded number of them. Returns about how
    /// many bytes they used. The write that follows reports errors.
    pub(super) fn evict(&mut self, wanted: usize) -> usize {
        match self.core.budget.eviction() {
            Eviction::None => 0,
            Eviction::Ttl => self.evict_first(wanted),
            eviction => self.evict_found(wanted, eviction),
        }
    }

    /// Evicts keys that the clock hand finds for this policy.
    fn evict_found(&mut self, wanted: usize, eviction: Eviction) -> usize {
        let core = self.core;
        let mut hand = lock(&core.budget.hands[self.log_shard % core.budget.hands.len()]);
        let (mut freed, mut left, mut found) = (0, KEYS_PER_ENTRY, Vec::new());
        while freed < wanted && left > 0 {
            hand.find(&core.keys, eviction, &mut found);
            if found.is_empty() {
                break;
            }
            for candidate in &found {
                if freed >= wanted {
                    break;
                }
                freed += self.evict_if(&candidate.key, |row| {
                    let may_go = !eviction.is_volatile() || row.expires_at().is_some();
                    may_go && row.stamp() == candidate.stamp
                });
            }
            left = left.saturating_sub(found.len());
        }
        freed
    }

    /// Evicts the keys that expire first.
    fn evict_first(&mut self, wanted: usize) -> usize {
        let mut freed = 0;
        for (at, key) in self.core.keys.expiry_index.first_before(u64::MAX, KEYS_PER_ENTRY) {
            if freed >= wanted {
                break;
            }
            freed += self.evict_if(&key, |row| row.expires_at() == Some(at));
        }
        freed
    }

    /// Evicts a key if `wanted` accepts its row. Returns about how many bytes it used.
    fn evict_if(&mut self, key: &[u8], wanted: impl Fn(RowRef<'_>) -> bool) -> usize {
        let mut bytes = 0;
        let removed = self.remove_if(key, |row| {
            bytes = key.len() + row.node_share() + row.memory();
            wanted(row)
        });
        let Ok(Some(removal)) = removed else { return 0 };
        if let Some(evicted) = &mut self.evicted {
            evicted.push(key.to_vec());
        }
        // Relaxed: a count.
        self.core.budget.evicted.fetch_add(1, Ordering::Relaxed);
        bytes + removal.release_collection()
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;
    use crate::{CollectionReads as _, RowWriter as _, Store, StoreOptions};

    /// Once, each request waited up to 64 ms for a long reader, and so delayed all clients of its
    /// worker.
    #[test]
    fn a_turn_waits_for_readers_at_most_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        store.set_memory_limit(Some(1 << 20), Eviction::Lru);
        let mut session = store.session();
        session.admit_all();
        session.begin_turn();
        assert!(session.make_room(100, 0).unwrap().0 >= 100 && session.room.waits == ReaderWaits::Once);
        let reader = store.core().keys.index.collector().enter();
        for _ in 0..12 {
            session.write(|writer| writer.put(b"goose", &vec![7; 100_000])).unwrap().0.unwrap();
        }
        let more = 1 << 19;
        assert_eq!((session.make_room(more, 0).unwrap().0, session.room.waits), (0, ReaderWaits::Vain));
        session.begin_turn();
        assert_eq!((session.make_room(more, 0).unwrap().0, session.room.waits), (0, ReaderWaits::Vain));
        drop(reader);
        // The session has seen that the reader has finished, so the next turn may wait again.
        assert!(session.make_room(more, 0).unwrap().0 >= more);
        assert!(matches!(session.room.waits, ReaderWaits::Once | ReaderWaits::Spent));
        session.begin_turn();
        assert_eq!(session.room.waits, ReaderWaits::Once);
    }
    /// Returns the bytes that count toward the limit, with the rest of dead collections.
    fn held(store: &Store) -> usize {
        let memory = store.core().memory();
        memory.total() - memory.unreclaimed - memory.buffers
    }

    fn put_set(session: &mut Session, key: u32, members: u32) {
        let put = session.write(|writer| {
            writer.change_set::<_, crate::Error>(&key.to_be_bytes(), true, |set| {
                (0..members).try_for_each(|member| set.put(&member.to_be_bytes(), 1.0).map(drop))
            })
        });
        put.unwrap().0.unwrap();
    }

    /// Once, the rest of dead sets exceeded the limit when the sweeper thread was late: a request
    /// for room stopped at the first dead set without members, and only the thread freed score
    /// indexes. In this test the thread never runs.
    #[test]
    fn the_limit_holds_without_the_sweeper_thread() {
        let (limit, room) = (4 << 20, 250_000);
        for index in crate::IndexKind::ALL {
            let folder = tempfile::tempdir().unwrap();
            let store =
                Store::open(folder.path(), StoreOptions { index, ..StoreOptions::default() }).unwrap();
            store.core().keys.members.sweeper.stop();
            store.set_memory_limit(Some(limit), Eviction::Lru);
            let mut session = store.session();
            session.admit_all();
            for key in 0..80 {
                assert!(session.make_room(room, 0).unwrap().0 >= room, "{index}: {:?}", store.stats());
                put_set(&mut session, key, 2_000);
                assert!(held(&store) < limit + room / 4, "{index}, {key}: {:?}", store.stats());
            }
            // Small writes sweep no more than they need, and evict no key for memory that is still
            // to be swept.
            let (dying, evicted) = (store.core().keys.members.dying(), store.stats().evicted);
            assert!(evicted > 20 && store.stats().keys >= 5, "{index}: {:?}", store.stats());
            for _ in 0..20 {
                assert!(session.make_room(100, 0).unwrap().0 >= 100);
            }
            assert!(store.core().keys.members.dying() + (300 << 10) > dying, "{index}");
            assert!(dying == 0 || store.stats().evicted == evicted, "{index}");
        }
    }

    /// Once, memory that a long reader kept of a removed set counted as about to be freed, and
    /// memory exceeded the limit by it.
    #[test]
    fn memory_kept_for_a_view_counts_as_used() {
        let (limit, room) = (4 << 20, 250_000);
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        store.set_memory_limit(Some(limit), Eviction::Lru);
        let mut session = store.session();
        session.admit_all();
        put_set(&mut session, 0, 10_000);
        let view = session.get_with(&0_u32.to_be_bytes(), |row| {
            row?.sorted_set()?.read().view(0, 10_000, crate::ScanDirection::Forward)
        });
        store.remove(&0_u32.to_be_bytes()).unwrap();
        assert_eq!(store.core().keys.members.dying(), 0);
        for key in 1..60 {
            assert!(session.make_room(room, 0).unwrap().0 >= room, "{:?}", store.stats());
            put_set(&mut session, key, 2_000);
            assert!(held(&store) < limit + room / 4, "{key}: {:?}", store.stats());
        }
        drop(view);
    }
}
