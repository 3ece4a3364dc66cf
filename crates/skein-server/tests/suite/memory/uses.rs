//! How long ago and how often keys were used: OBJECT IDLETIME and FREQ.

use super::start;
use crate::common::{TestClient, options, show, start_on_disk};
use skein_disk::{DiskOptions, Values};
use skein_store::Eviction;

/// Requests that Redis looks up without counting a use.
const ASKS: [&str; 10] = [
    "OBJECT ENCODING k",
    "OBJECT REFCOUNT k",
    "EXISTS k",
    "EXISTS other k",
    "TYPE k",
    "TTL k",
    "PTTL k",
    "EXPIRETIME k",
    "PEXPIRETIME k",
    "SCAN 0 TYPE string",
];

/// The golden file has the replies of Redis where both are the same. Ours are in steps.
#[test]
fn idle_times_are_known_unless_a_policy_counts_uses() {
    let server = start(8 << 20, Eviction::None);
    let mut client = server.connect();
    let idle = |client: &mut TestClient| -> u64 {
        let reply = client.ask("OBJECT IDLETIME k");
        reply.trim_matches([':', '|']).parse().unwrap_or_else(|_| panic!("a number: {reply}"))
    };
    for (policy, uses, reply) in [
        ("noeviction", "GET k", "$1|v|"),
        ("allkeys-lru", "TOUCH k", ":1|"),
        ("volatile-ttl", "TOUCH k l", ":1|"),
    ] {
        assert_eq!(client.ask(&format!("CONFIG SET maxmemory-policy {policy}")), "+OK|");
        assert_eq!(client.ask("SET k v"), "+OK|");
        assert_eq!(idle(&mut client), 0);
        let dump = client.call(&[b"DUMP", b"k"]);
        let start = dump.windows(2).position(|two| two == b"\r\n").expect("a line") + 2;
        let payload = &dump[start..dump.len() - 2];
        for (seconds, known) in [(100_000, 99_000..100_002), (u64::MAX >> 1, 1_841_000..1_842_302)] {
            let seconds = format!("{seconds}");
            let restored =
                client.call(&[b"RESTORE", b"k", b"0", payload, b"REPLACE", b"IDLETIME", seconds.as_bytes()]);
            assert_eq!(show(&restored), "+OK|");
            for unused in ASKS {
                client.ask(unused);
            }
            // In a batch with a read of another key, in a transaction, and in a script.
            client.send(ASKS.map(|ask| format!("{ask}\r\nGET other\r\n")).concat().as_bytes());
            (0..2 * ASKS.len()).for_each(|_| drop(client.reply()));
            for in_transaction in ["MULTI", "EXISTS k", "EXISTS k k", "TYPE k", "PTTL k", "EXEC"] {
                client.ask(in_transaction);
            }
            client.ask("EVAL redis.call('exists','k')redis.call('type','k') 0");
            client.ask("WATCH k");
            client.ask("UNWATCH");
            let found = idle(&mut client);
            assert!(known.contains(&found), "{policy} {found}");
        }
        assert_eq!(client.ask(uses), reply);
        assert_eq!(idle(&mut client), 0, "{uses} uses it");
    }
    assert_eq!(client.ask("CONFIG SET maxmemory-policy allkeys-lfu"), "+OK|");
    assert!(client.ask("OBJECT IDLETIME k").starts_with("-ERR An LFU maxmemory policy is selected"));
    let disk = start_on_disk(options(), DiskOptions { values: Values::Rows, ..DiskOptions::default() });
    let mut client = disk.connect();
    client.ask("SET k v");
    assert!(client.ask("OBJECT IDLETIME k").starts_with("-ERR idle time not tracked"));
}

#[test]
fn frequencies_are_known_while_a_policy_needs_them() {
    let server = start(8 << 20, Eviction::None);
    let mut client = server.connect();
    assert_eq!(client.ask("SET k v"), "+OK|");
    let error = "-ERR An LFU maxmemory policy is not selected";
    assert!(client.ask("OBJECT FREQ k").starts_with(error));
    for policy in ["allkeys-lfu", "volatile-lfu"] {
        assert_eq!(client.ask(&format!("CONFIG SET maxmemory-policy {policy}")), "+OK|");
        assert_eq!(client.ask("SET k v"), "+OK|");
        for _ in 0..300 {
            assert_eq!(client.ask("GET k"), "$1|v|");
        }
        let frequency = client.ask("OBJECT FREQ k");
        let count: u32 = frequency.trim_matches([':', '|']).parse().expect("a number");
        assert!((6..60).contains(&count), "{frequency}");
        assert_eq!(client.ask("OBJECT FREQ none"), "$-1|");
        assert_eq!(client.ask("CONFIG SET maxmemory-policy allkeys-random"), "+OK|");
        assert!(client.ask("OBJECT FREQ k").starts_with(error));
    }
}
