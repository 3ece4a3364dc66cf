//! Rules of users and ACL files: any bytes; users that are printed are read back as they were.

#![no_main]

use libfuzzer_sys::fuzz_target;

// Rules, a line each (or the lines of a file), and requests of the user that they make.
fuzz_target!(|input: (&[u8], &[u8])| skein_server::fuzzing::acl(input.0, input.1));
