//! Replies that differ from the replies of SkeinDB's server.

use crate::servers::{RespConnection, over_each};

fn check(client: &mut RespConnection, script: &[(&str, &str)]) {
    for (request, expected) in script {
        assert_eq!(client.line(request), *expected, "{request}");
    }
}

#[test]
fn unsupported_promises_are_errors() {
    over_each(|server| {
        let mut client = server.connect();
        for request in ["SK.GETV a", "SK.CAS a 1 x"] {
            assert!(
                client.line(request).starts_with("-ERR keys have no versions in the module"),
                "{request}"
            );
        }
        for request in ["SK.RANGE - + SNAPSHOT", "SK.RANGE - + HELD", "SK.SNAPSHOT BEGIN"] {
            assert!(client.line(request).starts_with("-ERR there are no snapshots here"), "{request}");
        }
        assert!(client.line("SK.RANGE - + DETAILS").starts_with("-ERR there are no versions here"));
    });
}

#[test]
fn values_of_all_types() {
    over_each(|server| {
        let mut client = server.connect();
        for request in ["RPUSH l 1 2", "SADD s z y", "ZADD z 1.5 m 2 n", "XADD x * f v", "SET t 1"] {
            client.line(request);
        }
        let stream = "+stream: read it by XRANGE; NOVALUES leaves out what keys hold|";
        assert_eq!(client.line("SK.PREFIX l"), "*2|$1|l|*2|$1|1|$1|2|");
        assert_eq!(client.line("SK.PREFIX s"), "*2|$1|s|*2|$1|y|$1|z|");
        assert_eq!(client.line("SK.PREFIX z"), "*2|$1|z|*4|$1|m|$3|1.5|$1|n|$1|2|");
        assert_eq!(client.line("SK.PREFIX x"), format!("*2|$1|x|{stream}"));
        client.line("HELLO 3");
        assert_eq!(client.line("SK.PREFIX l"), "*1|*2|$1|l|*2|$1|1|$1|2|");
        assert_eq!(client.line("SK.PREFIX s"), "*1|*2|$1|s|~2|$1|y|$1|z|");
        assert_eq!(client.line("SK.PREFIX z"), "*1|*2|$1|z|%2|$1|m|,1.5|$1|n|,2|");
        assert_eq!(client.line("SK.PREFIX x"), format!("*1|*2|$1|x|{stream}"));
        assert_eq!(client.line("SK.PREFIX t NOVALUES"), "*1|$1|t|");
        assert_eq!(client.line("SK.NEXT zz"), "_|");
    });
}

/// Incident: within a transaction, Valkey 9 notifies modules of the selected database. But `MOVE`
/// and `COPY` write to another one. Consequence: names were missing in one database, and another
/// had names without keys. Fix: the module looks up the database of the key.
#[test]
fn a_transaction_over_two_databases_updates_both_indexes() {
    over_each(|server| {
        let mut client = server.connect();
        client.line("MSET a 0 c 0 e 0");
        for request in ["MOVE a 1", "COPY c d DB 1", "COPY c c DB 1"] {
            client.line("MULTI");
            client.line(request);
            assert_eq!(client.line("EXEC"), "*1|:1|", "{request}");
            // Valkey 8.1 leaves the client in the other database.
            client.line("SELECT 0");
        }
        assert_eq!(client.line("SK.RANGE - + NOVALUES"), "*2|$1|c|$1|e|");
        client.line("SELECT 1");
        assert_eq!(client.line("SK.RANGE - + NOVALUES"), "*3|$1|a|$1|c|$1|d|");
        assert!(client.line("INFO skein").contains("skein_missing_added:0|"), "the sweep had to repair");
    });
}

#[test]
fn databases_have_an_order_each() {
    over_each(|server| {
        check(
            &mut server.connect(),
            &[
                ("SET a 0", "+OK|"),
                ("SELECT 3", "+OK|"),
                ("SET b 3", "+OK|"),
                ("SK.RANGE - +", "*2|$1|b|$1|3|"),
                ("SWAPDB 0 3", "+OK|"),
                ("SK.RANGE - +", "*2|$1|a|$1|0|"),
                ("MOVE a 5", ":1|"),
                // Valkey 8.1 leaves a client of MOVE in the other database while any module listens
                // (valkey-io/valkey#4024).
                ("SELECT 3", "+OK|"),
                ("SK.COUNT - +", ":0|"),
                ("SELECT 5", "+OK|"),
                ("SK.RANGE - +", "*2|$1|a|$1|0|"),
                ("FLUSHDB", "+OK|"),
                ("SK.COUNT - +", ":0|"),
                ("SELECT 0", "+OK|"),
                ("SK.COUNT - +", ":1|"),
                ("FLUSHALL", "+OK|"),
                ("SK.COUNT - +", ":0|"),
            ],
        );
    });
}
