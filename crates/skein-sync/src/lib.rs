//! Building blocks for the concurrent parts of `SkeinDB`: atomics, version words, memory
//! reclamation, locks and threads.
//!
//! - [`atomic`]: the atomics façade. With `RUSTFLAGS="--cfg skein_loom"`, every atomic of the
//!   indexes and of the log becomes one that `loom` explores, or `shuttle` with the feature of that
//!   name.
//! - `background` (feature of that name): a background thread that is woken, stopped and joined.
//! - [`cache`]: prefetch, and values that share no cache line.
//! - [`forks`]: tells a process from its forked children.
//! - [`locks`]: functions for locks that ignore poisoning; [`mutex`]: a mutex that `loom` and
//!   `shuttle` can replace.
//! - [`reclaim`]: the memory reclamation scheme.
//! - [`rooms`]: lets threads work side by side, or one alone.
//! - [`spin`]: a short wait for a latch.
//! - [`threads`]: distributes work among several threads.
//! - [`version`]: the version word of a tree node, which shows writers to readers.

pub mod atomic;
#[cfg(feature = "background")]
pub mod background;
pub mod cache;
pub mod forks;
pub mod locks;
pub mod mutex;
pub mod reclaim;
pub mod rooms;
pub mod spin;
pub mod threads;
pub mod version;

#[cfg(all(skein_loom, not(feature = "shuttle")))]
use loom as model;
#[cfg(all(skein_loom, feature = "shuttle"))]
use shuttle as model;
