//! The golden file of the ordered commands. SkeinDB's server runs it, too: the same requests must
//! have the same replies.

#[path = "../../../skein-server/tests/common/golden_file.rs"]
mod golden_file;

use golden_file::{parse, recorded, request};

use crate::servers::over_each;

#[test]
fn replies_are_those_of_the_golden_file() {
    let file = include_str!("../../../skein-server/tests/golden/ordered.txt");
    over_each(|server| {
        for section in parse(file) {
            for &resp3 in section.versions() {
                let mut client = server.connect();
                assert_eq!(client.line("FLUSHALL"), "+OK|");
                if resp3 {
                    assert!(client.line("HELLO 3").starts_with("%7|"));
                }
                for exchange in &section.exchanges {
                    client.write(&request(exchange.request).expect("a request"));
                    let (got, expected) =
                        (recorded(exchange.request, Some(&client.read())), exchange.theirs(resp3));
                    let (number, request) = (exchange.number, exchange.request);
                    assert_eq!(got, expected, "ordered.txt:{number}, RESP3 {resp3}: {request}");
                }
            }
        }
    });
}
