//! Threads of the command.

use std::thread::{Builder, JoinHandle};

use crate::exit::Failure;

/// Starts a thread.
///
/// # Errors
/// Errors if the system refuses another thread.
pub fn start<R: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> R + Send + 'static,
) -> Result<JoinHandle<R>, Failure> {
    Builder::new().name(name.to_owned()).spawn(run).map_err(|error| {
        Failure::new(format!("cannot start a thread: {error}; raise the limits of this process"))
    })
}
