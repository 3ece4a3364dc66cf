//! Tells a process from its forked children.
//!
//! After a fork the child has the memory of its parent, but none of its threads, and it shares the
//! parent's locks of files. A store that was opened before the fork must not be used in the child.
//! [`generation`] changes in the child, so a store that remembers it knows.

#[cfg(not(miri))]
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many forks lie between the first call of [`generation`] and this process.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Runs in the child, before the fork returns.
#[cfg(not(miri))]
extern "C" fn count_fork() {
    // Relaxed: the child has one thread.
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Returns a number that differs between this process and the children that it forks later. It
/// costs one load of a word that does not change.
#[inline]
pub fn generation() -> u32 {
    #[cfg(not(miri))]
    static WATCH: Once = Once::new();
    // Miri has neither forks nor handlers of them.
    #[cfg(not(miri))]
    WATCH.call_once(|| {
        // SAFETY: the handler only changes an atomic, which is allowed in a child of a process with
        // many threads. It lives as long as the process. If there is no memory for the entry,
        // forks are not noticed.
        unsafe { libc::pthread_atfork(None, None, Some(count_fork)) };
    });
    GENERATION.load(Ordering::Relaxed)
}

/// Returns whether no fork lies between the call of [`generation`] that returned this number and
/// this process. One load.
#[cfg(not(skein_loom))]
#[inline(always)]
pub(crate) fn is_current(generation: u32) -> bool {
    // Relaxed: the child has changed it before the fork returned.
    GENERATION.load(Ordering::Relaxed) == generation
}
