//! The collector: a collector of `seize`, and the class that counts its guards.

use std::mem;
use std::sync::Once;

use super::abandoned_guards::CollectorClass;
use super::guards::{LocalGuard, OwnedGuard};
use crate::forks;

/// Keeps retired objects until no guard protects them, then frees them.
///
/// Dropping the collector frees the objects that still wait, unless a guard was leaked.
#[derive(Debug)]
pub struct Collector {
    pub(super) seize: seize::Collector,
    pub(super) class: CollectorClass,
    /// Whether a reservation is active for ever.
    pinned: Once,
    /// The value of [`forks::generation`] in the process that made it.
    generation: u32,
}

/// The argument of a reclaimer: proof that no guard protects the object any more.
#[repr(transparent)]
#[derive(Debug)]
pub struct GracePeriod(seize::Collector);

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl Collector {
    /// Creates a collector without guards.
    pub fn new() -> Self {
        Self {
            seize: seize::Collector::new(),
            class: CollectorClass::next(),
            pinned: Once::new(),
            generation: forks::generation(),
        }
    }

    /// Returns whether guards must not change their reservations any more (invariants 2 and 7).
    #[inline(always)]
    pub(super) fn is_frozen(&self) -> bool {
        self.class.is_frozen() || !forks::is_current(self.generation)
    }

    /// Sets how many objects a thread retires before it hands them over together. Rounded up to a
    /// power of two.
    #[must_use]
    pub fn batch_size(self, objects: usize) -> Self {
        Self { seize: self.seize.batch_size(objects), ..self }
    }

    /// Returns a guard of the current thread.
    #[inline]
    pub fn enter(&self) -> LocalGuard<'_> {
        LocalGuard::enter(self)
    }

    /// Returns a guard that any thread may hold. It costs more than [`enter`](Self::enter).
    pub fn enter_owned(&self) -> OwnedGuard<'_> {
        OwnedGuard::enter(self)
    }

    /// Protects all objects from now on, like a leaked guard. For owned guards of a frozen class:
    /// each would otherwise use up a number, because invariant 2 forbids its return.
    pub(super) fn pin(&self) {
        self.pinned.call_once(|| mem::forget(self.seize.enter_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::reclaim::Guard as _;

    static FREED: AtomicU32 = AtomicU32::new(0);

    unsafe fn count(_: *mut u32, _: &GracePeriod) {
        FREED.fetch_add(1, Ordering::Relaxed);
    }

    /// Incident: a child of a fork dropped the last guard that protected retired objects, and freed
    /// them. Consequence: it waited for ever for a lock that another thread of the parent had held.
    /// Fix: in a child, guards of the parent's collectors change nothing.
    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot fork")]
    fn a_guard_that_is_dropped_in_a_forked_child_frees_nothing() {
        let collector = Collector::new().batch_size(1);
        let guard = collector.enter();
        let mut object = 7;
        // SAFETY: nobody can reach the object, and its reclaimer only counts.
        unsafe { guard.defer_retire(&raw mut object, count) };
        guard.flush();
        // SAFETY: the child changes atomics and ends by `_exit`, which runs no destructors.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(guard);
            // A collector of its own frees.
            let own = Collector::new().batch_size(1);
            let before = FREED.load(Ordering::Relaxed);
            let guard = own.enter();
            // SAFETY: as above.
            unsafe { guard.defer_retire(&raw mut object, count) };
            guard.flush();
            drop(guard);
            let after = FREED.load(Ordering::Relaxed);
            // SAFETY: it only ends the process.
            unsafe { libc::_exit(i32::from((before, after) != (0, 1))) };
        }
        let mut status = 0;
        // SAFETY: the child is ours, and the status is a variable of this thread.
        let ended = unsafe { libc::waitpid(child, ptr::from_mut(&mut status), 0) };
        assert_eq!((ended, status), (child, 0), "the child freed objects of its parent, or not its own");
        assert_eq!(FREED.load(Ordering::Relaxed), 0);
        drop(guard);
        assert_eq!(FREED.load(Ordering::Relaxed), 1, "the parent goes on");
    }
}
