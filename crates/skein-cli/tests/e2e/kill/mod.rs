//! `kill -9` at random moments under load. This process is the oracle: it knows the sent and the
//! acknowledged commands. After each restart it reads the server's data and compares.
//!
//! At every level, a prefix must survive: of each connection's commands, and across connections
//! wherever a command was sent only after another's acknowledgement. At `sync` the prefix must
//! contain every acknowledged command. A later crash must not lose data that one recovery kept, and
//! must not restore data that it dropped.
//!
//! The load includes sorted sets and large hashes. The two sequences of a set must agree after each
//! restart.
//!
//! Checkpoints run all the time and log segments are small, so that kills hit those too. Some kills
//! hit a server that is still recovering from the last one. For a longer run:
//! `SKEIN_KILL_SECONDS=600 cargo test --release -p skein-cli --test e2e kill`.

mod collections;
mod oracle;
mod short_keys;
mod transactions;
mod writers;

use std::thread;
use std::time::{Duration, Instant};

use crate::common::{E2eRandom, SkeinServe, assert_sound};
use skeindb::client::Reply;

use oracle::{DurabilityPromise, SettledRound};

/// Returns the duration of each of the two random tests.
fn seconds() -> u64 {
    std::env::var("SKEIN_KILL_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

/// Runs rounds of: start, check the data of all rounds so far, load, kill.
fn kill_rounds(level: &str, promise: DurabilityPromise) {
    let mut random = E2eRandom::seeded();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ends = Instant::now() + Duration::from_secs(seconds());
    let options = ["--durability", level, "--workers", "2", "--log-segment-size", "256k"];
    let mut settled: Vec<SettledRound> = Vec::new();
    let mut last = None;
    loop {
        while random.below(3) == 0 {
            // Sometimes kill it while it recovers from the last kill.
            SkeinServe::start_and_kill(folder.path(), &options, Duration::from_millis(random.below(60)));
        }
        let server = SkeinServe::start(folder.path(), &options);
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
        // Between two starts, `skein check`, which changes nothing, must accept the folder.
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
    assert!(of_collections > 0, "no collection was ever kept");
}

#[test]
fn at_sync_nothing_acknowledged_is_lost() {
    kill_rounds("sync", DurabilityPromise::Acknowledged);
}

#[test]
fn at_buffered_a_prefix_survives() {
    kill_rounds("buffered", DurabilityPromise::Prefix);
}

/// The log must reach the disk without further writes.
#[test]
fn buffered_writes_reach_the_disk_by_themselves() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = SkeinServe::start(folder.path(), &["--durability", "buffered"]);
    assert_eq!(server.client().call(&[b"SET", b"k", b"v"]).unwrap(), Reply::ok());
    // The promise is 200 ms; a busy machine gets more.
    thread::sleep(Duration::from_secs(3));
    server.kill();
    let server = SkeinServe::start(folder.path(), &["--durability", "buffered"]);
    assert_eq!(server.client().call(&[b"GET", b"k"]).unwrap(), Reply::Bulk(b"v".to_vec()));
}

/// At `none`, data that SAVE acknowledged must be on disk. Later writes may be lost but must do no
/// harm.
#[test]
fn at_none_a_save_survives() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = SkeinServe::start(folder.path(), &["--durability", "none"]);
    let mut client = server.client();
    for key in ["a", "b"] {
        assert_eq!(client.call(&[b"SET", key.as_bytes(), b"1"]).unwrap(), Reply::ok());
        assert_eq!(client.call(&[b"SAVE"]).unwrap(), Reply::ok());
    }
    assert_eq!(client.call(&[b"SET", b"a", b"2"]).unwrap(), Reply::ok());
    assert_eq!(client.call(&[b"DEL", b"b"]).unwrap(), Reply::Integer(1));
    server.kill();
    let server = SkeinServe::start(folder.path(), &["--durability", "none"]);
    let left = server.client().call(&[b"MGET", b"a", b"b"]).unwrap();
    assert_eq!(left, Reply::Array(vec![Reply::Bulk(b"1".to_vec()), Reply::Bulk(b"1".to_vec())]));
}
