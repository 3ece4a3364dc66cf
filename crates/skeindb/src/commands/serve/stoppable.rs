//! What a signal stops: the opening of the data, then the server.

use std::sync::{Arc, Mutex, PoisonError};

use skein_server::ServerHandle;
use skein_store::OpenProgress;

/// What is to be stopped now. Clones are the same.
#[derive(Debug, Clone)]
pub struct Stoppable(Arc<Mutex<Stage>>);

#[derive(Debug)]
enum Stage {
    Loading(Arc<OpenProgress>),
    Serving(ServerHandle),
}

impl Stoppable {
    /// Begins with the opening of the data.
    pub fn loading(progress: Arc<OpenProgress>) -> Self {
        Self(Arc::new(Mutex::new(Stage::Loading(progress))))
    }

    /// The data is there, and the server serves. A wish that came too late to end the opening stops
    /// the server.
    pub fn serving(&self, server: ServerHandle) {
        let mut stage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(&*stage, Stage::Loading(progress) if progress.is_cancelled()) {
            server.shutdown();
        }
        *stage = Stage::Serving(server);
    }

    /// Stops it.
    pub fn stop(&self) {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Stage::Loading(progress) => progress.cancel(),
            Stage::Serving(server) => server.shutdown(),
        }
    }
}
