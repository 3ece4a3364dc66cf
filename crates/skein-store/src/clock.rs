//! The clock of a store: a wall clock that never falls.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::locks::lock;

/// An expired key is removed only this much later, so that an operation with a frozen time (for
/// example a transaction) never sees the removal. The half second is measured by the steady clock,
/// so a jump of the wall clock does not shorten it.
pub(crate) const REMOVAL_GRACE: Duration = Duration::from_millis(500);

/// Microseconds of a millisecond.
const MS: u64 = 1_000;
/// A lead that rises by this much at once counts as a jump. Smaller rises are the error of reading
/// two clocks one after the other.
const JUMP: u64 = MS;
/// The largest number of jumps that are remembered.
const JUMPS: usize = 64;

/// The clock of a store: that of the system, or a manual one for tests.
///
/// The time never falls. If the system's clock is set back, time continues from its last value, at
/// the pace of the system's steady clock, until the system's clock has caught up. So an expired key
/// never becomes visible again. If the system's clock is set forward, time jumps with it.
///
/// ```
/// use skein_store::{ExpiryClock, Store, StoreOptions};
/// use std::time::Duration;
///
/// # let folder = tempfile::tempdir()?;
/// let clock = ExpiryClock::manual(1_000_000);
/// let options = StoreOptions { clock: clock.clone(), ..StoreOptions::default() };
/// let store = Store::open(folder.path(), options)?;
/// store.put_until(b"goose", b"grey", clock.now() + 500)?;
/// clock.advance(Duration::from_millis(500));
/// assert!(store.get(b"goose")?.is_some(), "it is the last millisecond");
/// clock.advance(Duration::from_millis(1));
/// assert!(store.get(b"goose")?.is_none());
/// clock.set(1_000_000);
/// assert!(store.get(b"goose")?.is_none(), "an expired key stays absent");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ExpiryClock(Arc<ClockPair>);

/// A wall clock that may be set, and a steady clock. The time is the steady clock plus the greatest
/// lead of the wall clock that was ever seen.
#[derive(Debug)]
struct ClockPair {
    source: ClockSource,
    /// The lead in microseconds. It never falls.
    lead: AtomicU64,
    /// The last jumps of the lead, the oldest first. A thread that raises the lead by a jump holds
    /// the lock.
    jumps: Mutex<VecDeque<LeadJump>>,
}

#[derive(Debug)]
enum ClockSource {
    /// The clocks of the system. The steady one counts from this instant.
    System(Instant),
    /// Manual clocks, in microseconds.
    Manual { wall: AtomicU64, steady: AtomicU64 },
}

/// The lead before a jump.
#[derive(Debug)]
struct LeadJump {
    /// The time of the jump, by the steady clock.
    at: u64,
    before: u64,
}

impl ClockSource {
    /// Reads both clocks, the steady one last. A pause between the two reads makes the lead look
    /// smaller, which does not matter because the greatest lead counts.
    #[inline]
    fn read(&self) -> (u64, u64) {
        match self {
            Self::System(begun) => {
                let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, microseconds);
                (wall, microseconds(begun.elapsed()))
            }
            // Relaxed: numbers; they order nothing.
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

    /// Returns the steady clock, and the lead of the time over it.
    #[inline]
    fn read(&self) -> (u64, u64) {
        let (wall, steady) = self.source.read();
        // Relaxed: the lead only rises, and a thread that has seen a value sees no smaller one.
        let (lead, seen) = (self.lead.load(Ordering::Relaxed), wall.saturating_sub(steady));
        if seen > lead {
            self.rise(seen, steady);
        }
        (steady, seen.max(lead))
    }

    #[cold]
    fn rise(&self, to: u64, at: u64) {
        let mut jumps = lock(&self.jumps);
        // Relaxed: every reader of the jumps holds the lock.
        let before = self.lead.fetch_max(to, Ordering::Relaxed);
        // If there are too many jumps, the oldest ones are kept, because they give the earliest
        // times.
        if to.saturating_sub(before) >= JUMP && jumps.len() < JUMPS {
            jumps.push_back(LeadJump { at, before });
        }
    }

    /// Returns the time `ago` microseconds before, by the steady clock, without later jumps.
    fn before(&self, ago: u64) -> u64 {
        let (steady, _) = self.read();
        let mut jumps = lock(&self.jumps);
        while jumps.front().is_some_and(|jump| jump.at.saturating_add(ago) <= steady) {
            jumps.pop_front();
        }
        // Relaxed: the lock is held, and small rises do not matter.
        let lead = jumps.front().map_or_else(|| self.lead.load(Ordering::Relaxed), |jump| jump.before);
        lead.saturating_add(steady).saturating_sub(ago)
    }
}

impl ExpiryClock {
    /// Returns the clock of the system; the default.
    pub fn system() -> Self {
        Self::default()
    }

    /// Returns a manual clock at `unix_ms` milliseconds after 1970. Its clones are the same clock.
    pub fn manual(unix_ms: u64) -> Self {
        let wall = AtomicU64::new(unix_ms.saturating_mul(MS));
        Self(Arc::new(ClockPair::of(ClockSource::Manual { wall, steady: AtomicU64::new(0) })))
    }

    /// Returns the time, in milliseconds since 1970.
    #[inline]
    pub fn now(&self) -> u64 {
        let (steady, lead) = self.0.read();
        steady.saturating_add(lead) / MS
    }

    /// Returns the time in seconds since 1970, up to the year 2106.
    pub(crate) fn now_s(&self) -> u32 {
        u32::try_from(self.now() / 1000).unwrap_or(u32::MAX)
    }

    /// Returns the time up to which expired keys may be removed: half a second ago, by the steady
    /// clock. An operation with a frozen time that is younger does not see the removals.
    pub fn removes_before(&self) -> u64 {
        self.before(REMOVAL_GRACE)
    }

    /// Returns the time at `ago` before now, by the steady clock. Every call of `now` since then
    /// has returned this time or a later one.
    fn before(&self, ago: Duration) -> u64 {
        self.0.before(microseconds(ago)) / MS
    }

    /// Advances a manual clock. Does nothing to the clock of the system.
    pub fn advance(&self, by: Duration) {
        if let ClockSource::Manual { wall, steady } = &self.0.source {
            // Relaxed: as in `read`.
            wall.fetch_add(microseconds(by), Ordering::Relaxed);
            steady.fetch_add(microseconds(by), Ordering::Relaxed);
        }
    }

    /// Sets a manual clock back or forward, as a user sets the system's clock. Does nothing to the
    /// clock of the system.
    pub fn set(&self, unix_ms: u64) {
        if let ClockSource::Manual { wall, .. } = &self.0.source {
            // Notes the lead until now.
            self.0.read();
            // Relaxed: as in `read`.
            wall.store(unix_ms.saturating_mul(MS), Ordering::Relaxed);
        }
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
