//! Whole sequences of commands on a server, against a model in memory.

#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use skein_fuzz::{Served, Step};

thread_local! {
    static SERVED: RefCell<Served> = RefCell::new(Served::start());
}

fuzz_target!(|steps: Vec<Step>| SERVED.with_borrow_mut(|served| served.check(&steps)));
