//! What a signal stops: the opening of the data, then the server.

use std::sync::{Arc, Mutex, PoisonError};

use skein_server::ServerHandle;
use skein_store::OpenProgress;

/// What is to be stopped now. Clones are the same.
#[derive(Debug, Clone)]
pub struct StopTarget(Arc<Mutex<ServeStage>>);

#[derive(Debug)]
enum ServeStage {
    Loading(Arc<OpenProgress>),
    Serving(ServerHandle),
}

impl StopTarget {
    /// Begins with the opening of the data.
    pub fn loading(progress: Arc<OpenProgress>) -> Self {
        Self(Arc::new(Mutex::new(ServeStage::Loading(progress))))
    }

    /// The data is there, and the server serves. A wish that came too late to end the opening stops
    /// the server.
    pub fn serving(&self, server: ServerHandle) {
        let mut stage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(&*stage, ServeStage::Loading(progress) if progress.is_cancelled()) {
            server.shutdown();
        }
        *stage = ServeStage::Serving(server);
    }

    /// Stops it.
    pub fn stop(&self) {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            ServeStage::Loading(progress) => progress.cancel(),
            ServeStage::Serving(server) => server.shutdown(),
        }
    }
}
