//! Fuzzes the interpreter of scripts, which is C: `.ci/fuzz` compiles it with sanitizers. A script may
//! do anything but break the memory, run on after its end, or leave an engine that is not usable.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skein_fuzz::{GeneratedScript, run_script};

fuzz_target!(|script: GeneratedScript| run_script(&script.text()));
