//! The parser of requests: any bytes in any pieces give what they give in one piece, within all bounds.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The first bytes say how the others come.
fuzz_target!(|input: (Vec<u8>, &[u8])| skein_server::fuzzing::parse(&input.0, input.1));
