//! In-memory ordered indexes over byte strings that keep many memory reads in flight.
//!
//! Every index keeps the contract of [`index::OrderedIndex`]; values live in [`slot::Slot`]s.

pub mod index;
pub mod slot;

pub use index::{Change, Computed, Cursor, MemoryUsage, OrderedIndex, Refused};
pub use skein_sync::reclaim::{Collector, Guard, LocalGuard, OwnedGuard};
pub use slot::{Boxed, Inline, Slot};
