//! Memory reclamation: decides when a retired node can be freed because no reader can still see it.
//!
//! ```text
//!   reader:   enter() ── load pointer ── read node ── drop guard
//!   writer:   unlink node ── retire(node) ───────────────────────► freed here, no earlier
//! ```
//!
//! `SkeinDB` uses one scheme everywhere: the crate `seize` (Hyaline-style batches of retired
//! objects, counted by the guards that could still see them). Only this module names the crate; its
//! types stay inside. A [`Collector`] is a value and not a global, so an index or a store owns its
//! own and needs no `'static` data.
//!
//! A pointer that a guard must protect is loaded with [`PROTECT`]. The crate's asymmetric fence
//! (its "fast barrier") orders the guard's entry before such loads, so a lookup pays for no fence
//! of its own.
//!
//! # Gaps of `seize` 0.5.1
//! `seize` numbers the threads. A collector has one reservation per number: the list of batches
//! that wait for it, and a count of its `LocalGuard`s. A thread that ends returns its number,
//! although some of its guards may still exist: leaked ones, or ones in thread-local values that
//! are dropped later. We call these guards *abandoned*.
//!
//! An `OwnedGuard` takes a number like a thread. If it gets the number of an abandoned guard, its
//! drop ends the reservation while the count stays above zero. Then all objects that the abandoned
//! guard can see are freed, and so are those that later guards on that number can see. If the
//! abandoned guard is dropped in the end, two threads change one count. All of this is safe code;
//! `docs/design/seize-leaked-guard.md` is the report.
//!
//! # Invariants
//! 1. Each thread counts its live [`LocalGuard`]s, per class of collectors (`abandoned_guards.rs`).
//!    When the thread ends, it *freezes* the classes whose count is not zero, before `seize`
//!    returns its number. Classes stay frozen for ever.
//! 2. In a frozen class no guard changes its reservation: drop, [`Guard::refresh`] and
//!    [`Guard::flush`] do nothing, and retired objects are leaked. So a reservation with an
//!    abandoned guard stays active (invariant 3), and no object that was retired since the guard's
//!    entry is freed.
//! 3. A thread that gets the number of an abandoned guard sees that the class is frozen. Freezing
//!    precedes the return of the number, and the mutex of the numbers orders the return before the
//!    next take. A guard on that number keeps the reservation active: a thread finds a count above
//!    zero and only adds to it, and an owned guard sets the list to empty (its batches are leaked),
//!    not to inactive.
//! 4. The abandoned guard itself sees the classes that its own thread froze, so it touches nothing
//!    that another thread owns by then.
//! 5. A thread that has already checked its counts (in destructors of thread-local values) takes
//!    owned guards for local ones. Each has its own number, which only its drop returns: a leaked
//!    owned guard stays active and protects for ever.
//! 6. [`Guard`] is sealed, so every guard is one of ours and protects the objects that are loaded
//!    under it. So [`check_guard`] is a sufficient check.
//! 7. In a forked child the collectors of its parent are frozen, too ([`crate::forks`]). A guard
//!    that was copied into the child would otherwise free objects there, and its reclaimers take
//!    locks that other threads of the parent may have held at the fork.
//!
//! So safe code may leak guards, nest them, send owned ones, or keep local ones in thread-local
//! values: at worst memory is leaked. Invariant 1 costs an addition to a thread-local word at entry
//! and at exit; invariant 2 costs a load of a word that hardly ever changes.
//!
//! Under `--cfg skein_loom` a stand-in takes the crate's place (`stand_in.rs`). It frees retired
//! objects when the collector is dropped, so a model never sees freed memory and explores none of
//! the steps of reclamation.
//!
//! Read `collector.rs`, `guards.rs` and `abandoned_guards.rs`, in this order; `grace_clock.rs` is for
//! memory inside objects. Design: `docs/design/memory.md`.

#[cfg(not(skein_loom))]
mod abandoned_guards;
#[cfg(not(skein_loom))]
mod collector;
mod grace_clock;
#[cfg(not(skein_loom))]
mod guards;
#[cfg(skein_loom)]
mod stand_in;

use crate::atomic::Ordering;

#[cfg(not(skein_loom))]
pub use collector::{Collector, GracePeriod};
pub use grace_clock::GraceClock;
#[cfg(not(skein_loom))]
pub use guards::{LocalGuard, OwnedGuard};
#[cfg(skein_loom)]
pub use stand_in::{Collector, GracePeriod, LocalGuard, OwnedGuard};

/// The ordering of a load of a pointer that is followed under a guard.
///
/// `SeqCst`: such loads take part in the total order of the guard's entry and of the barrier that
/// begins each retirement. On x86, and with `LDAR` on Arm, it costs no more than `Acquire`.
pub const PROTECT: Ordering = Ordering::SeqCst;

mod sealed {
    pub trait Sealed {}
}

/// Protects loaded objects while it lives: an object that is retired meanwhile is not freed before
/// the guard is dropped or refreshed.
///
/// Sealed, because unsafe code relies on it: [`LocalGuard`] and [`OwnedGuard`] are the only
/// implementations.
///
/// ```compile_fail,E0277
/// use skein_sync::reclaim::{Collector, GracePeriod, Guard};
///
/// struct Fake<'a>(&'a Collector);
///
/// impl Guard for Fake<'_> {
///     fn refresh(&mut self) {}
///     fn flush(&self) {}
///     fn collector(&self) -> &Collector { self.0 }
///     fn thread_id(&self) -> usize { 0 }
///     unsafe fn defer_retire<T>(&self, _: *mut T, _: unsafe fn(*mut T, &GracePeriod)) {}
/// }
/// ```
///
/// A [`LocalGuard`] stays on its thread:
///
/// ```compile_fail,E0277
/// let collector = skein_sync::reclaim::Collector::new();
/// let guard = collector.enter();
/// std::thread::scope(|scope| { scope.spawn(move || drop(guard)); });
/// ```
pub trait Guard: sealed::Sealed {
    /// Ends the protection of all objects loaded so far, like dropping the guard and taking another
    /// one.
    fn refresh(&mut self);

    /// Hands over the objects that this thread has retired, even if they are less than a batch.
    /// They may be freed once this guard is dropped.
    fn flush(&self);

    /// Returns the collector that made the guard.
    fn collector(&self) -> &Collector;

    /// Returns a small number for the current thread. It mostly differs from the numbers of other
    /// threads.
    fn thread_id(&self) -> usize;

    /// Calls `reclaim` with `pointer` once no guard protects the object; never, if a guard was
    /// leaked.
    ///
    /// # Safety
    /// - No guard that is taken from now on may reach the object.
    /// - The pointer must be valid for `reclaim` at that time, on any thread, and must be retired
    ///   once.
    unsafe fn defer_retire<T>(&self, pointer: *mut T, reclaim: unsafe fn(*mut T, &GracePeriod));
}

/// Panics unless `guard` was made by `collector`.
///
/// A guard of another collector would keep nothing alive, so every operation of an index checks
/// this first. The check compares two addresses.
///
/// # Panics
/// Panics if the guard belongs to another collector. This is a mistake in the calling program and
/// does not depend on input.
#[inline]
pub fn check_guard(collector: &Collector, guard: &impl Guard) {
    assert!(
        std::ptr::eq(collector, guard.collector()),
        "the guard belongs to another collector; take one from this index's `collector()`"
    );
}
