//! Fills the keys of a store, from checkpoint and logs, before another thread uses them.

use std::path::Path;

use skein_index::{Guard as _, LocalGuard};
use skein_log::OpenProgress;

use super::StoreKeys;
use crate::index::StoreIndex;

/// The keys that several threads fill, and the progress that they report.
pub(crate) struct Loader<'k> {
    pub(crate) keys: &'k StoreKeys,
    /// The data folder, for errors.
    pub(crate) folder: &'k Path,
    pub(crate) progress: &'k OpenProgress,
    pub(crate) threads: usize,
}

/// The guards of a thread that loads rows: of the main index and of the member index.
pub(crate) struct LoaderGuards<'k> {
    pub(crate) main: LocalGuard<'k>,
    pub(crate) members: LocalGuard<'k>,
}

impl<'k> Loader<'k> {
    pub(crate) fn enter(&self) -> LoaderGuards<'k> {
        LoaderGuards { main: self.keys.index.collector().enter(), members: self.keys.members.enter() }
    }

    /// Returns the index to which a row belongs: the main index, or the member index.
    pub(crate) fn index(&self, member: bool) -> &'k StoreIndex {
        if member { &self.keys.members.index } else { &self.keys.index }
    }
}

impl<'k> LoaderGuards<'k> {
    /// Returns the guard of the index to which a row belongs.
    pub(crate) fn of(&self, member: bool) -> &LocalGuard<'k> {
        if member { &self.members } else { &self.main }
    }

    /// Lets memory be reclaimed that was retired since the guards were made.
    pub(crate) fn refresh(&mut self) {
        self.main.refresh();
        self.members.refresh();
    }
}
