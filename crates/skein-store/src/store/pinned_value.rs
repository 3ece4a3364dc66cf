//! A value that is read in place.

use std::ops::Deref;

use skein_index::LocalGuard;
use skein_model::row::PinnedRow;

use super::Store;
use crate::Result;

/// The value of a key, without a copy; see [`Store::get_pinned`]. It does not change when the key
/// is written.
///
/// While it lives, the store frees no memory that was removed after it was made, so drop it soon.
/// It stays on its thread.
///
/// # Invariants
/// 1. The guard was taken before the row was looked up, and is never refreshed.
pub struct PinnedValue<'s> {
    row: PinnedRow,
    /// Keeps the row alive.
    guard: LocalGuard<'s>,
}

impl Store {
    /// Returns the value of `key` in place. A batch that another thread applies is seen whole: if
    /// this shows one key of it, a later call shows its other keys.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// let value = store.get_pinned(b"goose")?.expect("it was put");
    /// store.put(b"goose", b"bean")?;
    /// assert_eq!(&*value, b"grey");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `WrongKind` if the key holds columns or a set.
    pub fn get_pinned(&self, key: &[u8]) -> Result<Option<PinnedValue<'_>>> {
        let core = self.core();
        let guard = core.keys.index.collector().enter();
        let found = core.keys.stripes.settled(key, || core.keys.index.get(key, &guard));
        let Some(row) = core.time(None).live(found) else { return Ok(None) };
        core.keys.used(Some(row));
        row.needed_value()?;
        let row = row.pin();
        Ok(Some(PinnedValue { row, guard }))
    }
}

impl Deref for PinnedValue<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let _ = &self.guard;
        // SAFETY: the guard was taken before the row was looked up and lives as long as `self`
        // (invariant 1), and the answer borrows `self`.
        let row = unsafe { self.row.row() };
        row.value().unwrap_or_default()
    }
}

impl std::fmt::Debug for PinnedValue<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}
