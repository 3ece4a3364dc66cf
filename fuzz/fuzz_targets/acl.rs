//! Fuzzes the rules of users and ACL files with any bytes. Users that are printed must be the same
//! when read again.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The rules, one per line (or the lines of a file), and requests of the resulting user.
fuzz_target!(|input: (&[u8], &[u8])| skein_server::fuzzing::acl(input.0, input.1));
