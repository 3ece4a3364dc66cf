//! A background thread: it waits for work, another thread wakes it, and dropping its handle ends
//! it.
//!
//! ```text
//!   owner   BackgroundThread ── stop (also on drop): signal, then join
//!                │
//!   anyone  ThreadSignal ────── wake: sets `woken`      stop: sets `stopped`
//!                │
//!   thread  while signal.wait() { all work there is }   clears `woken`
//! ```
//!
//! The signal says only that there may be work. The work itself is where its owner keeps it: a
//! queue, a flag, a condition. So a thread that adds work needs no lock of this module around it.
//!
//! # Invariants
//! 1. `woken` stays set until the thread has seen it. The thread clears it before it looks for
//!    work. So work that was added before `wake` is found, even if the thread was busy or had not
//!    started.
//! 2. `stopped` is never cleared.
//! 3. The thread never joins itself: [`BackgroundThread::stop`] compares the ids first. So the
//!    thread may drop the last handle.
//! 4. The lock of the handle is held during the join. So when any other thread returns from
//!    `stop`, the thread has ended.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

use crate::locks::{lock, wait};

/// Wakes and stops one background thread.
#[derive(Debug, Default)]
pub struct ThreadSignal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SignalState {
    woken: bool,
    stopped: bool,
}

impl SignalState {
    fn is_idle(&self) -> bool {
        !self.woken && !self.stopped
    }

    /// Clears `woken`. Returns whether the thread should continue.
    fn begin(&mut self) -> bool {
        self.woken = false;
        !self.stopped
    }
}

impl ThreadSignal {
    /// Wakes the thread, because there may be work for it.
    pub fn wake(&self) {
        let was_woken = std::mem::replace(&mut lock(&self.state).woken, true);
        // Otherwise an earlier wake has notified the thread, which has not looked yet (1). A notice
        // is a system call, and busy threads are woken often.
        if !was_woken {
            self.changed.notify_one();
        }
    }

    /// Tells the thread to end, without waiting for its end.
    pub fn stop(&self) {
        lock(&self.state).stopped = true;
        self.changed.notify_one();
    }

    /// Returns whether the thread should end.
    pub fn is_stopped(&self) -> bool {
        lock(&self.state).stopped
    }

    /// Waits for the next [`wake`](Self::wake). Returns false if the thread should end.
    ///
    /// REQUIRES: only the signal's thread waits.
    pub fn wait(&self) -> bool {
        let mut state = lock(&self.state);
        while state.is_idle() {
            state = wait(&self.changed, state);
        }
        state.begin()
    }

    /// Waits for the next [`wake`](Self::wake), for at most `time`. Returns false if the thread
    /// should end.
    ///
    /// REQUIRES: only the signal's thread waits.
    pub fn wait_timeout(&self, time: Duration) -> bool {
        let state = lock(&self.state);
        let waited = self.changed.wait_timeout_while(state, time, |state| state.is_idle());
        waited.unwrap_or_else(PoisonError::into_inner).0.begin()
    }
}

/// A background thread. Dropping it stops the thread and waits for its end.
///
/// ```
/// use std::sync::{Arc, Mutex, mpsc};
/// use skein_sync::background::{BackgroundThread, ThreadSignal};
///
/// let (done, results) = mpsc::channel();
/// let queue = Arc::new(Mutex::new(vec![3, 4]));
/// let signal = Arc::new(ThreadSignal::default());
/// let work = queue.clone();
/// let thread = BackgroundThread::start("doubler", signal.clone(), move |signal| {
///     while signal.wait() {
///         work.lock().unwrap().drain(..).for_each(|number: u32| done.send(2 * number).unwrap());
///     }
/// })?;
/// signal.wake();
/// assert_eq!((results.recv(), results.recv()), (Ok(6), Ok(8)));
/// thread.stop();
/// assert!(results.recv().is_err(), "the thread has ended");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct BackgroundThread {
    signal: Arc<ThreadSignal>,
    id: ThreadId,
    handle: Mutex<ThreadHandle>,
}

#[derive(Debug)]
enum ThreadHandle {
    Running(JoinHandle<()>),
    Ended { panicked: bool },
}

impl BackgroundThread {
    /// Starts a thread that runs `run`. `run` should return soon after `signal` was stopped. A
    /// panic in `run` ends the thread and is reported once, as an error event of `tracing`.
    ///
    /// # Errors
    /// The system refused the thread.
    ///
    /// # Panics
    /// Panics if the name contains a zero byte.
    pub fn start(
        name: &str,
        signal: Arc<ThreadSignal>,
        run: impl FnOnce(&ThreadSignal) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (waits, thread) = (signal.clone(), name.to_owned());
        let handle = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _report =
                OnPanic(move || tracing::error!(thread, "a background thread panicked and has ended"));
            run(&waits);
        })?;
        let id = handle.thread().id();
        Ok(Self { signal, id, handle: Mutex::new(ThreadHandle::Running(handle)) })
    }

    /// Wakes the thread.
    pub fn wake(&self) {
        self.signal.wake();
    }

    /// Stops the thread and waits for its end. Returns false if it panicked. Further calls return
    /// the same.
    ///
    /// The thread itself may call this, too. Then it does not wait, and returns true.
    pub fn stop(&self) -> bool {
        self.signal.stop();
        if std::thread::current().id() == self.id {
            return true;
        }
        let mut handle = lock(&self.handle);
        let panicked = match std::mem::replace(&mut *handle, ThreadHandle::Ended { panicked: false }) {
            ThreadHandle::Running(thread) => thread.join().is_err(),
            ThreadHandle::Ended { panicked } => panicked,
        };
        *handle = ThreadHandle::Ended { panicked };
        !panicked
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Calls its closure when it is dropped by a thread that panics, so that others do not wait for
/// that thread.
pub struct OnPanic<F: Fn()>(pub F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests;
