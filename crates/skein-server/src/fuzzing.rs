//! What the programs in `fuzz/` reach that users do not. Built for them alone.

use crate::acl;
use crate::commands::{ResolvedTag, configuration, resolve};
use crate::resp::feed::feed;
use crate::resp::{ProtocolError, RequestBuffer, RequestLimits};

/// Small enough that inputs of a few KiB reach them.
const LIMITS: RequestLimits = RequestLimits { request_bytes: 3000, arg_bytes: 2000, args: 20, pipeline: 5 };

/// Parses the bytes in pieces, whose sizes are given, over and over, and in one piece.
///
/// # Panics
/// If the two differ, or if a bound does not hold.
pub fn parse(sizes: &[u8], bytes: &[u8]) {
    let sizes: Vec<usize> = sizes.iter().map(|size| usize::from(*size)).chain([1]).collect();
    let (found, outcome) = feed(bytes, &sizes, &LIMITS);
    let (whole, expected) = feed(bytes, &[bytes.len()], &LIMITS);
    assert_eq!(found, whole);
    let too_long =
        |outcome: &Result<(), ProtocolError>| matches!(outcome, Err(ProtocolError::RequestTooLong { .. }));
    // A request that is wrong and too long is found to be the one or the other, as its bytes come.
    assert!(
        outcome == expected
            || outcome.is_err() && (too_long(&outcome) || too_long(&expected)) && expected.is_err()
    );
}

/// Takes some bytes for the new value of each parameter of CONFIG SET; how many of them would take it.
pub fn configure(text: &[u8]) -> usize {
    configuration::takers(text)
}

/// Makes a user of rules, one a line, and a file of the same bytes, and asks for some requests.
///
/// # Panics
/// If a user is another one after it was printed and read again.
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
