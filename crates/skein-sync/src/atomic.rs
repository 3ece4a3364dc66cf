//! The atomics façade: `std`'s types, or `loom`'s under `--cfg skein_loom`.
//!
//! Everything that is shared between threads in `SkeinDB` goes through these names, so that a model of a
//! protocol is the protocol's own code and not a copy of it.

#[cfg(skein_loom)]
mod traced;

#[cfg(skein_loom)]
pub use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicUsize, Ordering, fence,
};
#[cfg(not(skein_loom))]
pub use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(skein_loom)]
pub use traced::AtomicU64;
