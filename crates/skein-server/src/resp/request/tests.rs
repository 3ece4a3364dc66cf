use proptest::prelude::*;

use super::super::feed::{FedRequests, feed};
use super::*;

const LIMITS: RequestLimits =
    RequestLimits { request_bytes: 1 << 20, arg_bytes: 1 << 19, args: 1 << 10, pipeline: 1 << 10 };

/// Feeds `bytes` in pieces of `piece` bytes.
fn pieces(bytes: &[u8], piece: usize, limits: &RequestLimits) -> Result<FedRequests, ProtocolError> {
    let (found, outcome) = feed(bytes, &[piece], limits);
    outcome.map(|()| found)
}

fn whole(bytes: &[u8]) -> Result<FedRequests, ProtocolError> {
    pieces(bytes, bytes.len().max(1), &LIMITS)
}

fn encode(requests: &[Vec<Vec<u8>>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for request in requests {
        bytes.extend_from_slice(format!("*{}\r\n", request.len()).as_bytes());
        for arg in request {
            bytes.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            bytes.extend_from_slice(arg);
            bytes.extend_from_slice(b"\r\n");
        }
    }
    bytes
}

#[test]
fn parser_stops_at_the_pipeline_limit() {
    let limits = RequestLimits { pipeline: 3, ..LIMITS };
    let mut input = RequestBuffer::new();
    let bytes = b"PING 1\r\n".repeat(8);
    input.room(&mut Vec::new())[..bytes.len()].copy_from_slice(&bytes);
    input.filled(bytes.len());
    for expected in [3, 3, 2, 0] {
        input.parse(&limits, true, |_| 0).expect("requests");
        assert_eq!(input.queued(), expected);
        input.take(input.queued());
    }
}

#[test]
fn pipeline_of_both_request_forms() {
    let found =
        whole(b"*1\r\n$4\r\nPING\r\nset k \"a b\"\r\n\r\n*0\r\n*-1\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\nping\n");
    let expected: Vec<Vec<Vec<u8>>> = vec![
        vec![b"PING".to_vec()],
        vec![b"set".to_vec(), b"k".to_vec(), b"a b".to_vec()],
        vec![b"GET".to_vec(), Vec::new()],
        vec![b"ping".to_vec()],
    ];
    assert_eq!(found, Ok(expected));
}

#[test]
fn errors_have_the_words_of_redis() {
    let long = vec![b'1'; 70_000];
    let with = |start: &[u8], rest: &[u8]| [start, rest].concat();
    for (bytes, text) in [
        (b"*x\r\n".to_vec(), "invalid multibulk length"),
        (b"*1025\r\n".to_vec(), "invalid multibulk length"),
        (b"*99999999999999999999\r\n".to_vec(), "invalid multibulk length"),
        (b"*1\r\n:1\r\n".to_vec(), "expected '$', got ':'"),
        (b"*1\r\n$-1\r\n".to_vec(), "invalid bulk length"),
        (b"*1\r\n$x\r\n".to_vec(), "invalid bulk length"),
        (b"*1\r\n$524289\r\n".to_vec(), "invalid bulk length"),
        (with(b"*", &long), "too big mbulk count string"),
        (with(b"*1\r\n$", &long), "too big bulk count string"),
        (with(b"get ", &long), "too big inline request"),
        (b"get \"a\r\n".to_vec(), "unbalanced quotes in request"),
    ] {
        let error = whole(&bytes).expect_err(text);
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn requests_before_the_login_are_small() {
    for (bytes, text) in [
        (&b"*11\r\n"[..], "unauthenticated multibulk length"),
        (b"*1\r\n$16385\r\n", "unauthenticated bulk length"),
    ] {
        let mut input = RequestBuffer::new();
        input.room(&mut Vec::new())[..bytes.len()].copy_from_slice(bytes);
        input.filled(bytes.len());
        assert_eq!(input.parse(&LIMITS, false, |_| 0).expect_err(text).to_string(), text);
    }
}

#[test]
fn too_long_request_is_refused_before_all_bytes_arrive() {
    let limits = RequestLimits { request_bytes: 1000, ..LIMITS };
    let bytes = encode(&[vec![vec![b'x'; 990]; 1]]);
    assert!(matches!(pieces(&bytes, 10, &limits), Err(ProtocolError::RequestTooLong { limit: 1000 })));
    assert!(pieces(&encode(&[vec![vec![b'x'; 900]; 1]]), 10, &limits).is_ok());
}

#[test]
fn memory_follows_received_bytes_not_announced_ones() {
    let mut input = RequestBuffer::new();
    let limits = RequestLimits { arg_bytes: 1 << 30, ..LIMITS };
    let bytes = b"*1\r\n$536870912\r\n";
    input.room(&mut Vec::new())[..bytes.len()].copy_from_slice(bytes);
    input.filled(bytes.len());
    input.parse(&limits, true, |_| 0).expect("an announcement");
    input.room(&mut Vec::new());
    assert!(input.memory() <= 4 * INPUT_BYTES_MIN, "{}", input.memory());
}

#[test]
fn pipeline_is_bounded_and_no_request_is_lost() {
    let limits = RequestLimits { pipeline: 3, ..LIMITS };
    let requests: Vec<Vec<Vec<u8>>> = (0..100u8).map(|i| vec![vec![i]; 2]).collect();
    let bytes = encode(&requests);
    let mut input = RequestBuffer::new();
    input.room(&mut Vec::new())[..bytes.len()].copy_from_slice(&bytes);
    input.filled(bytes.len());
    input.parse(&limits, true, |_| 0).expect("requests");
    assert_eq!(input.queued(), 3);
    assert_eq!(pieces(&bytes, bytes.len(), &limits), Ok(requests));
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same_requests(
        requests in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6), 0..20),
        piece in 1usize..50,
        large in 0usize..40_000,
    ) {
        let mut requests = requests;
        requests.push(vec![b"SET".to_vec(), vec![b'v'; large]]);
        requests.push(vec![b"END".to_vec()]);
        let bytes = encode(&requests);
        prop_assert_eq!(pieces(&bytes, piece, &LIMITS), Ok(requests.clone()));
        prop_assert_eq!(pieces(&bytes, bytes.len(), &LIMITS), Ok(requests));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1usize..50) {
        let _ = pieces(&bytes, piece, &LIMITS);
    }

    #[test]
    fn no_nearly_right_bytes_panic(bytes in "([*$][0-9-]{1,3}\r\n|[a\"' \r\n]{1,4}|\r\n){0,30}", piece in 1usize..9) {
        let _ = pieces(bytes.as_bytes(), piece, &LIMITS);
    }
}
