//! Tests of the background thread: no wake is lost, and a stop happens once.

use std::sync::mpsc::channel;
use std::time::Instant;

use super::*;
use crate::atomic::{AtomicU64, Ordering};

/// Long enough that no test waits for it.
const NEVER: Duration = Duration::from_secs(60 * 60);

fn start(run: impl FnOnce(&ThreadSignal) + Send + 'static) -> BackgroundThread {
    BackgroundThread::start("skein-test", Arc::default(), run).unwrap()
}

/// The producer waits for each piece of work, so one lost wake blocks the test. It adds the next
/// piece while the thread is between its work and its wait.
#[test]
fn no_wake_is_lost() {
    const PIECES: u64 = if cfg!(miri) { 20 } else { 20_000 };
    let (added, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (work, seen) = (added.clone(), done.clone());
    let thread = start(move |signal| {
        let mut turns = 0;
        while if turns % 2 == 0 { signal.wait() } else { signal.wait_timeout(NEVER) } {
            // Relaxed, all: `wake` and `wait` order the work, and `done` is a number by itself.
            seen.store(work.load(Ordering::Relaxed), Ordering::Relaxed);
            turns += 1;
            if turns % 3 == 0 {
                std::thread::yield_now();
            }
        }
    });
    for piece in 1..=PIECES {
        added.store(piece, Ordering::Relaxed);
        thread.wake();
        while done.load(Ordering::Relaxed) < piece {
            std::thread::yield_now();
        }
    }
    assert!(thread.stop());
}

#[test]
fn a_wake_before_the_start_is_seen() {
    let signal = Arc::new(ThreadSignal::default());
    signal.wake();
    let (woken, wakes) = channel();
    let thread = BackgroundThread::start("skein-test", signal, move |signal| {
        while signal.wait_timeout(NEVER) {
            woken.send(()).unwrap();
        }
    });
    wakes.recv().unwrap();
    drop(thread.unwrap());
    assert!(wakes.recv().is_err(), "one wake, one turn");
}

#[test]
fn a_timeout_lets_the_thread_continue() {
    let signal = ThreadSignal::default();
    assert!(signal.wait_timeout(Duration::from_millis(1)));
    signal.stop();
    signal.wake();
    assert!(!signal.wait() && !signal.wait_timeout(NEVER) && signal.is_stopped());
}

/// When `stop` returns, the thread has ended.
#[test]
fn stops_wait_for_the_end_and_agree() {
    let ended = Arc::new(AtomicU64::new(0));
    let ending = ended.clone();
    let thread = start(move |signal| {
        while signal.wait() {}
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(20) {
            std::thread::yield_now();
        }
        ending.store(1, Ordering::Release);
    });
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!((thread.stop(), ended.load(Ordering::Acquire)), (true, 1)));
        }
    });
    assert!(thread.stop());
}

#[test]
fn the_thread_may_drop_its_own_handle() {
    let own = Arc::new(Mutex::new(None::<BackgroundThread>));
    let (ended, end) = channel();
    let taken = own.clone();
    let thread = start(move |signal| {
        while signal.wait() {
            if let Some(thread) = lock(&taken).take() {
                assert!(thread.stop());
            }
        }
        ended.send(()).unwrap();
    });
    lock(&own).insert(thread).wake();
    end.recv().unwrap();
}

#[test]
fn a_panic_is_reported_once() {
    struct Count(Arc<AtomicU64>);
    impl tracing::Subscriber for Count {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::Id {
            tracing::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::Id, _: &tracing::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            assert_eq!(*event.metadata().level(), tracing::Level::ERROR);
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn enter(&self, _: &tracing::Id) {}
        fn exit(&self, _: &tracing::Id) {}
    }
    let events = Arc::new(AtomicU64::new(0));
    let counted = events.clone();
    let thread = start(move |_| {
        // For the rest of the thread, past the end of `run`.
        std::mem::forget(tracing::subscriber::set_default(Count(counted)));
        panic!("on purpose");
    });
    assert!(!thread.stop() && !thread.stop());
    drop(thread);
    assert_eq!(events.load(Ordering::Relaxed), 1);
}
