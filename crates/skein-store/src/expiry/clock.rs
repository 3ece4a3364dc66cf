//! What time it is, and whether a row is still there at that time.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use skein_sync::atomic::{AtomicU64, Ordering};

use crate::row::RowRef;

/// Where a store takes the time from: the system, or for tests a time that is set.
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
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicU64>>);

impl Clock {
    /// The system's clock; the default.
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that stands, at `unix_ms` milliseconds after 1970. Its clones are the same clock.
    pub fn manual(unix_ms: u64) -> Self {
        Self(Some(Arc::new(AtomicU64::new(unix_ms))))
    }

    /// The time, in milliseconds since 1970.
    #[inline]
    pub fn now(&self) -> u64 {
        match &self.0 {
            // Relaxed: a number, ordered with nothing.
            Some(time) => time.load(Ordering::Relaxed),
            None => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, milliseconds),
        }
    }

    /// Moves a clock that stands; the system's goes on as it does.
    pub fn advance(&self, by: Duration) {
        if let Some(time) = &self.0 {
            // Relaxed: as above.
            time.fetch_add(milliseconds(by), Ordering::Relaxed);
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A way to ask for the time: the present one, or one that was frozen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time<'c> {
    clock: &'c Clock,
    frozen: Option<u64>,
}

impl<'c> Time<'c> {
    pub(crate) fn new(clock: &'c Clock, frozen: Option<u64>) -> Self {
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
