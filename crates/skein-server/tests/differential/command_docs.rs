//! The arguments in COMMAND DOCS against those of a real `redis-server`: names, types, tokens,
//! flags and specifications of keys.
//!
//! Incident: COMMAND DOCS had no arguments. Consequence: `redis-cli` and `valkey-cli` showed no
//! hints and no syntax. Fix: a grammar for each command, and this comparison.

use std::collections::BTreeMap;
use std::net::TcpStream;

use crate::common::{TestClient, start};
use crate::redis::ReferenceRedis;
use crate::replies::DiffReply;

/// Intended differences: the command, and the reason.
const DIFFERENT: &[(&str, &str)] = &[
    ("command|getkeys", "Redis documents no arguments"),
    ("command|getkeysandflags", "Redis documents no arguments"),
    ("debug", "Redis documents no arguments"),
    ("shutdown", "a stop always keeps the data: no NOSAVE, no FORCE"),
    ("zrank", "takes WITHSCORE, of Redis 7.2"),
    ("zrevrank", "takes WITHSCORE, of Redis 7.2"),
];

/// Commands of Redis that SkeinDB does not have.
const ABSENT: [&str; 3] = ["psync", "replconf", "sync"];

/// Fields of Redis about its history, which SkeinDB does not share.
const LEFT_OUT: [&str; 2] = ["since", "deprecated_since"];

/// Returns the pairs of a map.
fn pairs(map: &DiffReply) -> impl Iterator<Item = (&str, &DiffReply)> {
    let DiffReply::List(_, elements) = map else { panic!("no map: {map:?}") };
    elements.chunks_exact(2).map(|pair| (text(&pair[0]), &pair[1]))
}

fn text(reply: &DiffReply) -> &str {
    match reply {
        DiffReply::Text(text) | DiffReply::Line(text) => std::str::from_utf8(text).expect("text"),
        DiffReply::List(..) => panic!("no text: {reply:?}"),
    }
}

/// Returns a grammar as text with all that is compared, the fields of an argument in order.
fn grammar(arguments: &DiffReply) -> String {
    let DiffReply::List(_, arguments) = arguments else { panic!("no list: {arguments:?}") };
    let fields = |argument| -> BTreeMap<&str, String> {
        pairs(argument)
            .filter(|(name, _)| !LEFT_OUT.contains(name))
            .map(|(name, value)| {
                let shown = match (name, value) {
                    ("arguments", list) => grammar(list),
                    ("flags", DiffReply::List(_, flags)) => {
                        flags.iter().map(text).collect::<Vec<_>>().join(" ")
                    }
                    (_, value) => text(value).to_owned(),
                };
                (name, shown)
            })
            .collect()
    };
    arguments.iter().map(|argument| format!("{:?}", fields(argument))).collect::<Vec<_>>().join(" ")
}

/// Adds the grammars of the commands in a reply, and of their subcommands.
fn collect(docs: &DiffReply, found: &mut BTreeMap<String, String>) {
    for (name, about) in pairs(docs) {
        let mut of_it = String::new();
        for (field, value) in pairs(about) {
            match field {
                "arguments" => of_it = grammar(value),
                "subcommands" => collect(value, found),
                "summary" | "since" | "group" => assert!(!text(value).is_empty(), "{name}"),
                _ => {}
            }
        }
        found.insert(name.to_owned(), of_it);
    }
}

fn grammars(address: &str) -> BTreeMap<String, String> {
    let mut client = TestClient::new(TcpStream::connect(address).expect("a connection"));
    let reply = client.call(&[b"COMMAND", b"DOCS"]);
    let mut found = BTreeMap::new();
    collect(&DiffReply::take(&mut &reply[..]), &mut found);
    found
}

#[test]
fn arguments_are_those_of_redis() {
    let Some(redis) = ReferenceRedis::start() else { return };
    let server = start();
    let (theirs, ours) = (grammars(&redis.address), grammars(&server.address.to_string()));
    for (name, expected) in &theirs {
        let same = ours.get(name).map(|ours| ours == expected);
        if ABSENT.contains(&&**name) {
            assert_eq!(same, None, "{name}");
        } else if DIFFERENT.iter().any(|(different, _)| different == name) {
            assert_eq!(same, Some(false), "{name} does not differ");
        } else {
            let got = ours.get(name);
            assert_eq!(got, Some(expected), "{name}");
        }
    }
    assert!(theirs.len() > 300, "{} commands", theirs.len());
}
