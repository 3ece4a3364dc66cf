//! The atomics façade: `std`'s types, or `loom`'s under `--cfg skein_loom` (`shuttle`'s with the
//! feature of that name).
//!
//! All shared state of `SkeinDB` uses these names, so that a model runs the protocol's own code and
//! not a copy. Under `loom`, `traced` has the one type that `loom` itself explores incompletely.

#[cfg(all(skein_loom, not(feature = "shuttle")))]
mod traced;

#[cfg(all(skein_loom, feature = "shuttle"))]
pub use crate::model::sync::atomic::AtomicU64;
#[cfg(skein_loom)]
pub use crate::model::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicUsize, Ordering, fence,
};
#[cfg(not(skein_loom))]
pub use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(all(skein_loom, not(feature = "shuttle")))]
pub use traced::AtomicU64;
