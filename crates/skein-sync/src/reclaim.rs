//! Memory reclamation: when may a node that readers can still see be freed?
//!
//! ```text
//!   reader:   enter() ── load pointer ── read node ── drop guard
//!   writer:   unlink node ── retire(node) ───────────────────────► freed here, no earlier
//! ```
//!
//! `SkeinDB` uses one scheme everywhere: the crate `seize` (Hyaline-style batches of retired objects, counted by the guards that
//! could still see them). This module is the only place that names it; its types do not leave it. A [`Collector`] is a value, not a
//! global, so an index or a store owns its own and needs no `'static` data.
//!
//! A pointer that a guard is to protect is loaded with [`PROTECT`]; the crate's asymmetric fence orders the guard's entry before
//! such loads (its "fast barrier"), so a lookup pays no fence of its own.
//!
//! # What `seize` 0.5.1 leaves to us
//! `seize` numbers the threads. A collector has one reservation per number: the list of batches that wait for it, and a count of its
//! `LocalGuard`s. A thread that ends gives its number back, although guards of it may be left: leaked ones, or ones in thread-local
//! values that are dropped later. We call these guards *abandoned*. An `OwnedGuard` takes a number as a thread does. If it gets one
//! with an abandoned guard, it ends the reservation when it is dropped, while the count stays above zero: what the abandoned guard
//! was shown is freed, and so is all that later guards on that number are shown. If the abandoned guard is dropped at last, two
//! threads change one count. All of this is safe code; `docs/design/seize-leaked-guard.md` is the report.
//!
//! # Invariants
//! 1. Each thread counts its live [`LocalGuard`]s, per class of collectors (`abandoned.rs`). When the thread ends, it *freezes* the
//!    classes whose count is not zero, before `seize` gives its number back. Classes are frozen for ever.
//! 2. In a frozen class no guard changes its reservation any more: drop, [`Guard::refresh`] and [`Guard::flush`] do nothing, and
//!    what is retired is leaked. So a reservation with an abandoned guard stays active (invariant 3), and nothing that was retired
//!    since the guard's entry is freed.
//! 3. Whoever gets the number of an abandoned guard sees that the class is frozen: freezing comes before the number is given back, and
//!    the mutex of the numbers orders giving back before taking. Taking a guard on that number keeps the reservation active: a thread
//!    finds a count above zero and only adds to it, and an owned guard sets the list to empty (its batches are leaked), not to
//!    inactive.
//! 4. The abandoned guard itself sees what its own thread froze, so it touches nothing that another thread has by then.
//! 5. A thread past its count (in destructors of thread-local values) takes owned guards for local ones. Each has a number of its
//!    own, which only its drop gives back: a leaked owned guard stays active and protects for ever.
//! 6. [`Guard`] is sealed: a guard is one of ours, so it protects what is loaded under it, and [`check_guard`] suffices.
//!
//! So safe code may leak guards, nest them, send owned ones, or keep local ones in thread-local values: at worst memory is leaked. The
//! price of invariant 1 is an addition to a thread-local word at entry and at exit; that of invariant 2 a load of a word that hardly
//! ever changes.
//!
//! Under `--cfg skein_loom` a stand-in takes the crate's place: it frees what was retired when the collector
//! is dropped, so a model never sees freed memory, and explores none of the reclamation's own steps.

#[cfg(not(skein_loom))]
mod abandoned_guards;
#[cfg(not(skein_loom))]
mod collector;
#[cfg(not(skein_loom))]
mod guards;
#[cfg(skein_loom)]
mod stand_in;

use crate::atomic::Ordering;

#[cfg(not(skein_loom))]
pub use collector::{Collector, GracePeriod};
#[cfg(not(skein_loom))]
pub use guards::{LocalGuard, OwnedGuard};
#[cfg(skein_loom)]
pub use stand_in::{Collector, GracePeriod, LocalGuard, OwnedGuard};

/// The ordering of a load whose pointer is followed under a guard.
///
/// `SeqCst`: such loads take part in the total order of the guard's entry and of the barrier that
/// retiring starts with. On x86 and with `LDAR` on Arm it costs no more than `Acquire`.
pub const PROTECT: Ordering = Ordering::SeqCst;

mod sealed {
    pub trait Sealed {}
}

/// Keeps what is loaded while it lives: objects that are retired meanwhile are not freed before the guard is dropped or refreshed.
///
/// Sealed, because unsafe code relies on it: [`LocalGuard`] and [`OwnedGuard`] are all there are.
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
    /// Lets go of everything that was loaded so far, as dropping the guard and taking another one would.
    fn refresh(&mut self);

    /// Hands over what this thread has retired, though it be less than a batch. It may be freed once this guard is dropped.
    fn flush(&self);

    /// The collector that made the guard.
    fn collector(&self) -> &Collector;

    /// A number for the current thread: a small one, and mostly another one than that of other threads.
    fn thread_id(&self) -> usize;

    /// Calls `reclaim` with `pointer` once no guard protects the object any more; or never, if a guard was leaked.
    ///
    /// # Safety
    /// - Nobody who takes a guard from now on can reach the object.
    /// - The pointer is valid for `reclaim` when the time has come, on any thread, and is retired once.
    unsafe fn defer_retire<T>(&self, pointer: *mut T, reclaim: unsafe fn(*mut T, &GracePeriod));
}

/// Panics unless `guard` was made by `collector`.
///
/// A guard of another collector would not keep anything alive, so every operation of an index checks this
/// first; the check is one comparison of two addresses.
///
/// # Panics
/// If the guard belongs to another collector: a mistake in the calling program, never a matter of input.
#[inline]
pub fn check_guard(collector: &Collector, guard: &impl Guard) {
    assert!(
        std::ptr::eq(collector, guard.collector()),
        "the guard belongs to another collector; take one from this index's `collector()`"
    );
}
