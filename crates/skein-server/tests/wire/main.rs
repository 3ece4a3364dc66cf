//! Clients that work side by side on a few keys of a few databases, over several workers. Some
//! order of all their requests must explain every reply.
//!
//! ```text
//!   round.rs      empty databases ─► clients send requests ─► list all keys ─► explain the history
//!   workload.rs   random requests: groups, moves between databases, SWAPDB, waits, expiry
//!   client.rs     sends them, and notes replies and times ─► history.rs
//!   model/        one server without concurrency: keys, clients that wait, watched keys
//!   search.rs     the search for the order
//! ```
//!
//! Elements are written once. So an order that explains all replies, those to the list of all keys
//! at the end included, shows three things. No element was lost or doubled. No client saw a part of
//! a transaction, a script or a command on several keys. Waiting clients were served in the order
//! in which they began to wait.
//!
//! `.ci/wire MINUTES` runs for that long; a plain run takes some seconds. A failure prints the seed
//! and the shortest history without an explanation. `SKEIN_SEED` repeats the random choices, but
//! not the timing.

mod client;
mod command;
#[path = "../common/mod.rs"]
mod common;
#[cfg(not(feature = "planted-bugs"))]
mod hand_made;
mod history;
mod model;
#[cfg(feature = "planted-bugs")]
mod planted;
#[path = "../../../skein-index/tests/support/random.rs"]
mod random;
mod reply;
mod round;
mod search;
#[cfg(not(feature = "planted-bugs"))]
mod servers;
mod tracking;
mod workload;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use common::{TestServer, options, start_on};
use random::TestRandom;
use round::WireRounds;
use skein_server::ServerOptions;
use skein_store::{Durability, IndexKind, StoreOptions};
use tracking::TrackingRounds;

/// Each pair of clients is on two workers often enough.
const WORKERS: usize = 3;

fn seed() -> u64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    std::env::var("SKEIN_SEED").map_or_else(|_| now(), |seed| seed.parse().expect("SKEIN_SEED is a number"))
}

/// Runs rounds on a server until a check fails or the time is over.
fn explore(name: &str, server: &TestServer, time: Duration) -> Result<(), String> {
    let (seed, end) = (seed(), Instant::now() + time);
    let mut random = TestRandom::new(seed);
    let mut rounds = WireRounds::new(server);
    while Instant::now() < end {
        rounds
            .run(&mut random)
            .map_err(|what| format!("{name}: SKEIN_SEED={seed}, after {:?}\n{what}", rounds.tally))?;
    }
    println!("{name}: SKEIN_SEED={seed}, {:?}", rounds.tally);
    Ok(())
}

/// Runs rounds of clients that keep the values that they read, as [`explore`] does.
fn explore_tracking(name: &str, server: &TestServer, time: Duration) -> Result<(), String> {
    let (seed, end) = (seed(), Instant::now() + time);
    let mut random = TestRandom::new(seed);
    let mut tracking = TrackingRounds::new(server);
    while Instant::now() < end {
        tracking
            .run(&mut random)
            .map_err(|what| format!("{name}: SKEIN_SEED={seed}, round {}\n{what}", tracking.rounds))?;
    }
    println!("{name}: SKEIN_SEED={seed}, {} rounds of tracking", tracking.rounds);
    Ok(())
}

fn in_memory(index: IndexKind) -> TestServer {
    let durability = Durability::Buffered;
    let store = StoreOptions { durability, logs: WORKERS, index, ..StoreOptions::default() };
    start_on(ServerOptions { workers: WORKERS, ..options() }, store)
}
