//! Ctrl-C, and SIGTERM, for commands that say how far they came. A second signal ends the process
//! at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::{Exit, Failure};

/// Whether a signal came.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Notes signals from now on.
    pub fn noted() -> Result<Self, Failure> {
        let noted = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal only sets the flag.
            flag::register_conditional_shutdown(signal, Exit::Failed as i32, noted.0.clone())
                .and_then(|_| flag::register(signal, noted.0.clone()))
                .map_err(|error| Failure::during("cannot listen for signals", &error))?;
        }
        Ok(noted)
    }

    /// Notes signals from now on, in a flag that the caller waits by.
    pub fn flag() -> Result<Arc<AtomicBool>, Failure> {
        Self::noted().map(|noted| noted.0)
    }

    /// Whether one came.
    pub fn came(&self) -> bool {
        // Relaxed: it is ordered with nothing.
        self.0.load(Ordering::Relaxed)
    }

    /// A failure, if one came.
    pub fn check(&self) -> Result<(), Failure> {
        if self.came() { Err(Failure::new("interrupted")) } else { Ok(()) }
    }
}
