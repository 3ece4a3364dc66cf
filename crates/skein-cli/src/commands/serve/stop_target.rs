//! The target of a stop signal: first the opening of the data, then the server.

use std::sync::{Arc, Mutex, PoisonError};

use skein_server::ServerHandle;
use skein_store::OpenProgress;

/// The operation to stop. Clones share it.
#[derive(Debug, Clone)]
pub struct StopTarget(Arc<Mutex<ServeStage>>);

#[derive(Debug)]
enum ServeStage {
    Loading(Arc<OpenProgress>),
    Serving(ServerHandle),
}

impl StopTarget {
    /// Returns a target that is the opening of the data.
    pub fn loading(progress: Arc<OpenProgress>) -> Self {
        Self(Arc::new(Mutex::new(ServeStage::Loading(progress))))
    }

    /// Makes the server the target. If a stop was requested too late to end the opening, the server
    /// stops.
    pub fn serving(&self, server: ServerHandle) {
        let mut stage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(&*stage, ServeStage::Loading(progress) if progress.is_cancelled()) {
            server.shutdown();
        }
        *stage = ServeStage::Serving(server);
    }

    /// Stops the target.
    pub fn stop(&self) {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            ServeStage::Loading(progress) => progress.cancel(),
            ServeStage::Serving(server) => server.shutdown(),
        }
    }
}
