//! The parameters of CONFIG against those of a real `redis-server`: every name is there, and a
//! parameter without effect takes and shows the same values.

use std::collections::BTreeSet;

use crate::common::{TestClient, start};
use crate::redis::ReferenceRedis;
use crate::replies::DiffReply;

const COMMANDS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md"));

const VALUES: &[&str] = &[
    "",
    "yes",
    "no",
    "YES",
    "0",
    "1",
    "-1",
    "7",
    "500",
    "1000",
    "65536",
    "3000000000",
    "1kb",
    "1.5",
    "x",
    "always",
    "ip",
    "clients",
    "swapdb",
    "panic",
    "default",
    "save now",
    "save nosave",
    "900 1",
    "900 1 1",
    "0 1",
    "a-b.c",
    "9999999999999",
];

/// A Redis without its own allocator refuses `activedefrag`, its title has a syntax, and it
/// allocates a backlog of at least 16 KiB.
const DIFFERENT: [&str; 3] = ["activedefrag", "proc-title-template", "repl-backlog-size"];

fn names(client: &mut TestClient) -> BTreeSet<String> {
    let reply = client.call(&[b"CONFIG", b"GET", b"*"]);
    let DiffReply::List(_, elements) = DiffReply::take(&mut &reply[..]) else { panic!("no list") };
    let text = |element: &DiffReply| match element {
        DiffReply::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => panic!("no text: {other:?}"),
    };
    elements.iter().step_by(2).map(text).collect()
}

#[test]
fn parameters_without_effect_are_those_of_redis() {
    let Some(redis) = ReferenceRedis::start() else { return };
    let server = start();
    let connect =
        |address: &str| TestClient::new(std::net::TcpStream::connect(address).expect("a connection"));
    let (mut theirs, mut ours) = (connect(&redis.address), connect(&server.address.to_string()));
    let known = names(&mut ours);
    let missing: Vec<String> = names(&mut theirs).into_iter().filter(|name| !known.contains(name)).collect();
    assert_eq!(missing, Vec::<String>::new());

    let (_, section) = COMMANDS.split_once("### Parameters without effect\n").expect("the section");
    let end = section.find("\n#").expect("the end");
    let listed = section[..end].split('`').skip(1).step_by(2).filter(|name| known.contains(*name));
    let mut compared = 0;
    for name in listed.filter(|name| !DIFFERENT.contains(name)) {
        let get: [&[u8]; 3] = [b"CONFIG", b"GET", name.as_bytes()];
        for value in VALUES {
            let set: [&[u8]; 4] = [b"CONFIG", b"SET", name.as_bytes(), value.as_bytes()];
            for request in [&set[..], &get[..]] {
                let (expected, got) = (theirs.call(request), ours.call(request));
                assert_eq!(
                    got.escape_ascii().to_string(),
                    expected.escape_ascii().to_string(),
                    "{name} {value}"
                );
            }
        }
        compared += 1;
    }
    assert!(compared > 80, "{compared} parameters");
}
