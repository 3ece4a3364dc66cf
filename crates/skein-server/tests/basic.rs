//! Commands of every family, by their replies.

mod common;

use common::{Running, options, start_with};
use skein_store::Durability;

fn check(server: &Running, script: &[(&str, &str)]) {
    let mut client = server.connect();
    for (request, reply) in script {
        assert_eq!(client.ask(request), *reply, "{request}");
    }
}

#[test]
fn strings() {
    let server = start_with(options(), Durability::None);
    check(
        &server,
        &[
            ("PING", "+PONG|"),
            ("GET a", "$-1|"),
            ("SET a 1", "+OK|"),
            ("get a", "$1|1|"),
            ("INCR a", ":2|"),
            ("MSET b x c y", "+OK|"),
            ("MGET a b nope", "*3|$1|2|$1|x|$-1|"),
            ("APPEND b yz", ":3|"),
            ("STRLEN b", ":3|"),
            ("SET b 2 NX GET", "$3|xyz|"),
            ("GETDEL b", "$3|xyz|"),
            ("EXISTS a b c a", ":3|"),
            ("DEL a b c", ":2|"),
            ("DBSIZE", ":0|"),
        ],
    );
}
