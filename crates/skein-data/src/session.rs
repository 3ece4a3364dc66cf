//! The access of one thread to an engine.

use crate::disk::DiskSession;
use crate::engine_keys::KeysOf;
use crate::memory::MemorySession;
use crate::{Engine, EngineKeys, Result, Ticket};

/// The access of one thread to an engine. [`keys`](Self::keys) reads and writes.
#[derive(Debug)]
pub struct EngineSession {
    engine: Engine,
    pub(crate) of_engine: SessionOf,
}

/// The session of one engine.
#[derive(Debug)]
pub(crate) enum SessionOf {
    Memory(MemorySession),
    Disk(DiskSession),
}

impl EngineSession {
    pub(crate) fn new(engine: &Engine, admits_all: bool) -> Self {
        let of_engine = match engine {
            Engine::Memory(store) => SessionOf::Memory(MemorySession::new(store, admits_all)),
            Engine::Disk(disk) => SessionOf::Disk(DiskSession::new(disk)),
        };
        Self { engine: engine.clone(), of_engine }
    }

    /// Returns the current keys.
    #[inline]
    pub fn keys(&mut self) -> EngineKeys<'_> {
        let keys = match &mut self.of_engine {
            SessionOf::Memory(session) => KeysOf::MemorySession(session),
            SessionOf::Disk(session) => KeysOf::DiskSession(session),
        };
        EngineKeys::new(&self.engine, keys)
    }

    /// Begins a transaction: all reads and writes until its end are one group. It is not isolated;
    /// the caller must keep other threads away.
    ///
    /// # Errors
    /// If writes are stopped.
    pub fn begin(&mut self) -> Result<EngineKeys<'_>> {
        let keys = match &mut self.of_engine {
            SessionOf::Memory(session) => KeysOf::MemoryBatch(Box::new(session.begin()?)),
            SessionOf::Disk(session) => KeysOf::OpenTransaction(Box::new(session.begin())),
        };
        Ok(EngineKeys::new(&self.engine, keys))
    }

    /// Returns the engine of this session.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Reads the clock, and keeps this time until the next call, so that all operations between two
    /// calls agree on which keys have expired.
    pub fn freeze(&mut self) {
        let now = self.engine.now();
        match &mut self.of_engine {
            SessionOf::Memory(session) => session.0.freeze(Some(now)),
            SessionOf::Disk(session) => session.freeze(now),
        }
    }

    /// Reads keys that will be needed soon into the cache, with overlapping memory reads. This is a
    /// hint: it does not count as a use of the keys, and errors are ignored.
    ///
    /// ```
    /// # use skein_data::Engine;
    /// # use skein_store::{Store, StoreOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let engine = Engine::Memory(Store::open(folder.path(), StoreOptions::default())?);
    /// let mut session = engine.session();
    /// session.prefetch(&[b"bean goose", b"grey goose"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefetch(&mut self, keys: &[&[u8]]) {
        match &self.of_engine {
            SessionOf::Memory(session) => session.prefetch(keys),
            SessionOf::Disk(session) => session.prefetch(keys),
        }
    }

    /// Returns whether the engine undoes writes that cannot be acknowledged.
    pub fn can_roll_back(&self) -> bool {
        matches!(self.of_engine, SessionOf::Disk(_))
    }
}

/// Eviction, which the disk engine does not do.
impl EngineSession {
    fn evicting(&mut self) -> Option<&mut skein_store::Session> {
        match &mut self.of_engine {
            SessionOf::Memory(session) => Some(&mut session.0),
            SessionOf::Disk(_) => None,
        }
    }

    /// Begins a turn of the worker; see [`skein_store::Session::begin_turn`].
    pub fn begin_turn(&mut self) {
        if let Some(session) = self.evicting() {
            session.begin_turn();
        }
    }

    /// Returns the limit in bytes for which keys are evicted or writes rejected.
    #[inline]
    pub fn memory_limit(&self) -> Option<usize> {
        match &self.of_engine {
            SessionOf::Memory(session) => session.0.memory_limit(),
            SessionOf::Disk(_) => None,
        }
    }

    /// Makes room for writes of about `bytes`, where `beside` bytes are used outside the engine.
    /// Returns how many bytes can be added; see [`skein_store::Session::make_room`].
    ///
    /// # Errors
    /// If writes are stopped.
    pub fn make_room(&mut self, bytes: usize, beside: usize) -> Result<(usize, Ticket)> {
        self.keys().make_room(bytes, beside)
    }

    /// Returns whether memory exceeds the limit and keys may be evicted; see
    /// [`skein_store::Session::exceeds_limit`].
    pub fn exceeds_limit(&mut self, beside: usize) -> bool {
        self.evicting().is_some_and(|session| session.exceeds_limit(beside))
    }

    /// Keeps the keys that this session evicts from now on, or stops to do so; see
    /// [`skein_store::Session::report_evictions`].
    #[inline]
    pub fn report_evictions(&mut self, on: bool) {
        if let Some(session) = self.evicting() {
            session.report_evictions(on);
        }
    }

    /// Returns the keys that were evicted since the last call.
    pub fn take_evicted(&mut self) -> Vec<Vec<u8>> {
        self.evicting().map_or_else(Vec::new, skein_store::Session::take_evicted)
    }
}
