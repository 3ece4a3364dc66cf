//! How many threads there are to be, and work that they share out among themselves.

use std::thread::Builder;

/// The most threads of a kind, and the most logs, that an option may ask for.
pub const MOST: usize = 1024;

/// How many cores this process may use, as far as options go: 1 if the system does not say, [`MOST`] if it has more.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MOST)
}

/// Runs `work` on up to `threads` threads, each with its number; the calling thread is number 0. Returns when all are
/// done.
///
/// REQUIRES: `work` takes what is left to do from a common place, and not by its number. For the system may refuse a
/// thread (there are limits on their number, and on memory); then fewer do all of the work.
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
/// If `work` panics, on any of the threads.
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

    /// The numbers of the threads that took part.
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

    /// Recoveries and checkpoints ended by a panic where the system refused a thread; now they go on with fewer.
    #[test]
    #[cfg_attr(miri, ignore = "Miri grants a stack of any size")]
    fn a_thread_that_the_system_refuses_is_done_without() {
        // No address space holds such a stack.
        assert_eq!(numbers(3, || Builder::new().stack_size(1 << 46)), [0]);
    }
}
