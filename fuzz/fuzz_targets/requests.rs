//! Fuzzes the parser of requests: any bytes in any pieces must have the same result as in one
//! piece, within all bounds.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The first bytes select the sizes of the pieces.
fuzz_target!(|input: (Vec<u8>, &[u8])| skein_server::fuzzing::parse(&input.0, input.1));
