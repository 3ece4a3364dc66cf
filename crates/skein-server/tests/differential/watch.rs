//! WATCH: which commands make an `EXEC` fail, in a form that changes something and in one that
//! changes nothing. Redis fails it for each key that a command signals as modified.
//!
//! Each case watches `k` and, in another run, `d`. `KNOWN` has the differences.

mod cases;

use cases::CASES;

use super::common::{TestClient, options, start, start_on_disk};
use super::redis::ReferenceRedis;
use skein_disk::{DiskOptions, Values};

/// The beginning of a group of cases, and the requests of another client.
type Cases = (&'static str, &'static [&'static str]);

/// Differences that stay: Redis changes these keys, and does not signal it. BITFIELD makes an empty
/// value before it finds that the write overflows. PFDEBUG writes the other encoding. XSETID sets
/// the number of added entries, which we take as a sign of additions.
const KNOWN: [&str; 4] = [
    "BITFIELD k OVERFLOW FAIL INCRBY u2 0 9",
    "PFDEBUG TODENSE k",
    "PFDEBUG GETREG k",
    "XSETID k 9-1 ENTRIESADDED 9 MAXDELETEDID 1-1",
];

/// Returns whether an EXEC fails that watches a key while another client sends a request.
fn fails(client: &mut TestClient, other: &mut TestClient, setup: &str, request: &str, key: &str) -> bool {
    other.ask("FLUSHALL");
    for words in setup.split(';').filter(|words| !words.is_empty()) {
        let reply = other.ask(words);
        assert!(!reply.starts_with('-'), "{words}: {reply}");
    }
    client.ask(&format!("WATCH {key}"));
    other.ask(request);
    client.ask("MULTI");
    client.ask("PING");
    match client.ask("EXEC").as_str() {
        "*-1|" => true,
        "*1|+PONG|" => false,
        reply => panic!("{request}: {reply}"),
    }
}

fn connect(address: &str) -> [TestClient; 2] {
    [(), ()].map(|()| TestClient::new(std::net::TcpStream::connect(address).expect("a connection")))
}

/// Incident: acknowledgements, claims and reads of a consumer group made an EXEC fail that watched
/// the stream, and LTRIM of nothing did not. Consequence: a worker that retries its transaction
/// beside readers of the stream never succeeds. Fix: the version of a stream counts its entries
/// alone, and a write that Redis signals is a change.
#[test]
fn the_same_commands_fail_a_transaction_as_in_redis() {
    let Some(redis) = ReferenceRedis::start() else { return };
    let on_disk = DiskOptions { values: Values::Rows, ..DiskOptions::default() };
    for running in [start(), start_on_disk(options(), on_disk)] {
        let addresses = [&running.address.to_string(), &redis.address];
        let [[ours, our_other], [theirs, their_other]] = &mut addresses.map(|address| connect(address));
        let mut found = Vec::new();
        for (setup, requests) in CASES {
            for (request, key) in requests.iter().flat_map(|request| [(request, "k"), (request, "d")]) {
                let got = fails(ours, our_other, setup, request, key);
                let expected = fails(theirs, their_other, setup, request, key);
                let is_known = got && KNOWN.contains(request);
                if got != expected && !is_known {
                    found.push(format!(
                        "{setup} ─ {request}, watching {key}: fails {got}, in Redis {expected}"
                    ));
                }
            }
        }
        assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
    }
}
