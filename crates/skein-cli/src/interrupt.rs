//! Ctrl-C and SIGTERM, for commands that report their progress when interrupted. A second signal
//! ends the process immediately.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::{Exit, Failure};

/// A flag that a signal sets.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches signals from now on.
    pub fn noted() -> Result<Self, Failure> {
        let noted = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order, so that the first signal only sets the flag.
            flag::register_conditional_shutdown(signal, Exit::Failed as i32, noted.0.clone())
                .and_then(|_| flag::register(signal, noted.0.clone()))
                .map_err(|error| Failure::during("cannot listen for signals", &error))?;
        }
        Ok(noted)
    }

    /// Catches signals from now on. Returns the flag, for callers that wait on it.
    pub fn flag() -> Result<Arc<AtomicBool>, Failure> {
        Self::noted().map(|noted| noted.0)
    }

    /// Returns whether a signal arrived.
    pub fn came(&self) -> bool {
        // Relaxed: the flag is ordered with nothing.
        self.0.load(Ordering::Relaxed)
    }

    /// Errors if a signal arrived.
    pub fn check(&self) -> Result<(), Failure> {
        if self.came() { Err(Failure::new("interrupted")) } else { Ok(()) }
    }
}
