//! CLIENT PAUSE: holds back requests for a while, either all of them or those that write.
//!
//! ```text
//!   CLIENT PAUSE ─► ClientPause ◄─ each worker checks it once per round of requests
//!                     └► requests stay queued; the worker wakes when the pause ends
//! ```
//!
//! Without a pause, a check is one load.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use skein_sync::locks::lock;

/// The longest pause. Longer pauses are not useful, and a mistyped number should not stop all
/// clients.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The requests that are held back. The greater variant holds back more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PausedRequests {
    Writes,
    All,
}

/// The current pause, if there is one.
#[derive(Debug, Default)]
pub(crate) struct ClientPause {
    /// Whether there may be a pause.
    begun: AtomicBool,
    state: Mutex<PauseState>,
    /// The number of clients with requests that are held back.
    holding: Arc<AtomicUsize>,
}

/// A client with a request that is held back. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct HeldClient(Arc<AtomicUsize>);

impl Drop for HeldClient {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// `begun` changes only under the lock of this state. Otherwise the end of one pause could hide a
/// pause that begins at the same time.
#[derive(Debug, Default)]
struct PauseState {
    until: Option<(PausedRequests, Instant)>,
    /// Whether the server is stopping: queued requests are answered, and no pause holds them back.
    closed: bool,
}

impl ClientPause {
    /// Holds requests back for `time`, at most [`LONGEST`]. As in Redis, if two pauses overlap, the
    /// later end applies, and the requests that either holds back.
    pub(crate) fn begin(&self, held: PausedRequests, time: Duration) {
        let end = Instant::now() + time.min(LONGEST);
        let mut state = lock(&self.state);
        if state.closed {
            return;
        }
        let (was_held, was_end) = state.until.filter(|(_, end)| *end > Instant::now()).unwrap_or((held, end));
        state.until = Some((held.max(was_held), end.max(was_end)));
        // Relaxed: a worker that does not see the pause yet runs beside the worker that began it.
        // The latter waits for the other's turn to end (`AfterCommand::Fence`).
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Counts a client with a request that is held back.
    pub(crate) fn hold(&self) -> HeldClient {
        // Relaxed: a number for people.
        self.holding.fetch_add(1, Ordering::Relaxed);
        HeldClient(Arc::clone(&self.holding))
    }

    /// Returns the number of clients with requests that are held back.
    pub(crate) fn holding(&self) -> usize {
        self.holding.load(Ordering::Relaxed)
    }

    /// Ends the pause.
    pub(crate) fn end(&self) {
        self.clear(&mut lock(&self.state));
    }

    /// Ends the pause, and prevents later ones.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        self.clear(&mut state);
    }

    fn clear(&self, state: &mut PauseState) {
        state.until = None;
        self.begun.store(false, Ordering::Relaxed);
    }

    /// Returns the requests that are held back now, and for how much longer.
    #[inline]
    pub(crate) fn now(&self) -> Option<(PausedRequests, Duration)> {
        if self.begun.load(Ordering::Relaxed) { self.look() } else { None }
    }

    #[cold]
    fn look(&self) -> Option<(PausedRequests, Duration)> {
        let mut state = lock(&self.state);
        let left = state.until.map(|(held, end)| (held, end.saturating_duration_since(Instant::now())));
        let now = left.filter(|(_, left)| !left.is_zero());
        if now.is_none() {
            self.clear(&mut state);
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_pauses_the_longer_and_the_stricter_apply() {
        let pause = ClientPause::default();
        assert_eq!(pause.now(), None);
        pause.begin(PausedRequests::All, Duration::ZERO);
        assert_eq!(pause.now(), None, "it is over");
        pause.begin(PausedRequests::Writes, Duration::from_secs(2 * 60 * 60));
        pause.begin(PausedRequests::All, Duration::from_secs(60));
        let (held, left) = pause.now().expect("a pause");
        assert!(held == PausedRequests::All && left > Duration::from_secs(60 * 60), "{held:?} {left:?}");
        pause.begin(PausedRequests::Writes, Duration::MAX);
        assert!(pause.now().is_some_and(|(_, left)| left <= LONGEST));
        pause.end();
        assert_eq!(pause.now(), None);
        pause.begin(PausedRequests::Writes, Duration::from_secs(60));
        assert!(
            pause.now().is_some_and(|(held, _)| held == PausedRequests::Writes),
            "what ended says nothing any more"
        );
        pause.close();
        pause.begin(PausedRequests::All, Duration::from_secs(60));
        assert_eq!(pause.now(), None, "a stop would wait for it");
    }
}
