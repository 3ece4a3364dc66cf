//! Feeds bytes to the parser in pieces, for tests and for fuzzing.

use super::RequestBuffer;
use super::limits::{ProtocolError, RequestLimits};
use super::request::INPUT_BYTES_MIN;

/// The arguments of each request.
pub(crate) type FedRequests = Vec<Vec<Vec<u8>>>;

/// Feeds `bytes` in pieces of these sizes, repeated. Returns the requests, and the error that ended
/// the parsing. Asserts that the parser keeps its bounds.
pub(crate) fn feed(
    mut bytes: &[u8],
    sizes: &[usize],
    limits: &RequestLimits,
) -> (FedRequests, Result<(), ProtocolError>) {
    let mut input = RequestBuffer::new();
    let (mut found, total) = (Vec::new(), bytes.len());
    for &size in sizes.iter().cycle() {
        let mut piece;
        (piece, bytes) = bytes.split_at(size.clamp(1, bytes.len().max(1)).min(bytes.len()));
        while !piece.is_empty() {
            let room = input.room(&mut Vec::new());
            let count = room.len().min(piece.len());
            assert!(count > 0, "no room");
            room[..count].copy_from_slice(&piece[..count]);
            input.filled(count);
            piece = &piece[count..];
            // Unparsed bytes are the beginning of a request, or wait until the queue is empty.
            loop {
                let outcome = input.parse(limits, true, |_| 0);
                let taken = drain(&mut input, limits);
                let done = taken.is_empty() && !input.may_parse();
                found.extend(taken);
                if outcome.is_err() {
                    return (found, outcome);
                }
                if done {
                    break;
                }
            }
            assert!(input.memory() <= 2 * total + 4 * INPUT_BYTES_MIN, "memory follows what came");
        }
        if bytes.is_empty() {
            break;
        }
    }
    (found, Ok(()))
}

/// Returns the queued requests. Panics if they exceed the bounds.
fn drain(input: &mut RequestBuffer, limits: &RequestLimits) -> FedRequests {
    assert!(input.queued() <= limits.pipeline);
    let args = |i| input.args(i).from(0).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let found: FedRequests = (0..input.queued()).map(args).collect();
    for request in &found {
        assert!(!request.is_empty() && request.iter().map(Vec::len).sum::<usize>() <= limits.request_bytes);
    }
    input.take(input.queued());
    found
}
