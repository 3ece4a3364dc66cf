//! The catalog: the names and numbers of the named keyspaces; see "Keyspaces" in `docs/format.md`.
//!
//! ```text
//!   CATALOG │ name             number u32    a keyspace
//!   CATALOG │ fe               number u32    the next number
//!   CATALOG │ ff │ number u32  (empty)       dropped, but its keys are not all removed
//! ```
//!
//! Names are UTF-8, so none begins with one of the two bytes. A number is never used again: a
//! handle of a dropped keyspace could otherwise reach another one.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use skein_data::{
    Batch, BatchWrite, EngineSession, KEYSPACE_PREFIX, ScanDirection, StoredKeyspace, Ticket, successor,
};
use skein_sync::locks::lock;

use super::exclusive_gate::Admission;
use super::physical_key::{CATALOG, KeyspaceKeys as _};
use super::{Db, DbShared, Keyspace};
use crate::{Error, Result};

/// The longest name in bytes.
const NAME_BYTES_MAX: usize = 255;
const NEXT: u8 = 0xfe;
const DROPPED: u8 = 0xff;

/// The state that all handles of a keyspace share.
#[derive(Debug)]
pub(super) struct KeyspaceState {
    pub(super) number: StoredKeyspace,
    name: Mutex<String>,
    dropped: AtomicBool,
    /// The types of keys and values with which `Db::typed` has opened it in this process.
    types: Mutex<Option<RowTypes>>,
}

/// The names of the types of keys and of values.
pub(crate) type RowTypes = (&'static str, &'static str);

impl KeyspaceState {
    fn new(number: StoredKeyspace, name: &str) -> Arc<Self> {
        let (name, dropped) = (Mutex::new(name.into()), AtomicBool::new(false));
        Arc::new(Self { number, name, dropped, types: Mutex::default() })
    }

    /// Notes the types of the rows, unless others were noted before. `check` reads rows as these
    /// types.
    ///
    /// # Errors
    /// Other types were noted before, or `check` fails.
    pub(super) fn note_types(&self, types: RowTypes, check: impl FnOnce() -> Result<()>) -> Result<()> {
        let noted = *lock(&self.types);
        // An error that names both types says more than one about the bytes of a row.
        if noted.is_none_or(|noted| noted == types) {
            check()?;
        }
        let before = *lock(&self.types).get_or_insert(types);
        if before == types {
            return Ok(());
        }
        Err(Error::TypesDiffer { name: self.name(), before, asked: types })
    }

    pub(super) fn name(&self) -> String {
        lock(&self.name).clone()
    }

    #[inline]
    pub(super) fn check_present(&self) -> Result<()> {
        // Relaxed: writers read it within a room, which orders it; a reader may see it later.
        if self.dropped.load(Ordering::Relaxed) {
            return Err(Error::KeyspaceDropped { name: self.name() });
        }
        Ok(())
    }
}

/// The catalog in memory. Its lock is held while it is changed on disk, and taken before any room.
#[derive(Debug)]
pub(super) struct Catalog {
    default: Arc<KeyspaceState>,
    known: Mutex<KnownKeyspaces>,
}

#[derive(Debug, Default)]
struct KnownKeyspaces {
    by_name: BTreeMap<String, Arc<KeyspaceState>>,
    /// Dropped keyspaces that may have keys left.
    dropped: Vec<StoredKeyspace>,
    last: u32,
    /// A server has left rows of its own, or keys of other databases than 0, at the opening.
    has_server_keys: bool,
}

impl Default for Catalog {
    fn default() -> Self {
        Self { default: KeyspaceState::new(StoredKeyspace::DEFAULT, ""), known: Mutex::default() }
    }
}

fn name_key(name: &str) -> Vec<u8> {
    [&CATALOG[..], name.as_bytes()].concat()
}

fn next_key() -> Vec<u8> {
    [&CATALOG[..], &[NEXT]].concat()
}

fn dropped_key(number: StoredKeyspace) -> Vec<u8> {
    [&CATALOG[..], &[DROPPED], &number.number().to_be_bytes()].concat()
}

fn number_in(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

fn check_name(name: &str) -> Result<()> {
    let why = if name.is_empty() {
        "it is empty; the default keyspace has no name"
    } else if name.len() > NAME_BYTES_MAX {
        "it has more than 255 bytes"
    } else {
        return Ok(());
    };
    Err(Error::KeyspaceName { name: name.chars().take(64).collect(), why })
}

impl KnownKeyspaces {
    /// Takes over one row of the catalog. Rows of later versions are left alone.
    fn take_over(&mut self, key: &[u8], value: &[u8]) {
        match key {
            // The functions of a server.
            [] => {}
            [NEXT] => self.last = self.last.max(number_in(value).unwrap_or(0).saturating_sub(1)),
            [DROPPED, number @ ..] => self.dropped.extend(number_in(number).map(StoredKeyspace::of_number)),
            name => {
                if let (Ok(name), Some(number)) = (str::from_utf8(name), number_in(value)) {
                    self.last = self.last.max(number);
                    self.by_name
                        .insert(name.into(), KeyspaceState::new(StoredKeyspace::of_number(number), name));
                }
            }
        }
    }
}

impl Catalog {
    fn known(&self) -> MutexGuard<'_, KnownKeyspaces> {
        lock(&self.known)
    }

    /// Reads the catalog of an engine that nobody else uses yet.
    pub(super) fn load(&self, engine: &skein_data::Engine) -> Result<()> {
        let mut known = self.known();
        let end = successor(&CATALOG);
        let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let bounds = (Bound::Included(&CATALOG[..]), upper);
        engine.session().keys().scan_stored(bounds, ScanDirection::Forward, usize::MAX, |key, row| {
            known.take_over(key.get(KEYSPACE_PREFIX..).unwrap_or_default(), row.value().unwrap_or_default());
            ControlFlow::Continue(())
        })?;
        known.has_server_keys = engine.keyspace_stats(StoredKeyspace::DEFAULT).keys != engine.len();
        Ok(())
    }

    /// Returns whether the engine may have keys that are not of the default keyspace.
    pub(super) fn has_other_keys(&self) -> bool {
        let known = self.known();
        known.last > 0 || known.has_server_keys
    }
}

impl Db {
    /// Returns the keyspace of this name. Creates it if it is missing.
    ///
    /// # Errors
    /// The name is empty or longer than 255 bytes, the index has no room for names of keyspaces
    /// (`mlp`), the database is closed, or writes are stopped.
    pub fn keyspace(&self, name: impl AsRef<str>) -> Result<Keyspace> {
        let name = name.as_ref();
        check_name(name)?;
        if let Some(existing) = self.existing_keyspace(name)? {
            return Ok(existing);
        }
        let _admission = self.admit_change()?;
        let mut known = self.shared.catalog.known();
        if let Some(state) = known.by_name.get(name) {
            return Ok(self.handle(state));
        }
        if self.shared.engine.key_bytes_max() <= KEYSPACE_PREFIX {
            return Err(Error::NoKeyspaces);
        }
        let number = known.last.checked_add(1).ok_or(Error::KeyspaceName {
            name: name.into(),
            why: "4,294,967,295 keyspaces were created before",
        })?;
        let next = number.saturating_add(1);
        let state = KeyspaceState::new(StoredKeyspace::of_number(number), name);
        // Also if this fails: a number may be on disk although its writer got an error.
        known.last = number;
        self.change_catalog(
            &[
                (name_key(name), BatchWrite::Put(number.to_be_bytes().into(), None)),
                (next_key(), BatchWrite::Put(next.to_be_bytes().into(), None)),
            ],
            || _ = known.by_name.insert(name.into(), state.clone()),
        )?;
        Ok(self.handle(&state))
    }

    /// Returns the keyspace of this name, if it exists.
    ///
    /// # Errors
    /// The database is closed.
    pub fn existing_keyspace(&self, name: impl AsRef<str>) -> Result<Option<Keyspace>> {
        self.shared.check_usable()?;
        Ok(self.shared.catalog.known().by_name.get(name.as_ref()).map(|state| self.handle(state)))
    }

    /// Returns the default keyspace: the keys that a server of the same folder serves.
    pub fn default_keyspace(&self) -> Keyspace {
        self.handle(&self.shared.catalog.default)
    }

    /// Returns the names of the keyspaces, in order. The default one has no name.
    ///
    /// ```
    /// # let db = skeindb::Db::in_memory()?;
    /// db.keyspace("geese")?;
    /// db.keyspace("swans")?;
    /// db.rename_keyspace("swans", "ducks")?;
    /// assert_eq!(db.keyspaces()?, ["ducks", "geese"]);
    /// assert!(db.drop_keyspace("ducks")?);
    /// assert_eq!(db.keyspaces()?, ["geese"]);
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// The database is closed.
    pub fn keyspaces(&self) -> Result<Vec<String>> {
        self.shared.check_usable()?;
        Ok(self.shared.catalog.known().by_name.keys().cloned().collect())
    }

    /// Renames a keyspace. Handles stay valid.
    ///
    /// # Errors
    /// There is no keyspace `from`, or there is one named `to`; as for
    /// [`keyspace`](Self::keyspace).
    pub fn rename_keyspace(&self, from: impl AsRef<str>, to: impl AsRef<str>) -> Result<()> {
        let (from, to) = (from.as_ref(), to.as_ref());
        check_name(to)?;
        let _admission = self.admit_change()?;
        let mut known = self.shared.catalog.known();
        let state = known.by_name.get(from).ok_or_else(|| Error::NoKeyspace { name: from.into() })?.clone();
        if from == to {
            return Ok(());
        }
        if known.by_name.contains_key(to) {
            return Err(Error::KeyspaceExists { name: to.into() });
        }
        let number = state.number.number().to_be_bytes().into();
        self.change_catalog(
            &[(name_key(from), BatchWrite::Remove), (name_key(to), BatchWrite::Put(number, None))],
            || {
                to.clone_into(&mut lock(&state.name));
                known.by_name.remove(from);
                known.by_name.insert(to.into(), state.clone());
            },
        )
    }

    /// Drops a keyspace with all its keys. Returns false if no keyspace has this name. The keyspace
    /// is dropped at once, also after a crash; removing its keys takes time for each of them.
    /// Snapshots still show them. Operations on its handles return [`Error::KeyspaceDropped`].
    ///
    /// # Errors
    /// The database is closed, or writes are stopped. Then the keyspace may be dropped already, and
    /// the next opening removes the rest of its keys.
    pub fn drop_keyspace(&self, name: impl AsRef<str>) -> Result<bool> {
        let state = {
            let _admission = self.admit_change()?;
            let mut known = self.shared.catalog.known();
            let Some(state) = known.by_name.get(name.as_ref()).cloned() else { return Ok(false) };
            self.change_catalog(
                &[
                    (name_key(name.as_ref()), BatchWrite::Remove),
                    (dropped_key(state.number), BatchWrite::Put(Vec::new(), None)),
                ],
                || {
                    // Relaxed: see `check_present`.
                    state.dropped.store(true, Ordering::Relaxed);
                    known.by_name.remove(name.as_ref());
                },
            )?;
            state
        };
        self.shared.remove_keys_of(state.number)?;
        Ok(true)
    }

    /// Finishes the drops that a crash interrupted: removes the keys of these keyspaces.
    pub(super) fn finish_drops(&self) -> Result<()> {
        let dropped = std::mem::take(&mut self.shared.catalog.known().dropped);
        dropped.into_iter().try_for_each(|number| self.shared.remove_keys_of(number))
    }

    /// Waits until no exclusive transaction is open, and keeps others from beginning: before the
    /// lock of the catalog, which the body of one may need (invariant 5 of `db`).
    fn admit_change(&self) -> Result<Admission<'_>> {
        self.shared.check_usable()?;
        self.shared.exclusive.admit(|| self.shared.check_usable())
    }

    fn handle(&self, state: &Arc<KeyspaceState>) -> Keyspace {
        Keyspace::new(self.shared.clone(), state.clone())
    }

    /// Writes rows of the catalog, all or none, and runs `then` while nobody else writes. If they
    /// were written and did not become durable, `then` has run, and this returns the error.
    fn change_catalog(&self, rows: &[(Vec<u8>, BatchWrite)], then: impl FnOnce()) -> Result<()> {
        let mut batch = Batch::new();
        for (key, write) in rows {
            batch.push(&key[..], write.clone());
        }
        let ticket = self.shared.alone(None, |session| {
            let ticket = session.apply_if(&batch, |_| Ok(true))?;
            then();
            Ok(ticket.unwrap_or_default())
        })?;
        self.shared.acknowledge(ticket, self.shared.engine.durability())
    }
}

impl DbShared {
    /// Removes all keys of a dropped keyspace, and then the record of the drop.
    fn remove_keys_of(&self, number: StoredKeyspace) -> Result<()> {
        let (mut lower, upper) = number.owned_bounds((Bound::Unbounded, Bound::Unbounded));
        let step = |session: &mut EngineSession, lower: &Bound<Vec<u8>>| {
            session
                .keys()
                .remove_stored((lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice)))
        };
        loop {
            let removed = self.alone(None, |session| Ok(step(session, &lower)?))?;
            match removed.rest {
                Some(rest) => lower = rest,
                None => break,
            }
        }
        let (_, ticket): (_, Ticket) = self.alone(None, |session| {
            let (done, ticket) = session.keys().write(|writer| writer.remove(&dropped_key(number)));
            Ok((done??, ticket))
        })?;
        self.acknowledge(ticket, self.engine.durability())
    }
}
