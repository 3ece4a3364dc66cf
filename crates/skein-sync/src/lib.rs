//! What the concurrent parts of `SkeinDB` share.
//!
//! - [`atomic`]: the atomics façade. Build with `RUSTFLAGS="--cfg skein_loom"` and every atomic of the
//!   indexes and of the log becomes one that `loom` explores, or `shuttle` with the feature of that name.
//! - [`cache`]: the processor's cache lines: prefetch, and values that share no line.
//! - [`locks`]: mutexes whose holder may have panicked; [`mutex`]: one that `loom` and `shuttle` can replace.
//! - [`reclaim`]: the one memory reclamation scheme, in one place.
//! - [`spin`]: how a thread waits for another one that holds a latch for a few dozen instructions.
//! - [`threads`]: work that several threads share out among themselves.
//! - [`version`]: the version word of a tree node, by which readers notice writers.

pub mod atomic;
pub mod cache;
pub mod locks;
pub mod mutex;
pub mod reclaim;
pub mod spin;
pub mod threads;
pub mod version;

#[cfg(all(skein_loom, not(feature = "shuttle")))]
use loom as model;
#[cfg(all(skein_loom, feature = "shuttle"))]
use shuttle as model;
