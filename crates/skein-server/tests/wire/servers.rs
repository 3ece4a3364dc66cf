//! The tests of servers without planted bugs: both engines, and two indexes in memory.

use std::time::Duration;

use skein_disk::{DiskOptions, TrieShape, Values};
use skein_server::ServerOptions;
use skein_store::{Durability, IndexKind};

use crate::common::{TestServer, options, start_on_disk};
use crate::{WORKERS, explore, explore_tracking, in_memory};

/// How long a plain run tests each server.
const PLAIN: Duration = Duration::from_secs(2);

/// Returns how long each server is tested.
fn time() -> Duration {
    std::env::var("SKEIN_WIRE_SECONDS").map_or(PLAIN, |seconds| {
        Duration::from_secs(seconds.parse().expect("SKEIN_WIRE_SECONDS is a number of seconds"))
    })
}

#[track_caller]
fn check(name: &str, server: &TestServer) {
    if let Err(what) = explore(name, server, time()) {
        panic!("{what}");
    }
}

#[test]
fn masstree() {
    check("masstree", &in_memory(IndexKind::Masstree));
}

#[test]
fn wormhole() {
    check("wormhole", &in_memory(IndexKind::Wormhole));
}

fn on_disk() -> TestServer {
    let (durability, values, shape) = (Durability::Buffered, Values::Rows, TrieShape::Linked);
    let disk = DiskOptions { durability, shape, values, ..DiskOptions::default() };
    start_on_disk(ServerOptions { workers: WORKERS, ..options() }, disk)
}

#[test]
fn disk() {
    check("disk", &on_disk());
}

#[track_caller]
fn check_tracking(name: &str, server: &TestServer) {
    if let Err(what) = explore_tracking(name, server, time()) {
        panic!("{what}");
    }
}

#[test]
fn tracking_in_memory() {
    check_tracking("masstree", &in_memory(IndexKind::Masstree));
}

#[test]
fn tracking_on_disk() {
    check_tracking("disk", &on_disk());
}
