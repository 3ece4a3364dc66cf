//! Runs every command of the table, as COMMAND lists it, as three users. One has permission, one
//! has no permission for the command, and one has no permission for the key. New commands are
//! included automatically. (`golden/acl.txt` compares the access of each command to its keys with
//! Redis.)

use crate::common::{TestClient, start, trie};

/// Requests that need more than a name and enough arguments.
const REQUESTS: &[(&str, &str)] = &[
    ("acl", "ACL WHOAMI"),
    ("client", "CLIENT ID"),
    ("command", "COMMAND COUNT"),
    ("config", "CONFIG GET port"),
    ("object", "OBJECT ENCODING key"),
    ("sk.count", "SK.COUNT [key [kez"),
    ("sk.delrange", "SK.DELRANGE [key [kez"),
    ("sk.range", "SK.RANGE [key [kez"),
    ("zdiff", "ZDIFF 1 key"),
    ("zdiffstore", "ZDIFFSTORE key 1 key"),
    ("zinter", "ZINTER 1 key"),
    ("zintercard", "ZINTERCARD 1 key"),
    ("zinterstore", "ZINTERSTORE key 1 key"),
    ("zmpop", "ZMPOP 1 key MIN"),
    ("zunion", "ZUNION 1 key"),
    ("zunionstore", "ZUNIONSTORE key 1 key"),
];

/// Every user may run these, as in Redis: without them a client could not log in or leave.
const OPEN: &[&str] = &["auth", "hello", "quit", "reset"];

/// Commands that stop the server or break the test's connection. The test only checks the
/// permission and does not run them.
const NOT_RUN: &[&str] = &["shutdown", "quit", "reset", "auth", "hello"];

/// Commands without a key in the table that access keys nevertheless, any key or those of a range.
const RANGES: &[&str] = &["sk.count", "sk.delrange", "sk.first", "sk.last", "sk.prefix", "sk.range"];

struct CommandInfoRow {
    name: String,
    request: String,
    has_keys: bool,
}

/// Returns the table, from the first elements of COMMAND INFO: name, arity, flags, first key.
fn rows(admin: &mut TestClient) -> Vec<CommandInfoRow> {
    let names = String::from_utf8(admin.call(&[b"COMMAND", b"LIST"])).expect("names");
    let names: Vec<String> = names
        .split("\r\n")
        .filter(|word| !word.is_empty() && !word.starts_with(['*', '$']) && !word.contains('|'))
        .map(str::to_owned)
        .collect();
    assert!(names.len() > 100, "{names:?}");
    let row = |name: String| {
        let info = admin.ask(&format!("COMMAND INFO {name}"));
        let number = |text: &str| text.trim_start_matches(':').parse::<i64>().expect("a number");
        let mut words = info.split('|').skip_while(|word| !word.starts_with(':'));
        let arity = number(words.next().expect("an arity")).unsigned_abs() as usize;
        let first = number(words.find(|word| word.starts_with(':')).expect("the first key"));
        let special = REQUESTS.iter().find(|(known, _)| *known == name).map(|(_, request)| *request);
        let usual = || format!("{name}{}", " key".repeat(arity - 1));
        let request = special.map_or_else(usual, str::to_owned);
        if admin.ask(&format!("ACL DRYRUN default {request}")).starts_with("-ERR Command") {
            // The command has subcommands, at least HELP.
            return CommandInfoRow { request: format!("{name} HELP"), name, has_keys: false };
        }
        let counted = special.is_some_and(|request| request.contains(" 1 key"));
        // Of a command with subcommands, only these have keys.
        let of_subcommand = special.is_some() && ["memory", "object", "xgroup", "xinfo"].contains(&&*name);
        let has_keys = first > 0 || counted || of_subcommand || RANGES.contains(&&*name);
        CommandInfoRow { name, request, has_keys }
    };
    names.into_iter().map(row).collect()
}

fn log_in(client: &mut TestClient, user: &str) {
    assert_eq!(client.ask(&format!("AUTH {user} x")), "+OK|");
}

#[test]
fn every_command_is_denied_without_permission() {
    let server = start();
    let mut admin = server.connect();
    for row in rows(&mut admin) {
        // A subscriber may not log in again.
        let mut client = server.connect();
        let CommandInfoRow { name, request, has_keys } = &row;
        let denied = format!("-NOPERM this user has no permissions to run the '{name}");
        for rules in [
            "may reset on nopass +@all ~* &*".to_owned(),
            format!("no_command reset on nopass +@all ~* &* -{name}"),
            "no_key reset on nopass +@all ~other &*".to_owned(),
        ] {
            assert_eq!(admin.ask(&format!("ACL SETUSER {rules}")), "+OK|", "{rules}");
        }

        assert_eq!(admin.ask(&format!("ACL DRYRUN may {request}")), "+OK|", "{request}");
        let dry = admin.ask(&format!("ACL DRYRUN no_command {request}"));
        assert_eq!(dry == "+OK|", OPEN.contains(&&**name), "{request}: {dry}");
        let dry = admin.ask(&format!("ACL DRYRUN no_key {request}"));
        assert_eq!(dry != "+OK|", *has_keys, "{request}: {dry}");
        if NOT_RUN.contains(&&**name) {
            continue;
        }

        log_in(&mut client, "no_command");
        let reply = client.ask(request).replace("EXECABORT Transaction discarded because of: ", "");
        assert!(reply.starts_with(&denied), "{request}: {reply}");
        if *has_keys {
            log_in(&mut client, "no_key");
            let reply = client.ask(request);
            assert!(
                reply.starts_with("-NOPERM this user has no permissions to access one of"),
                "{request}: {reply}"
            );
        }
        log_in(&mut client, "may");
        let reply = client.ask(request);
        assert!(!reply.contains("-NOPERM"), "{request}: {reply}");
        if name == "multi" {
            client.ask("DISCARD");
        }
    }
}

#[test]
fn a_user_with_every_command_and_no_key_writes_nothing() {
    let server = start();
    let (mut admin, mut client) = (server.connect(), server.connect());
    admin.ask("SET key v");
    admin.ask("ACL SETUSER a on nopass +@all -flushall -flushdb -swapdb");
    let rows = rows(&mut admin);
    log_in(&mut client, "a");
    // All requests in one pipeline, in which reads and writes form batches.
    let sent: Vec<&CommandInfoRow> = rows.iter().filter(|row| row.has_keys).collect();
    let bytes: Vec<u8> = sent.iter().flat_map(|row| format!("{}\r\n", row.request).into_bytes()).collect();
    client.send(&bytes);
    for row in &sent {
        let reply = client.reply();
        assert!(reply.starts_with(b"-NOPERM"), "{}: {}", row.request, reply.escape_ascii());
    }
    assert!(sent.len() > if trie().is_some() { 50 } else { 90 });
    assert_eq!((admin.ask("DBSIZE"), admin.ask("GET key")), (":1|".to_owned(), "$1|v|".to_owned()));
}
