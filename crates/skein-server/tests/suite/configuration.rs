//! CONFIG: parameters of Redis that have no effect here, and those that do not change.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::common::{TestClient, options, start, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

const COMMANDS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md"));

/// Returns the names in backticks of a section of `docs/commands.md`, up to the next heading.
fn documented(heading: &str) -> BTreeSet<&'static str> {
    let (_, section) = COMMANDS.split_once(&format!("\n{heading}\n")).expect("the section");
    let end = section.find("\n#").expect("another heading");
    section[..end].split('`').skip(1).step_by(2).collect()
}

/// Returns all names and values.
fn parameters(client: &mut TestClient) -> Vec<(String, String)> {
    let reply = client.ask("CONFIG GET *");
    let words: Vec<&str> = reply.split('|').skip(1).collect();
    // The length precedes each name and each value.
    let pairs = words.chunks_exact(4);
    pairs.map(|pair| (pair[1].to_owned(), pair[3].to_owned())).collect()
}

fn value(client: &mut TestClient, name: &str) -> String {
    let reply = client.ask(&format!("CONFIG GET {name}"));
    reply.split('|').nth(4).unwrap_or_default().to_owned()
}

/// Incident: CONFIG SET of `hz`, `activedefrag` and their like was an error. Consequence: tools that
/// tune a Redis ended, and so did many of Redis's own tests. Fix: each parameter of Redis is accepted
/// and kept, or has one value and says why; the document lists which.
#[test]
fn documented_parameters_are_all_there_are() {
    let server = start();
    let mut client = server.connect();
    let all = parameters(&mut client);
    let (kept, fixed) =
        (documented("### Parameters without effect"), documented("### Parameters that do not change"));
    let own = documented("### Parameters of CONFIG");
    for (name, value) in &all {
        let name = name.as_str();
        // `ziplist` stands for `listpack` in the document.
        let listed = name.replace("ziplist", "listpack");
        let lists = [&kept, &fixed, &own];
        let found = lists.iter().filter(|names| names.contains(name) || names.contains(&*listed));
        assert_eq!(found.count(), 1, "{name}");
        let same = client.call(&[b"CONFIG", b"SET", name.as_bytes(), value.as_bytes()]);
        assert_eq!(same, b"+OK\r\n", "{name} {value}");
        if fixed.contains(name) {
            let refused = client.ask(&format!("CONFIG SET {name} 77"));
            assert!(refused.starts_with("-ERR CONFIG SET failed"), "{name}: {refused}");
        }
        if kept.contains(name) {
            let accepted = ["yes", "no", "1", "2", "ip", "1 1", "ignore", "disabled", "default"]
                .iter()
                .filter(|text| {
                    client.call(&[b"CONFIG", b"SET", name.as_bytes(), text.as_bytes()]) == b"+OK\r\n"
                })
                .count();
            assert!(accepted > 0, "{name}");
        }
    }
    let names: BTreeSet<&str> = all.iter().map(|(name, _)| &**name).collect();
    let gone: Vec<_> = fixed.iter().filter(|name| !names.contains(*name)).collect();
    assert_eq!(gone, ["CONFIG GET", "CONFIG SET"].iter().collect::<Vec<_>>());
}

#[test]
fn kept_values_are_shown_under_both_names() {
    let server = start();
    let mut client = server.connect();
    assert_eq!(client.ask("CONFIG SET hz 20 lazyfree-lazy-eviction YES slave-priority 7"), "+OK|");
    assert_eq!(value(&mut client, "hz"), "20");
    assert_eq!(value(&mut client, "lazyfree-lazy-eviction"), "yes");
    assert_eq!(value(&mut client, "replica-priority"), "7");
    // All or none.
    assert!(client.ask("CONFIG SET hz 30 activedefrag maybe").starts_with("-ERR CONFIG SET failed"));
    assert_eq!(value(&mut client, "hz"), "20");
    let refused = client.ask("CONFIG SET min-replicas-to-write 1");
    assert!(refused.contains("SkeinDB has no replicas"), "{refused}");
}

/// Incident: CONFIG SET of `client-output-buffer-limit` refused the class `replica`. Consequence: a
/// value with all three classes, as a Redis shows it, left the limits of clients unchanged as well.
/// Fix: the limits of replicas are kept and shown, without effect.
#[test]
fn output_limits_of_replicas_are_kept() {
    let server = start();
    let mut client = server.connect();
    let name = "client-output-buffer-limit";
    let mut set = |limits: &str| client.call(&[b"CONFIG", b"SET", name.as_bytes(), limits.as_bytes()]);
    assert_eq!(set("normal 1mb 2mb 60 replica 3mb 4mb 70 pubsub 5mb 6mb 80"), b"+OK\r\n");
    assert_eq!(set("slave 256mb 64mb 60"), b"+OK\r\n");
    assert_eq!(
        value(&mut client, name),
        "normal 1048576 2097152 60 slave 268435456 67108864 60 pubsub 5242880 6291456 80"
    );
}

/// CONFIG SET never promises more than the server keeps.
#[test]
fn promises_about_writes_are_kept() {
    let levels = [
        (Durability::None, "no", "no"),
        (Durability::Buffered, "yes", "everysec"),
        (Durability::Sync, "yes", "always"),
    ];
    for (at, (durability, append_only, fsync)) in levels.into_iter().enumerate() {
        let server = start_with(options(), durability);
        let mut client = server.connect();
        for (strength, word) in ["no", "everysec", "always"].into_iter().enumerate() {
            let reply = client.ask(&format!("CONFIG SET appendfsync {word}"));
            if strength <= at {
                assert_eq!(reply, "+OK|", "{word}");
            } else {
                assert!(reply.contains("restart it with --durability "), "{word}: {reply}");
            }
        }
        assert_eq!(client.ask("CONFIG SET appendonly no"), "+OK|");
        assert_eq!(client.ask("CONFIG SET appendonly yes") == "+OK|", at > 0);
        assert_eq!(client.call(&[b"CONFIG", b"SET", b"save", b"900 1"]) == b"+OK\r\n", at > 0);
        assert_eq!(client.call(&[b"CONFIG", b"SET", b"save", b""]), b"+OK\r\n");
        assert_eq!(
            (value(&mut client, "appendonly"), value(&mut client, "appendfsync")),
            (append_only.to_owned(), fsync.to_owned())
        );
        let info = client.ask("INFO persistence");
        assert!(info.contains(&format!("|aof_enabled:{}|", usize::from(at > 0))), "{info}");
    }
}

#[test]
fn the_folder_of_the_data_is_shown() {
    let folder = Some(PathBuf::from("/var/lib/geese"));
    let server = start_with(ServerOptions { data_folder: folder, ..options() }, Durability::None);
    let mut client = server.connect();
    assert_eq!(value(&mut client, "dir"), "/var/lib/geese");
    assert_eq!(value(&mut client, "dbfilename"), "");
    let refused = client.ask("CONFIG SET dir /tmp dbfilename x");
    assert!(refused.contains("can't set immutable config"), "{refused}");
}
