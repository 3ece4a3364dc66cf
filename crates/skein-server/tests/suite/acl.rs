//! Users on a running server: permissions in pipelines, their changes, removed users; the ACL file;
//! the log; and that passwords are not kept.

use std::fs;

use crate::common::{TestClient, TestServer, options, start, start_with, trie};
use skein_server::{DefaultChannels, ServerOptions};
use skein_store::Durability;

fn user(server: &TestServer, rules: &str) -> TestClient {
    let name = rules.split(' ').next().expect("a name");
    let mut admin = server.connect();
    assert_eq!(admin.ask(&format!("ACL SETUSER {rules}")), "+OK|");
    let mut client = server.connect();
    assert_eq!(client.ask(&format!("AUTH {name} x")), "+OK|");
    client
}

const NO_KEY: &str = "-NOPERM this user has no permissions to access one of the keys used as arguments|";

#[test]
fn denied_requests_keep_the_order_of_a_pipeline() {
    let server = start();
    let mut client = user(&server, "a on nopass ~a* +get +set +ping");
    let mut sent = Vec::new();
    for i in 0..300 {
        let group = [
            format!("SET a{i} {i}"),
            format!("SET b {i}"),
            format!("GET a{i}"),
            "GET b".to_owned(),
            format!("DEL a{i}"),
            format!("PING {i}"),
            format!("GET a{i}\r\n"),
        ];
        sent.push(group.join("\r\n"));
    }
    client.send(sent.concat().as_bytes());
    for i in 0..300 {
        let value = format!("${}|{i}|", i.to_string().len());
        for expected in [
            "+OK|",
            NO_KEY,
            &value,
            NO_KEY,
            "-NOPERM this user has no permissions to run the 'del' command|",
            &value,
            &value,
        ] {
            assert_eq!(crate::common::show(&client.reply()), expected);
        }
    }
    assert_eq!(server.connect().ask("EXISTS b"), ":0|");
}

#[test]
fn changed_permissions_apply_to_open_connections_at_once() {
    let server = start();
    let mut admin = server.connect();
    // Four clients on two workers, so that some of them are not on the admin's worker.
    let mut clients: Vec<TestClient> = (0..4).map(|_| user(&server, "a on nopass ~* +get")).collect();
    for _ in 0..20 {
        assert_eq!(admin.ask("ACL SETUSER a -get"), "+OK|");
        assert!(clients.iter_mut().all(|client| client.ask("GET k").starts_with("-NOPERM")));
        assert_eq!(admin.ask("ACL SETUSER a +get"), "+OK|");
        assert!(clients.iter_mut().all(|client| client.ask("GET k") == "$-1|"));
    }
    // A user's own permissions apply to the rest of the same pipeline.
    let mut own = user(&server, "b on nopass ~* +get +acl");
    own.send(b"GET k\r\nACL SETUSER b -get\r\nGET k\r\nACL SETUSER b +get\r\nGET k\r\n");
    let replies: Vec<bool> = (0..5).map(|_| own.reply().starts_with(b"-NOPERM")).collect();
    assert_eq!(replies, [false, false, true, false, false]);
    // The users are removed, and with them their connections.
    assert_eq!(admin.ask("ACL DELUSER a b"), ":2|");
    assert!(clients.iter_mut().chain([&mut own]).all(|client| client.try_reply().is_none()));
}

#[test]
fn ranges_need_permission_for_every_key_they_may_contain() {
    let server = start();
    let mut admin = server.connect();
    assert_eq!(admin.ask("MSET a1 v a2 v b1 v"), "+OK|");
    let mut client = user(&server, "a on nopass %R~a* ~b? +@all");
    for (request, allowed) in [
        ("SK.PREFIX a", true),
        ("SK.PREFIX a1", true),
        ("SK.PREFIX b", false),
        ("SK.PREFIX ", false),
        ("SK.RANGE [a (b", true),
        ("SK.RANGE [a [b", false),
        ("SK.RANGE [a1 [a2 REV LIMIT 1", true),
        ("SK.RANGE - +", false),
        ("SK.COUNT (a [azz", true),
        ("SK.COUNT - (b", false),
        ("SK.DELRANGE [a (b", false),
        ("SK.NEXT a1", false),
        ("SK.PREV a1", false),
        ("SK.FIRST", false),
        ("SK.LAST", false),
        ("SK.GETV a1", true),
        ("SK.CAS a1 v 0", false),
        // As in Redis, commands that only list key names are allowed.
        ("SCAN 0", true),
        ("KEYS *", true),
        ("RANDOMKEY", true),
    ] {
        let reply = client.ask(request);
        assert_eq!(!reply.starts_with("-NOPERM"), allowed, "{request}: {reply}");
    }
    // The same for selectors. Each one counts by itself: two halves do not make a whole.
    let mut client = user(&server, "b on nopass (%W~a* +@all) (%R~a* +@all) (~c* +sk.delrange)");
    for (request, allowed) in
        [("SK.PREFIX a", true), ("SK.DELRANGE [a (b", true), ("INCR a1", false), ("SK.DELRANGE [c (d", true)]
    {
        assert_eq!(!client.ask(request).starts_with("-NOPERM"), allowed, "{request}");
    }
}

#[test]
fn acl_file_is_loaded_at_start_and_on_demand_and_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("users.acl");
    fs::write(&path, "user default on >secret ~* +@all\nuser a on >pw ~a* +get +acl\n").expect("written");
    let options = || ServerOptions { acl_file: Some(path.clone()), ..options() };
    {
        let server = start_with(options(), Durability::Buffered);
        let (mut admin, mut a, mut b) = (server.connect(), server.connect(), server.connect());
        assert_eq!(admin.ask("GET a"), "-NOAUTH Authentication required.|");
        assert_eq!(admin.ask("AUTH secret"), "+OK|");
        assert_eq!((a.ask("AUTH a pw"), a.ask("GET a1")), ("+OK|".to_owned(), "$-1|".to_owned()));
        assert_eq!(admin.ask("ACL SETUSER b on >pw ~* +get"), "+OK|");
        assert_eq!(admin.ask("ACL SAVE"), "+OK|");
        assert_eq!(b.ask("AUTH b pw"), "+OK|");
        let text = fs::read_to_string(&path).expect("the file");
        assert_eq!(text.lines().count(), 3);
        assert!(!text.contains("secret") && !text.contains("pw"), "{text}");
        // A wrong file changes nothing.
        fs::write(&path, format!("{text}user c +nope\n")).expect("written");
        let error = admin.ask("ACL LOAD");
        assert!(error.contains("users.acl:4: Error in applying operation '+nope'"), "{error}");
        assert_eq!((a.ask("GET a1"), b.ask("GET k")), ("$-1|".to_owned(), "$-1|".to_owned()));
        // Connections of changed and removed users are closed; others stay.
        fs::write(&path, text.replace("~a*", "~b*").replace("user b", "user c")).expect("written");
        assert_eq!(admin.ask("ACL LOAD"), "+OK|");
        assert!(a.try_reply().is_none() && b.try_reply().is_none());
        assert_eq!(admin.ask("ACL USERS"), "*3|$1|a|$1|c|$7|default|");
        // The connection of the calling user is closed after its reply.
        let mut a = server.connect();
        assert_eq!(a.ask("AUTH a pw"), "+OK|");
        fs::write(&path, "").expect("written");
        assert_eq!(a.ask("ACL LOAD"), "+OK|");
        assert!(a.try_reply().is_none());
        assert_eq!(admin.ask("ACL USERS"), "*1|$7|default|");
        assert_eq!(
            server.connect().ask("GET a"),
            "-NOAUTH Authentication required.|",
            "the default user stays"
        );
    }
    // The next start reports a wrong file.
    fs::write(&path, "user a on +nope\n").expect("written");
    let store = start().store.clone();
    let error = skein_server::Server::start(store.clone(), options()).expect_err("a wrong file").to_string();
    assert!(error.contains("users.acl:1") && error.contains("+nope"), "{error}");
    fs::write(&path, "").expect("written");
    let open = ServerOptions { listen: ([0, 0, 0, 0], 0).into(), ..options() };
    let error = skein_server::Server::start(store, open).expect_err("no password").to_string();
    assert!(error.contains("there is no password"), "{error}");
}

#[test]
fn acl_log_records_denied_requests_and_logins() {
    let server = start();
    let mut client = user(&server, "a on >pw nopass ~a* +get +multi +exec");
    let mut admin = server.connect();
    for request in ["GET b", "GET b", "DEL a", "MULTI", "SET a b", "EXEC"] {
        client.ask(request);
    }
    assert!(server.connect().ask("AUTH nobody hunter2").starts_with("-WRONGPASS"));
    let log = admin.ask("ACL LOG");
    for part in [
        "*4|",
        "reason|$4|auth|$7|context|$8|toplevel|$6|object|$4|AUTH|$8|username|$6|nobody|",
        "reason|$7|command|$7|context|$5|multi|$6|object|$3|set|$8|username|$1|a|",
        ":2|$6|reason|$3|key|$7|context|$8|toplevel|$6|object|$1|b|$8|username|$1|a|",
        "cmd=get user=a",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!log.contains("hunter2"));
    // Clients that have not logged in can fill the log only up to its limit.
    let mut other = server.connect();
    for i in 0..300 {
        other.ask(&format!("AUTH user{i}{} x", "x".repeat(500)));
    }
    let log = admin.ask("ACL LOG 1000");
    assert!(log.starts_with("*128|") && log.len() < 128 * 700, "{}", log.len());
    assert_eq!((admin.ask("ACL LOG RESET"), admin.ask("ACL LOG")), ("+OK|".to_owned(), "*0|".to_owned()));
}

#[test]
fn acl_log_names_the_script_that_was_denied() {
    let server = start();
    let mut client = user(&server, "a on nopass ~a* +get +eval +multi +exec");
    for request in ["EVAL redis.call('incr','a') 0", "MULTI", "EVAL redis.call('get','b') 0", "EXEC"] {
        client.ask(request);
    }
    let log = server.connect().ask("ACL LOG");
    for part in [
        "reason|$7|command|$7|context|$3|lua|$6|object|$4|incr|",
        "reason|$3|key|$7|context|$3|lua|$6|object|$1|b|",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
}

/// The rights that allow SORT must allow to read every key, because BY and GET name none. The key
/// that STORE names counts too, and keys in other databases have the same rights.
#[test]
fn sort_by_other_keys_needs_the_right_to_read_every_key() {
    let server = start();
    let mut client = user(&server, "a on nopass +select (+sort ~l)");
    let denied =
        |option| format!("-ERR {option} option of SORT denied due to insufficient ACL permissions.|");
    for (rules, by, stored) in [
        ("(+sort ~l ~v*)", denied("BY"), NO_KEY.to_owned()),
        ("(+sort ~l %W~*)", denied("BY"), denied("BY")),
        ("(+get ~*)", denied("BY"), denied("BY")),
        ("(+sort %R~*)", "*0|".to_owned(), denied("BY")),
        ("(+sort %R~* ~to)", "*0|".to_owned(), ":0|".to_owned()),
    ] {
        assert_eq!(server.connect().ask(&format!("ACL SETUSER a {rules}")), "+OK|");
        for database in [0, 3] {
            assert_eq!(client.ask(&format!("SELECT {database}")), "+OK|");
            assert_eq!(client.ask("SORT l BY v*"), by, "{rules}");
            assert_eq!(client.ask("SORT l GET v*"), by.replace("BY", "GET"), "{rules}");
            assert_eq!(client.ask("SORT l BY v* STORE to"), stored, "{rules}");
            assert_eq!(client.ask("SORT l BY nosort"), "*0|");
        }
    }
}

#[test]
fn new_users_begin_with_the_channels_of_acl_pubsub_default() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("users.acl");
    fs::write(&path, "user a on nopass +@all\nuser b on nopass resetchannels &x +@all\n").expect("written");
    let default_channels = DefaultChannels::All;
    let server = start_with(
        ServerOptions { acl_file: Some(path.clone()), default_channels, ..options() },
        Durability::Buffered,
    );
    let mut admin = server.connect();
    let mut list = |name: &str| {
        let list = admin.ask("ACL LIST");
        let line = list.split('|').find(|line| line.starts_with(&format!("user {name} "))).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{name}: {list}"))
    };
    assert_eq!(list("a"), "user a on nopass &* +@all");
    assert_eq!(list("b"), "user b on nopass resetchannels &x +@all");
    let mut other = server.connect();
    for (request, reply) in [
        ("CONFIG GET acl-pubsub-default", "*2|$18|acl-pubsub-default|$11|allchannels|"),
        ("ACL SETUSER c (+get)", "+OK|"),
        ("ACL SETUSER b reset", "+OK|"),
        ("CONFIG SET acl-pubsub-default resetchannels", "+OK|"),
        ("CONFIG GET acl-pubsub-default", "*2|$18|acl-pubsub-default|$13|resetchannels|"),
        ("ACL SETUSER d (+get)", "+OK|"),
        ("ACL SETUSER a reset", "+OK|"),
        (
            "CONFIG SET acl-pubsub-default some",
            "-ERR CONFIG SET failed (possibly related to argument 'acl-pubsub-default') - argument(s) must be \
             one of the following: allchannels, resetchannels|",
        ),
    ] {
        assert_eq!(other.ask(request), reply, "{request}");
    }
    for line in [
        "user a off sanitize-payload resetchannels -@all",
        "user b off sanitize-payload &* -@all",
        "user c off &* -@all (&* -@all +get)",
        "user d off resetchannels -@all (resetchannels -@all +get)",
    ] {
        assert_eq!(list(&line[5..6]), line);
    }
    // A saved file means the same whatever new users begin with.
    assert_eq!(other.ask("ACL SAVE"), "+OK|");
    let saved = fs::read_to_string(&path).expect("the file");
    assert_eq!(
        (other.ask("CONFIG SET acl-pubsub-default allchannels"), other.ask("ACL LOAD")),
        ("+OK|".to_owned(), "+OK|".to_owned())
    );
    assert_eq!(other.ask("ACL SAVE"), "+OK|");
    assert_eq!(fs::read_to_string(&path).expect("the file"), saved);
}

#[test]
fn passwords_are_neither_kept_nor_shown() {
    let password = Some(b"hunter2".to_vec());
    let server = start_with(ServerOptions { password, ..options() }, Durability::Buffered);
    let mut admin = server.connect();
    assert!(admin.ask("AUTH hunter1").starts_with("-WRONGPASS"));
    assert_eq!(admin.ask("AUTH hunter2"), "+OK|");
    admin.ask("ACL SETUSER a on >hunter2 <hunter1 #hunter3");
    for request in ["ACL LIST", "ACL GETUSER default", "CONFIG GET *", "CLIENT LIST", "INFO", "ACL LOG"] {
        let reply = admin.ask(request);
        assert!(!reply.contains("hunter"), "{request}: {reply}");
    }
    for (rule, said) in [("<hunter1", "'<'"), ("#hunter1", "'#'"), ("!hunter1", "'!'")] {
        let reply = admin.ask(&format!("ACL SETUSER a {rule}"));
        assert!(reply.contains(said) && !reply.contains("hunter"), "{reply}");
    }
    assert!(!format!("{:?}", server.handle).contains("hunter2"));
    assert!(!format!("{:?}", server.handle).contains(&format!("{:?}", b"hunter2")));
}

#[test]
fn users_with_many_rules_and_patterns_are_enforced() {
    let server = start();
    let patterns: Vec<String> = (0..2000).map(|i| format!("~key{i}:*")).collect();
    let mut client = user(&server, &format!("a on nopass +get +set {}", patterns.join(" ")));
    assert_eq!(
        (client.ask("SET key1999:x v"), client.ask("GET key1999:x")),
        ("+OK|".to_owned(), "$1|v|".to_owned())
    );
    assert_eq!(client.ask("GET key2000:x"), NO_KEY);
    // Redundant rules are not kept.
    let mut admin = server.connect();
    for _ in 0..50 {
        assert_eq!(admin.ask("ACL SETUSER b +get +set -get +@read -@read +echo|a"), "+OK|");
    }
    assert!(admin.ask("ACL GETUSER b").contains("-@all +echo|a +set|"), "{}", admin.ask("ACL GETUSER b"));
    if trie().is_none() {
        assert_eq!(user(&server, "c on nopass ~z +zadd").ask("ZADD z 1 m"), ":1|");
    }
}
