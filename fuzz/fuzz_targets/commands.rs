//! Fuzzes whole sequences of commands on a server, against a model in memory.

#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use skein_fuzz::{CheckedServer, FuzzSequence};

thread_local! {
    static SERVED: RefCell<CheckedServer> = RefCell::new(CheckedServer::start());
}

fuzz_target!(|sequence: FuzzSequence| SERVED.with_borrow_mut(|served| served.check(&sequence.0)));
