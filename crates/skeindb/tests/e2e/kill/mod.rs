//! `kill -9` at random moments under load. This process is the oracle: it knows what was sent and what was
//! acknowledged, and after each restart it asks the server what is left.
//!
//! At every level, what survives is a prefix: of each connection's commands, and across connections wherever one
//! command was sent only after another's acknowledgement. At `sync` the prefix holds everything acknowledged. What
//! one recovery has kept, no later crash takes back; what it dropped stays away.
//!
//! Sorted sets and large hashes are among what is written; the orders of a set must agree after each restart.
//!
//! Checkpoints run all the while and log segments are small, so that kills fall into those too; some kills come while a
//! server is still recovering from the last one.
//! `SKEIN_KILL_SECONDS=600 cargo test --release -p skeindb --test e2e kill` does it for longer.

mod collections;
mod oracle;
mod short_keys;
mod transactions;
mod writers;

use std::thread;
use std::time::{Duration, Instant};

use crate::common::{E2eRandom, ServerProcess, assert_sound};
use skeindb::client::Reply;

use oracle::{DurabilityPromise, SettledRound};

/// How long each of the two random tests goes on.
fn seconds() -> u64 {
    std::env::var("SKEIN_KILL_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

/// Rounds of: start, check what is left of all rounds so far, load, kill.
fn kill_rounds(level: &str, promise: DurabilityPromise) {
    let mut random = E2eRandom::seeded();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ends = Instant::now() + Duration::from_secs(seconds());
    let options = ["--durability", level, "--workers", "2", "--log-segment-size", "256k"];
    let mut settled: Vec<SettledRound> = Vec::new();
    let mut last = None;
    loop {
        while random.below(3) == 0 {
            // Also while it recovers from the last time.
            ServerProcess::start_and_kill(folder.path(), &options, Duration::from_millis(random.below(60)));
        }
        let server = ServerProcess::start(folder.path(), &options);
        if let Some(load) = last.take() {
            settled.push(oracle::check(&server, &load, promise));
            let old = usize::try_from(random.below(settled.len() as u64)).expect("an index fits");
            settled[old].check_again(&server);
        }
        if Instant::now() > ends {
            for round in &settled {
                round.check_again(&server);
            }
            break;
        }
        let load = writers::start(&server, settled.len(), random.next());
        thread::sleep(Duration::from_millis(30 + random.below(700)));
        server.kill();
        last = Some(load.join());
        // Between two starts, the folder must also be fit for the reader that changes nothing.
        assert_sound(folder.path());
    }
    let steps: u64 = settled.iter().map(|round| round.steps).sum();
    let of_collections: u64 = settled.iter().map(|round| round.collection_steps).sum();
    eprintln!(
        "{} kills at {level}; {steps} steps survived, and {of_collections} of collections",
        settled.len()
    );
    assert!(settled.len() > 2, "too few rounds to mean anything");
    assert!(steps > 0, "nothing was ever kept");
    assert!(of_collections > 0 || collections::depths().is_empty(), "no collection was ever kept");
}

#[test]
fn at_sync_nothing_acknowledged_is_lost() {
    kill_rounds("sync", DurabilityPromise::Acknowledged);
}

#[test]
fn at_buffered_what_survives_is_a_prefix() {
    kill_rounds("buffered", DurabilityPromise::Prefix);
}

/// The log reaches the disk by itself, with nobody writing after.
#[test]
fn buffered_writes_reach_the_disk_by_themselves() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = ServerProcess::start(folder.path(), &["--durability", "buffered"]);
    assert_eq!(server.client().call(&[b"SET", b"k", b"v"]).unwrap(), Reply::ok());
    // The promise is 200 ms; a busy machine gets more.
    thread::sleep(Duration::from_secs(3));
    server.kill();
    let server = ServerProcess::start(folder.path(), &["--durability", "buffered"]);
    assert_eq!(server.client().call(&[b"GET", b"k"]).unwrap(), Reply::Bulk(b"v".to_vec()));
}

/// At `none`, what SAVE has acknowledged is on disk, and later writes may be lost but do no harm.
#[test]
fn at_none_a_save_survives() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = ServerProcess::start(folder.path(), &["--durability", "none"]);
    let mut client = server.client();
    for key in ["a", "b"] {
        assert_eq!(client.call(&[b"SET", key.as_bytes(), b"1"]).unwrap(), Reply::ok());
        assert_eq!(client.call(&[b"SAVE"]).unwrap(), Reply::ok());
    }
    assert_eq!(client.call(&[b"SET", b"a", b"2"]).unwrap(), Reply::ok());
    assert_eq!(client.call(&[b"DEL", b"b"]).unwrap(), Reply::Integer(1));
    server.kill();
    let server = ServerProcess::start(folder.path(), &["--durability", "none"]);
    let left = server.client().call(&[b"MGET", b"a", b"b"]).unwrap();
    assert_eq!(left, Reply::Array(vec![Reply::Bulk(b"1".to_vec()), Reply::Bulk(b"1".to_vec())]));
}
