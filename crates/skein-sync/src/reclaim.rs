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
//! A pointer that a guard is to protect is loaded with [`PROTECT`]; the crate's asymmetric fence orders the
//! guard's entry before such loads (its "fast barrier"), so a lookup pays no fence of its own.
//!
//! Under `--cfg skein_loom` a stand-in takes the crate's place: it frees what was retired when the collector
//! is dropped, so a model never sees freed memory, and explores none of the reclamation's own steps.

#[cfg(skein_loom)]
mod stand_in;

use crate::atomic::Ordering;

#[cfg(not(skein_loom))]
pub use seize::{Collector, Guard, LocalGuard, OwnedGuard};
#[cfg(skein_loom)]
pub use stand_in::{Collector, Guard, LocalGuard, OwnedGuard};

/// The ordering of a load whose pointer is followed under a guard.
///
/// `SeqCst`: such loads take part in the total order of the guard's entry and of the barrier that
/// retiring starts with. On x86 and with `LDAR` on Arm it costs no more than `Acquire`.
pub const PROTECT: Ordering = Ordering::SeqCst;

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
