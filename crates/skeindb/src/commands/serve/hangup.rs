//! SIGHUP, which a terminal sends to all that it has started when it is closed. As Redis does, a server goes on: what was started by hand and left is not to end like in a crash.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGHUP;

use crate::exit::Failure;

/// Does nothing on SIGHUP from now on. What is said to a terminal that is gone is lost (see `console`).
pub fn ignore() -> Result<(), Failure> {
    // Nobody looks at the flag: that the signal has a handler is what keeps the process.
    signal_hook::flag::register(SIGHUP, Arc::new(AtomicBool::new(false)))
        .map(drop)
        .map_err(|error| Failure::during("cannot listen for signals", &error))
}
