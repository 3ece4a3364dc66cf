//! The number of threads, and the distribution of work among them.

use std::thread::Builder;

/// The most threads of a kind, and the most logs, that an option allows.
pub const MOST: usize = 1024;

/// Returns the number of cores that this process may use, at most [`MOST`]; 1 if the system does
/// not say.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MOST)
}

/// Runs `work` on up to `threads` threads, each with its number; the calling thread is number 0.
/// Returns when all have finished.
///
/// REQUIRES: `work` must take its pieces from a common place and not by its thread's number. The
/// system may refuse a thread (it limits their number, and memory); then fewer threads do all of
/// the work.
///
/// ```
/// use skein_sync::atomic::{AtomicUsize, Ordering};
///
/// let (next, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
/// skein_sync::threads::share(4, |_| loop {
///     match next.fetch_add(1, Ordering::Relaxed) {
///         ticket @ 0..100 => sum.fetch_add(ticket, Ordering::Relaxed),
///         _ => return,
///     };
/// });
/// assert_eq!(sum.into_inner(), 4950);
/// ```
///
/// # Panics
/// Panics if `work` panics on any of the threads.
pub fn share(threads: usize, work: impl Fn(usize) + Sync) {
    share_on(threads, Builder::new, work);
}

fn share_on(threads: usize, builder: impl Fn() -> Builder, work: impl Fn(usize) + Sync) {
    let work = &work;
    std::thread::scope(|scope| {
        for number in 1..threads {
            if builder().spawn_scoped(scope, move || work(number)).is_err() {
                break;
            }
        }
        work(0);
    });
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::locks::{into_inner, lock};

    /// Returns the numbers of the threads that took part.
    fn numbers(threads: usize, builder: impl Fn() -> Builder) -> Vec<usize> {
        let seen = Mutex::new(Vec::new());
        share_on(threads, builder, |number| lock(&seen).push(number));
        let mut seen = into_inner(seen);
        seen.sort_unstable();
        seen
    }

    #[test]
    fn every_thread_has_a_number() {
        assert_eq!(numbers(3, Builder::new), [0, 1, 2]);
        assert_eq!(numbers(1, Builder::new), [0]);
        assert_eq!(numbers(0, Builder::new), [0]);
    }

    /// Incident: recoveries and checkpoints panicked when the system refused a thread. Fix: they
    /// continue with fewer threads.
    #[test]
    #[cfg_attr(miri, ignore = "Miri grants a stack of any size")]
    fn fewer_threads_do_the_work_if_the_system_refuses_one() {
        // No address space has room for such a stack.
        assert_eq!(numbers(3, || Builder::new().stack_size(1 << 46)), [0]);
    }
}
