//! Memory reclamation: when may a node that readers can still see be freed?
//!
//! ```text
//!   reader:   enter() ── load pointer ── read node ── drop guard
//!   writer:   unlink node ── retire(node) ───────────────────────► freed here, no earlier
//! ```
//!
//! `SkeinDB` uses one scheme everywhere: the crate `seize` (Hyaline-style batches of retired objects, counted
//! by the guards that could still see them). This module is the only place that names it. A [`Collector`] is
//! a value, not a global, so an index or a store owns its own and needs no `'static` data; what is still
//! waiting when the collector is dropped is freed then.
//!
//! Loads that may only be followed under a guard need `Acquire`; the crate's asymmetric fence orders the
//! guard's entry before them (its "fast barrier"), so a lookup pays no fence of its own.

pub use seize::{Collector, Guard, LocalGuard, OwnedGuard};

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
