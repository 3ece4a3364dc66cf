//! Entry points for the programs in `fuzz/`. Compiled only for them.

use crate::acl;
use crate::commands::{ResolvedTag, configuration, resolve};
use crate::resp::feed::feed;
use crate::resp::{ProtocolError, RequestBuffer, RequestLimits};

/// Small enough that inputs of a few KiB exceed them.
const LIMITS: RequestLimits = RequestLimits { request_bytes: 3000, arg_bytes: 2000, args: 20, pipeline: 5 };

/// Parses the bytes in pieces of the given sizes, repeated, and in one piece.
///
/// # Panics
/// If the results differ, or a bound does not hold.
pub fn parse(sizes: &[u8], bytes: &[u8]) {
    let sizes: Vec<usize> = sizes.iter().map(|size| usize::from(*size)).chain([1]).collect();
    let (found, outcome) = feed(bytes, &sizes, &LIMITS);
    let (whole, expected) = feed(bytes, &[bytes.len()], &LIMITS);
    assert_eq!(found, whole);
    let too_long =
        |outcome: &Result<(), ProtocolError>| matches!(outcome, Err(ProtocolError::RequestTooLong { .. }));
    // If a request is both wrong and too long, the pieces decide which of the two is reported.
    assert!(
        outcome == expected
            || outcome.is_err() && (too_long(&outcome) || too_long(&expected)) && expected.is_err()
    );
}

/// Passes some bytes as the new value to each parameter of CONFIG SET. Returns how many parameters
/// would accept it.
pub fn configure(text: &[u8]) -> usize {
    configuration::takers(text)
}

/// Creates a user from rules, one per line, reads the same bytes as an ACL file, and checks some
/// requests.
///
/// # Panics
/// If a user changes when it is printed and read again.
pub fn acl(rules: &[u8], requests: &[u8]) {
    let users = acl::AclUsers::new(None);
    let words: Vec<&[u8]> = rules.split(|byte| *byte == b'\n').collect();
    let _ = users.set(b"user", &words);
    acl::round_trip::assert_read_back(&users.all());
    acl::round_trip::assert_file_read_back(rules);
    let mut input = RequestBuffer::new();
    let requests = &requests[..requests.len().min(LIMITS.request_bytes)];
    input.room(&mut Vec::new())[..requests.len()].copy_from_slice(requests);
    input.filled(requests.len());
    let _ = input.parse(&LIMITS, true, resolve);
    let Some(user) = users.get(b"user") else { return };
    for i in 0..input.queued() {
        let Some(tag) = input.tag(i) else { continue };
        if let ResolvedTag::Command(_) = ResolvedTag::of(tag) {
            let _ = user.check(tag.into(), &input.args(i));
        }
    }
}
