//! The module's state: the names of every database, the progress of the first sweep, and counters.

use crate::gil::Gil;
use crate::names::DatabaseNames;

/// Upper bound of the number of databases: the maximum of the server's option `databases`.
const MOST: usize = 1 << 31;

/// The module's state; see the crate's invariants.
#[derive(Default)]
pub struct ModuleState {
    /// The names of each database, by its number. A database without keys may be missing.
    databases: Vec<Option<Box<DatabaseNames>>>,
    /// Progress of the first sweep; `None` once that sweep is complete.
    pub filling: Option<FillProgress>,
    pub counts: ModuleCounters,
}

/// Progress of the first sweep.
#[derive(Debug, Clone, Copy, Default)]
pub struct FillProgress {
    /// The number of keys that the sweep has visited.
    pub met: u64,
    /// The number of keys that existed when the sweep began.
    pub of: u64,
}

/// The counters that `INFO skein` shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModuleCounters {
    /// Names that were dropped because a lookup did not find their keys.
    pub stale_dropped: u64,
    /// Keys that the sweep visited while their names were missing from the index.
    pub missing_added: u64,
    /// Complete sweeps over all keys and all names.
    pub sweeps: u64,
    /// Duration of the last fill in microseconds.
    pub filled_usec: u64,
}

static STATE: Gil<Option<ModuleState>> = Gil::new(None);

/// Creates an empty state.
pub fn start() {
    STATE.with(|state| *state = Some(ModuleState::default()));
}

/// Frees all memory. Later calls of [`with`] return the default.
pub fn end() {
    STATE.with(|state| *state = None);
}

/// Calls `f` with the state and returns its result, or the default of `R` after the module has
/// ended. `f` must not call a function of the server that changes keys.
pub fn with<R: Default>(f: impl FnOnce(&mut ModuleState) -> R) -> R {
    STATE.with(|state| state.as_mut().map(f).unwrap_or_default())
}

impl ModuleState {
    /// Returns the names of a database, or `None` if the database has no index.
    pub fn names(&mut self, database: usize) -> Option<&mut DatabaseNames> {
        self.databases.get_mut(database)?.as_deref_mut()
    }

    /// Returns the names of a database, and creates an empty index if the database lacks one.
    pub fn names_or_new(&mut self, database: usize) -> &mut DatabaseNames {
        debug_assert!(database < MOST);
        if database >= self.databases.len() {
            self.databases.resize_with(database + 1, || None);
        }
        self.databases[database].get_or_insert_with(|| Box::new(DatabaseNames::new()))
    }

    /// Removes a name, if it is present. Unlike [`DatabaseNames::remove`], it returns nothing, and
    /// so the removal may wait in a batch.
    pub fn forget(&mut self, database: usize, name: &[u8]) {
        if let Some(names) = self.names(database) {
            names.forget(name);
        }
    }

    pub fn remove(&mut self, database: usize, name: &[u8]) -> bool {
        self.names(database).is_some_and(|names| names.remove(name))
    }

    /// Removes all names of one database, or of all databases.
    pub fn clear(&mut self, database: Option<usize>) {
        match database {
            None => self.databases = Vec::new(),
            Some(database) => {
                if let Some(names) = self.databases.get_mut(database) {
                    *names = None;
                }
            }
        }
    }

    pub fn swap(&mut self, one: usize, other: usize) {
        let most = one.max(other);
        if most >= self.databases.len() {
            self.databases.resize_with(most + 1, || None);
        }
        self.databases.swap(one, other);
    }

    /// Returns the names of all databases.
    pub fn all(&mut self) -> impl Iterator<Item = &mut DatabaseNames> {
        self.databases.iter_mut().flatten().map(Box::as_mut)
    }
}
