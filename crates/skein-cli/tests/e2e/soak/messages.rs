//! Messages beside the load: a publisher with two subscribers, one of the channel and one of a
//! pattern.
//!
//! The messages are numbers that count from zero. As long as its connection lives, a subscriber
//! receives each once and in order, and each PUBLISH reaches both. The threads end with the server.

use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use skeindb::client::{Client, Reply};

const CHANNEL: &[u8] = b"soak/messages";
/// Messages that are sent at once.
const BATCH: u64 = 50;
/// The time between two batches: the messages are a part of the load, not most of it.
const PAUSE: Duration = Duration::from_millis(20);

/// Starts the threads. Each returns its number of messages when the server is gone, and panics if
/// one is missing.
pub fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    connect: impl Fn() -> Client,
) -> Vec<ScopedJoinHandle<'scope, u64>> {
    let subscribe = |command: &[u8], channel: &[u8], payload_at: usize| {
        let mut client = connect();
        let reply = client.call(&[command, channel]).expect("the server answers");
        assert!(matches!(&reply, Reply::Array(parts) if parts.last() == Some(&Reply::Integer(1))), "{reply}");
        scope.spawn(move || receive(client, payload_at))
    };
    let subscribers = [subscribe(b"SUBSCRIBE", CHANNEL, 2), subscribe(b"PSUBSCRIBE", b"soak/mess*", 3)];
    let publisher = connect();
    let publisher = scope.spawn(move || publish(publisher));
    subscribers.into_iter().chain([publisher]).collect()
}

/// Receives numbers until the connection breaks.
fn receive(client: Client, payload_at: usize) -> u64 {
    let (_sender, mut receiver) = client.split();
    let mut next = 0_u64;
    while let Ok(message) = receiver.read() {
        let Reply::Array(parts) = &message else { panic!("a subscriber receives {message}") };
        let expected = Reply::Bulk(next.to_string().into_bytes());
        assert!(parts.get(payload_at) == Some(&expected), "message {message} instead of {next}");
        next += 1;
    }
    next
}

/// Publishes numbers until the connection breaks. Messages without a reply do not count.
fn publish(mut client: Client) -> u64 {
    let mut next = 0;
    loop {
        let numbers: Vec<String> = (next..next + BATCH).map(|number| number.to_string()).collect();
        let batch: Vec<[&[u8]; 3]> =
            numbers.iter().map(|number| [b"PUBLISH".as_slice(), CHANNEL, number.as_bytes()]).collect();
        let Ok(replies) = client.pipeline(&batch) else { return next };
        for reply in replies {
            assert_eq!(reply, Reply::Integer(2), "a message has not reached both subscribers");
        }
        next += BATCH;
        std::thread::sleep(PAUSE);
    }
}
