//! Reads of members in a pipeline. The server looks their keys up together; each must have the
//! reply of a single read.

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::{TestServer, start};

/// Keys of each type, with members in memory of their own and without.
const KEYS: [&str; 8] = ["hash", "short-hash", "set", "even-set", "zset", "list", "string", "absent"];

fn fill(server: &TestServer) {
    let mut client = server.connect();
    for at in 0..600 {
        client.ask(&format!("HSET hash m{at} {at}"));
        client.ask(&format!("SADD set m{at}"));
        client.ask(&format!("ZADD zset {at}.5 m{at}"));
        client.ask(&format!("SADD even-set m{}", 2 * at));
    }
    for request in ["HSET short-hash m1 one m2 two", "RPUSH list m1", "SET string m1"] {
        client.ask(request);
    }
}

/// A read, of a member mostly, or a write that changes the results of later reads.
fn request() -> impl Strategy<Value = String> {
    let key = || prop::sample::select(KEYS.to_vec());
    let command = prop::sample::select(vec!["HGET", "HEXISTS", "HSTRLEN", "SISMEMBER", "ZSCORE"]);
    prop_oneof![
        12 => (command, key(), 0..700).prop_map(|(command, key, at)| format!("{command} {key} m{at}")),
        2 => key().prop_map(|key| format!("TYPE {key}")),
        1 => key().prop_map(|key| format!("HGET {key}")),
        1 => key().prop_map(|key| format!("GET {key}")),
        1 => (0..700).prop_map(|at| format!("SREM set m{at}")),
        1 => (0..700).prop_map(|at| format!("SADD set m{at}")),
    ]
}

#[test]
fn members_read_in_a_pipeline_answer_as_single_reads() {
    let (server, other) = (start(), start());
    fill(&server);
    fill(&other);
    let cases = Config { cases: 200, ..Config::default() };
    let tested = TestRunner::new(cases).run(&prop::collection::vec(request(), 1..150), |requests| {
        let (mut client, mut single) = (server.connect(), other.connect());
        for (request, reply) in requests.iter().zip(client.ask_all(&requests)) {
            prop_assert_eq!(reply, single.ask(request), "{}", request);
        }
        Ok(())
    });
    tested.unwrap_or_else(|failure| panic!("{failure}"));
}

/// The set may end between the lookup of its key and that of the member.
#[test]
fn members_of_sets_that_come_and_go_are_there_or_not() {
    let server = start();
    let members: Vec<String> = (0..300).map(|at| format!("m{at}")).collect();
    let add = format!("SADD k {}", members.join(" "));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = server.connect();
            while !done.load(Ordering::Relaxed) {
                writer.ask(&add);
                writer.ask("RENAME k other");
                writer.ask("SET k text");
                writer.ask("DEL k other");
            }
        });
        let mut client = server.connect();
        let requests: Vec<String> = members.iter().map(|member| format!("SISMEMBER k {member}")).collect();
        let (mut seen, mut wrong) = ([0_usize; 3], None);
        while seen.contains(&0) && wrong.is_none() {
            for reply in client.ask_all(&requests) {
                match [":0|", ":1|", "-WRONGTYPE"].iter().position(|start| reply.starts_with(start)) {
                    Some(at) => seen[at] += 1,
                    None => wrong = Some(reply),
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(wrong, None);
    });
}

/// A read of a member counts as one command, and as one hit or miss of its key.
#[test]
fn a_read_of_a_member_counts_once() {
    let server = start();
    fill(&server);
    let mut client = server.connect();
    client.ask("CONFIG RESETSTAT");
    let requests = ["SISMEMBER set m1", "SISMEMBER set x", "HGET hash m1", "ZSCORE absent m", "GET string"];
    client.ask_all(&requests.map(str::to_owned));
    let stats = client.ask("INFO stats");
    assert!(stats.contains("keyspace_hits:4") && stats.contains("keyspace_misses:1"), "{stats}");
    let calls = client.ask("INFO commandstats");
    assert!(calls.contains("cmdstat_sismember:calls=2,"), "{calls}");
}
