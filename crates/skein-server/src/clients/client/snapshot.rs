//! The snapshot that a client holds for several requests.

use std::ops::Deref;
use std::sync::Arc;

use skein_data::{DatabaseTable, EngineSnapshot, StoredKeyspace};

/// The snapshot of a client, if it holds one.
#[derive(Debug, Default)]
pub(crate) struct ClientSnapshot(Option<Arc<HeldSnapshot>>);

impl ClientSnapshot {
    /// Returns the snapshot, for a range.
    pub(crate) fn held(&self) -> Option<Arc<HeldSnapshot>> {
        self.0.clone()
    }

    /// Holds a snapshot, and the keyspaces of the databases at its moment, until
    /// [`end`](Self::end), or until the client leaves.
    pub(crate) fn hold(&mut self, snapshot: EngineSnapshot, databases: DatabaseTable) {
        self.0 = Some(Arc::new(HeldSnapshot { snapshot: Some(snapshot), databases }));
    }

    /// Ends the snapshot. Returns whether there was one.
    pub(crate) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }
}

/// A snapshot that a thread of its own frees, because there may be many versions and a worker must
/// not wait for that. Its place is free at once.
#[derive(Debug)]
pub(crate) struct HeldSnapshot {
    snapshot: Option<EngineSnapshot>,
    databases: DatabaseTable,
}

impl HeldSnapshot {
    /// Returns the keyspace that a database had at the moment of the snapshot.
    pub(crate) fn keyspace(&self, database: u32) -> StoredKeyspace {
        self.databases.keyspace(database).unwrap_or_else(|| StoredKeyspace::of_database(database))
    }
}

impl Deref for HeldSnapshot {
    type Target = EngineSnapshot;

    fn deref(&self) -> &EngineSnapshot {
        self.snapshot.as_ref().expect("it is taken on drop alone")
    }
}

impl Drop for HeldSnapshot {
    fn drop(&mut self) {
        let kept = self.snapshot.take().map(EngineSnapshot::release);
        // Without a thread, the closure is dropped here, and the versions with it.
        let thread = std::thread::Builder::new().name("skein-snapshot".to_owned());
        drop(thread.spawn(move || drop(kept)));
    }
}
