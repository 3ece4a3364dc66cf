//! What time it is, and whether a row is still there at that time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::locks::lock;

use crate::row::RowRef;

/// Microseconds of a millisecond.
const MS: u64 = 1_000;
/// A lead that rises by so much at once has jumped: less is how exactly two clocks can be read together.
const JUMP: u64 = MS;
/// Jumps that are remembered.
const JUMPS: usize = 64;

/// Where a store takes the time from: the system, or for tests a time that is set.
///
/// The time never goes back. If the system's clock is set back, time goes on from where it was, at the pace of the system's steady clock, until the system's clock has caught
/// up: so a key that has expired does not come back. If it is set forward, time jumps with it.
///
/// ```
/// use skein_store::{Clock, Store, StoreOptions};
/// use std::time::Duration;
///
/// # let folder = tempfile::tempdir()?;
/// let clock = Clock::manual(1_000_000);
/// let options = StoreOptions { clock: clock.clone(), ..StoreOptions::default() };
/// let store = Store::open(folder.path(), options)?;
/// store.put_until(b"goose", b"grey", clock.now() + 500)?;
/// clock.advance(Duration::from_millis(500));
/// assert!(store.get(b"goose")?.is_some(), "it is the last millisecond");
/// clock.advance(Duration::from_millis(1));
/// assert!(store.get(b"goose")?.is_none());
/// clock.set(1_000_000);
/// assert!(store.get(b"goose")?.is_none(), "what has expired stays away");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ExpiryClock(Arc<ClockPair>);

/// A pair of clocks: one that somebody may set, and a steady one. What counts is the steady clock, ahead by the greatest lead of the other one that was ever seen.
#[derive(Debug)]
struct ClockPair {
    source: ClockSource,
    /// Microseconds. It never falls.
    lead: AtomicU64,
    /// The last jumps of the lead, the oldest first. Locked by whoever makes the lead jump.
    jumps: Mutex<VecDeque<LeadJump>>,
}

#[derive(Debug)]
enum ClockSource {
    /// The system's two clocks; the steady one counts from here.
    System(Instant),
    /// Clocks that stand, in microseconds.
    Manual { wall: AtomicU64, steady: AtomicU64 },
}

/// What the lead was before it jumped.
#[derive(Debug)]
struct LeadJump {
    /// By the steady clock.
    at: u64,
    before: u64,
}

impl ClockSource {
    /// Reads the clocks. The steady one last: a pause between the two makes the lead look smaller, which the greatest lead forgives.
    #[inline]
    fn read(&self) -> (u64, u64) {
        match self {
            Self::System(begun) => {
                let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, microseconds);
                (wall, microseconds(begun.elapsed()))
            }
            // Relaxed: numbers, ordered with nothing.
            Self::Manual { wall, steady } => (wall.load(Ordering::Relaxed), steady.load(Ordering::Relaxed)),
        }
    }
}

impl Default for ClockPair {
    fn default() -> Self {
        Self::of(ClockSource::System(Instant::now()))
    }
}

impl ClockPair {
    fn of(source: ClockSource) -> Self {
        let (wall, steady) = source.read();
        Self { source, lead: AtomicU64::new(wall.saturating_sub(steady)), jumps: Mutex::default() }
    }

    /// The steady clock, and how much the time is ahead of it.
    #[inline]
    fn read(&self) -> (u64, u64) {
        let (wall, steady) = self.source.read();
        // Relaxed: the lead only rises, and a thread that has seen it sees no smaller one.
        let (lead, seen) = (self.lead.load(Ordering::Relaxed), wall.saturating_sub(steady));
        if seen > lead {
            self.rise(seen, steady);
        }
        (steady, seen.max(lead))
    }

    #[cold]
    fn rise(&self, to: u64, at: u64) {
        let mut jumps = lock(&self.jumps);
        // Relaxed: whoever asks for jumps has the lock.
        let before = self.lead.fetch_max(to, Ordering::Relaxed);
        // If there are too many, the oldest count: they are the most careful ones.
        if to.saturating_sub(before) >= JUMP && jumps.len() < JUMPS {
            jumps.push_back(LeadJump { at, before });
        }
    }

    /// The time that it was `ago` microseconds before by the steady clock, whatever has jumped since.
    fn before(&self, ago: u64) -> u64 {
        let (steady, _) = self.read();
        let mut jumps = lock(&self.jumps);
        while jumps.front().is_some_and(|jump| jump.at.saturating_add(ago) <= steady) {
            jumps.pop_front();
        }
        // Relaxed: the lock is held, and small rises make no difference.
        let lead = jumps.front().map_or_else(|| self.lead.load(Ordering::Relaxed), |jump| jump.before);
        lead.saturating_add(steady).saturating_sub(ago)
    }
}

impl ExpiryClock {
    /// The system's clock; the default.
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that stands, at `unix_ms` milliseconds after 1970. Its clones are the same clock.
    pub fn manual(unix_ms: u64) -> Self {
        let wall = AtomicU64::new(unix_ms.saturating_mul(MS));
        Self(Arc::new(ClockPair::of(ClockSource::Manual { wall, steady: AtomicU64::new(0) })))
    }

    /// The time, in milliseconds since 1970.
    #[inline]
    pub fn now(&self) -> u64 {
        let (steady, lead) = self.0.read();
        steady.saturating_add(lead) / MS
    }

    /// The time that it was so long ago, by a clock that nobody sets: who has asked for the time since then was told no earlier one.
    pub(crate) fn before(&self, ago: Duration) -> u64 {
        self.0.before(microseconds(ago)) / MS
    }

    /// Lets time go by on a clock that stands; the system's goes on as it does.
    pub fn advance(&self, by: Duration) {
        if let ClockSource::Manual { wall, steady } = &self.0.source {
            // Relaxed: as in `read`.
            wall.fetch_add(microseconds(by), Ordering::Relaxed);
            steady.fetch_add(microseconds(by), Ordering::Relaxed);
        }
    }

    /// Sets a clock that stands, back or forward, as somebody sets the system's clock; that one stays as it is.
    pub fn set(&self, unix_ms: u64) {
        if let ClockSource::Manual { wall, .. } = &self.0.source {
            // So that the time until now has been seen.
            self.0.read();
            // Relaxed: as in `read`.
            wall.store(unix_ms.saturating_mul(MS), Ordering::Relaxed);
        }
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A way to ask for the time: the present one, or one that was frozen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationTime<'c> {
    clock: &'c ExpiryClock,
    frozen: Option<u64>,
}

impl<'c> OperationTime<'c> {
    pub(crate) fn new(clock: &'c ExpiryClock, frozen: Option<u64>) -> Self {
        Self { clock, frozen }
    }

    /// The time, in milliseconds since 1970.
    #[inline]
    pub(crate) fn now(self) -> u64 {
        self.frozen.unwrap_or_else(|| self.clock.now())
    }

    /// The same, from now on always this moment.
    pub(crate) fn fixed(self) -> Self {
        Self { frozen: Some(self.now()), ..self }
    }

    /// Whether a row is still there. The clock is read only if the row expires some time.
    #[inline]
    pub(crate) fn shows(self, row: RowRef<'_>) -> bool {
        row.expires_at().is_none() || !row.has_expired(self.now())
    }

    /// The row, if it is still there.
    #[inline]
    pub(crate) fn live(self, row: Option<RowRef<'_>>) -> Option<RowRef<'_>> {
        row.filter(|row| self.shows(*row))
    }
}
