//! The keys of one engine, as a thread reads and writes them.
//!
//! ```text
//!   in memory   MemorySession   the current keys        MemoryBatch       in an open batch
//!   on disk     DiskSession     the current keys        OpenTransaction   in an open transaction
//! ```
//!
//! [`EngineKeys`](crate::EngineKeys) selects one of the four.

use std::ops::{Bound, ControlFlow};

use skein_store::StoredKeyspace;

use crate::range_steps::{RangeRemovalStep, present};
use crate::{EngineBounds, EngineWriter, KeyState, Result, RowView, ScanDirection, Ticket};

/// The row of a key, if it is present.
pub(crate) type FoundRow<'r> = Result<Option<RowView<'r>>>;

/// The operations that each engine does in its own way. [`EngineKeys`](crate::EngineKeys) tells
/// what they do. All bounds are of whole keys.
pub(crate) trait Keys {
    fn now(&self) -> u64;

    fn get_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R;

    fn peek_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        self.get_with(key, look)
    }

    fn get_settled_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        self.get_with(key, look)
    }

    fn key_state(&mut self, key: &[u8]) -> KeyState;

    fn removal_counter(&self, _key: &[u8]) -> u64 {
        0
    }

    fn get_many(
        &mut self,
        keys: &[&[u8]],
        is_use: impl Fn(usize) -> bool,
        mut found: impl FnMut(usize, FoundRow<'_>),
    ) {
        for (at, key) in keys.iter().enumerate() {
            if is_use(at) {
                self.get_with(key, |row| found(at, row));
            } else {
                self.peek_with(key, |row| found(at, row));
            }
        }
    }

    fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        bytes_most: usize,
        found: impl FnMut(usize, Option<RowView<'_>>),
    ) -> Result<()>;

    fn count_present(&mut self, keys: &[&[u8]], is_use: bool) -> Result<usize> {
        let (mut count, mut failed) = (0, None);
        let found = |_: usize, row: FoundRow<'_>| match present(row) {
            Ok(present) => count += usize::from(present),
            Err(error) => _ = failed.get_or_insert(error),
        };
        self.get_many(keys, |_| is_use, found);
        failed.map_or(Ok(count), Err)
    }

    fn is_ordered(&self) -> bool {
        true
    }

    /// Calls `each` with the rows of a visit until it breaks.
    fn visit(&mut self, visit: Visit<'_>, each: impl FnMut(&[u8], RowView<'_>) -> Flow) -> Result<()>;

    fn count_first(&mut self, bounds: EngineBounds<'_>, most: usize) -> Result<(usize, Option<Vec<u8>>)> {
        let (mut count, mut last) = (0, None);
        self.visit(Visit::forward(bounds, most), |key, _| {
            count += 1;
            if count == most {
                last = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok((count, last))
    }

    fn write<R>(&mut self, writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R) -> (Result<R>, Ticket);

    fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket>;

    /// Removes the first [`REMOVALS`](crate::range_steps::REMOVALS) keys; only those `of` one keyspace
    /// if the engine keeps no order.
    fn remove_some(&mut self, bounds: EngineBounds<'_>, of: Option<StoredKeyspace>) -> Removed;
}

/// The result of a step of a removal.
pub(crate) type Removed = Result<RangeRemovalStep>;

/// Whether a visit goes on.
pub(crate) type Flow = ControlFlow<()>;

/// The rows that [`Keys::visit`] shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit<'b> {
    pub(crate) bounds: EngineBounds<'b>,
    pub(crate) order: KeyOrder,
    /// The number of keys that the caller wants at most.
    pub(crate) most: usize,
}

impl<'b> Visit<'b> {
    pub(crate) fn forward(bounds: EngineBounds<'b>, most: usize) -> Self {
        Self { bounds, order: KeyOrder::Sorted(ScanDirection::Forward), most }
    }
}

/// The order in which [`Keys::visit`] shows keys.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyOrder {
    /// That of their bytes. An engine without this order refuses.
    Sorted(ScanDirection),
    /// That of the engine. If it keeps none, from behind the lower bound on.
    Any,
}

impl KeyOrder {
    pub(crate) fn direction(self) -> ScanDirection {
        match self {
            Self::Sorted(direction) => direction,
            Self::Any => ScanDirection::Forward,
        }
    }
}

/// Returns the step of a removal that removes the rest behind the last key, if there may be one.
pub(crate) fn removal_step(count: usize, last: Option<Vec<u8>>, ticket: Ticket) -> RangeRemovalStep {
    RangeRemovalStep { count, rest: last.map(Bound::Excluded), ticket }
}
