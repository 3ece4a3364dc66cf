//! The constructors of the index for one thread.

use std::sync::Arc;

use skein_sync::reclaim::Collector;

use super::variant::{WormholeForOneThread, WormholeSettings, WormholeVariant};
use crate::engine::IndexBase;
use crate::memory::Arena;
use crate::slot::Slot;

impl<S: Slot> WormholeVariant<S, WormholeForOneThread> {
    /// Creates an empty index for one thread, without locks and versions (the paper's
    /// *Wormhole-unsafe*). Compared with the concurrent index, it shows the cost of concurrency.
    ///
    /// # Safety
    /// From now on only one thread at a time uses the index, and nothing is written while a cursor
    /// is in use.
    pub unsafe fn single_threaded(collector: Arc<Collector>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::single_threaded_in(Arena::new(), collector) }
    }
}

impl<S: Slot, V: WormholeSettings> WormholeVariant<S, V> {
    /// Creates an empty index for one thread, like
    /// [`single_threaded`](WormholeVariant::single_threaded), with its memory in `arena`.
    ///
    /// Inserts of new keys are fastest with leaves of seven eighths of 128 keys: in a leaf that is
    /// nearly full, most records spill into other lines.
    ///
    /// # Safety
    /// As for `single_threaded`. When the index is dropped, no other object of the arena is in use,
    /// and no object of the arena is used after that.
    pub unsafe fn single_threaded_in(arena: Arena, collector: Arc<Collector>) -> Self {
        const { assert!(V::ONE_THREAD, "an index for one thread needs the variant `WormholeForOneThread`") };
        Self::with_base(IndexBase::with_arena(arena, collector))
    }
}
