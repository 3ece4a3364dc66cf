//! The snapshot that a client holds for several requests.

use std::ops::Deref;
use std::sync::Arc;

use skein_data::EngineSnapshot;

/// The snapshot of a client, if it holds one.
#[derive(Debug, Default)]
pub(crate) struct ClientSnapshot(Option<Arc<HeldSnapshot>>);

impl ClientSnapshot {
    /// Returns the snapshot, for a range.
    pub(crate) fn held(&self) -> Option<Arc<HeldSnapshot>> {
        self.0.clone()
    }

    /// Holds a snapshot until [`end`](Self::end), or until the client leaves.
    pub(crate) fn hold(&mut self, snapshot: EngineSnapshot) {
        self.0 = Some(Arc::new(HeldSnapshot(Some(snapshot))));
    }

    /// Ends the snapshot. Returns whether there was one.
    pub(crate) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }
}

/// A snapshot whose versions are freed by a thread of its own: they may be many, and a worker must
/// not wait for that. Its place is free at once.
#[derive(Debug)]
pub(crate) struct HeldSnapshot(Option<EngineSnapshot>);

impl Deref for HeldSnapshot {
    type Target = EngineSnapshot;

    fn deref(&self) -> &EngineSnapshot {
        self.0.as_ref().expect("it is taken on drop alone")
    }
}

impl Drop for HeldSnapshot {
    fn drop(&mut self) {
        let kept = self.0.take().map(EngineSnapshot::release);
        // Without a thread, the closure is dropped here, and the versions with it.
        let thread = std::thread::Builder::new().name("skein-snapshot".to_owned());
        drop(thread.spawn(move || drop(kept)));
    }
}
