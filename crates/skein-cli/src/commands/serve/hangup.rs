//! SIGHUP: a terminal sends it to all its programs when it is closed. As in Redis, the server
//! continues: a server that was started by hand must not end like in a crash.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGHUP;

use crate::exit::Failure;

/// Ignores SIGHUP from now on. Output to a closed terminal is lost (see `console`).
pub fn ignore() -> Result<(), Failure> {
    // Nobody reads the flag. The process survives because the signal has a handler.
    signal_hook::flag::register(SIGHUP, Arc::new(AtomicBool::new(false)))
        .map(drop)
        .map_err(|error| Failure::during("cannot listen for signals", &error))
}
