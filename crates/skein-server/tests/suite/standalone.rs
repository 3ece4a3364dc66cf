//! Commands about replicas, clusters and modules, beyond the cases of the golden file
//! `standalone.txt`.

use crate::common::{options, start_with};
use skein_store::Durability;

/// Incident: clients of a cluster and `valkey-cli --bigkeys` ask CLUSTER or READONLY whether there is a
/// cluster. Consequence: at the error for an unknown command they ended. Fix: the server answers as a
/// Redis that stands alone; an impossible request gets advice.
#[test]
fn impossible_requests_get_advice() {
    let server = start_with(options(), Durability::None);
    let mut client = server.connect();
    let refused = client.ask("REPLICAOF 127.0.0.1 7000");
    assert!(refused.starts_with("-ERR SkeinDB cannot be a replica") && refused.contains("skein copy"));
    for request in ["MODULE LOAD x", "MODULE LOADEX x", "MODULE UNLOAD x"] {
        let refused = client.ask(request);
        assert!(refused.contains("is not supported: SkeinDB loads no modules"), "{request}: {refused}");
    }
    assert!(client.ask("MODULE HELP").contains("LIST"));
    let version = client.ask("LOLWUT");
    assert!(version.contains(concat!("SkeinDB ver. ", env!("CARGO_PKG_VERSION"))), "{version}");
    let absent = client.ask("PSYNC ? -1");
    assert!(absent.ends_with("(SkeinDB has no replicas)|"), "{absent}");
}

#[test]
fn waitaof_makes_earlier_writes_durable() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let server = start_with(options(), durability);
        let mut client = server.connect();
        assert_eq!(client.ask("WAITAOF 0 0 0"), "*2|:1|:0|");
        for i in 0..20 {
            assert_eq!(client.ask(&format!("SET goose {i}")), "+OK|");
            assert_eq!(client.ask("WAITAOF 1 0 0"), "*2|:1|:0|");
        }
        // There is nothing to wait for then.
        assert_eq!(client.ask("WAITAOF 0 1 0"), "*2|:1|:0|");
        // Later replies wait behind it.
        let requests = ["SET goose grey", "WAITAOF 1 2 1", "GET goose"].map(str::to_owned);
        assert_eq!(client.ask_all(&requests), ["+OK|", "*2|:1|:0|", "$4|grey|"]);
        // Nothing waits inside a transaction.
        let requests = ["MULTI", "SET goose white", "WAITAOF 1 0 0", "EXEC"].map(str::to_owned);
        let replies = client.ask_all(&requests);
        assert!(replies[3].starts_with("*2|+OK|*2|:"), "{replies:?}");
    }
}

#[test]
fn waitaof_needs_a_log() {
    let server = start_with(options(), Durability::None);
    let mut client = server.connect();
    assert_eq!(client.ask("WAITAOF 0 0 0"), "*2|:0|:0|");
    for (request, why) in [
        ("WAITAOF 1 0 0", "WAITAOF cannot be used when numlocal is set but appendonly is disabled."),
        ("WAITAOF 2 0 0", "value is out of range, value must between 0 and 1"),
        ("WAITAOF x 0 0", "value is not an integer or out of range"),
        ("WAITAOF 0 -1 0", "value is out of range, must be positive"),
        ("WAITAOF 0 x 0", "value is out of range, must be positive"),
        ("WAITAOF 0 0 x", "timeout is not an integer or out of range"),
        ("WAITAOF 0 0 -1", "timeout is negative"),
    ] {
        assert_eq!(client.ask(request), format!("-ERR {why}|"), "{request}");
    }
}
