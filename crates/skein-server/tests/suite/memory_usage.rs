//! `MEMORY USAGE` over the disk engine.

use crate::common::{options, start_on_disk};
use skein_disk::{DiskOptions, TrieShape, Values};

/// Incident: `MEMORY USAGE` of a list of 2,000 elements on disk was 83 bytes. Consequence:
/// `redis-cli --memkeys` named the wrong keys as the largest. Fix: it estimates the members, from
/// as many as SAMPLES says.
#[test]
fn memory_usage_counts_the_members_of_a_collection() {
    let members: Vec<String> = (0..200).map(|number| format!("{number:0100}")).collect();
    let scored: Vec<String> = members.iter().map(|member| format!("1 {member}")).collect();
    let fields: Vec<String> = members.iter().map(|member| format!("{member} v")).collect();
    for shape in [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }] {
        let server =
            start_on_disk(options(), DiskOptions { shape, values: Values::Rows, ..DiskOptions::default() });
        let mut client = server.connect();
        for (command, words) in
            [("RPUSH", &members), ("SADD", &members), ("ZADD", &scored), ("HSET", &fields)]
        {
            assert_eq!(client.ask(&format!("{command} {command}.key {}", words.join(" "))), ":200|");
            for samples in ["", " SAMPLES 1", " SAMPLES 0", " SAMPLES 1000000"] {
                let reply = client.ask(&format!("MEMORY USAGE {command}.key{samples}"));
                let bytes: usize = reply[1..reply.len() - 1].parse().expect("a number");
                assert!((20_000..30_000).contains(&bytes), "{shape:?} {command}{samples}: {bytes}");
            }
        }
        for entry in 0..200 {
            client.ask(&format!("XADD stream * field {entry:0100}"));
        }
        let reply = client.ask("MEMORY USAGE stream SAMPLES 0");
        let bytes: usize = reply[1..reply.len() - 1].parse().expect("a number");
        assert!((20_000..40_000).contains(&bytes), "{shape:?}: {bytes}");
    }
}
