//! `skein load` of files that Redis and Valkey wrote: into a server, into a folder, from a pipe,
//! and the contents that are not loaded.
//!
//! The files are those of the tests of `skein-rdb`. The README beside them names their contents. A
//! file of a Redis that is installed is loaded, too.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{SkeinServe, assert_partial, assert_refused, disk_trie, run, run_with_input, stdout_of};
use skeindb::client::Reply;

const FILES: [&str; 4] = ["redis62", "redis70", "valkey8", "valkey9"];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../skein-rdb/tests/data/{name}.rdb"))
}

fn ask(server: &SkeinServe, line: &str) -> Reply {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    server.client().call(&words).expect("a reply")
}

fn text(reply: Reply) -> String {
    match reply {
        Reply::Bulk(bytes) => String::from_utf8(bytes).expect("text"),
        other => panic!("{other}"),
    }
}

/// Checks some keys of each type, and a key that was there before the load.
fn check(server: &SkeinServe, name: &str) {
    assert_eq!(text(ask(server, "GET int64")), "9223372036854775807", "{name}");
    assert_eq!(text(ask(server, "GET packed")), "ab".repeat(150), "{name}");
    assert_eq!(ask(server, "LLEN longlist"), Reply::Integer(900), "{name}");
    assert_eq!(text(ask(server, "LINDEX longlist 898")), "element-0898", "{name}");
    assert_eq!(ask(server, "SCARD longset"), Reply::Integer(600), "{name}");
    assert_eq!(ask(server, "SISMEMBER ints64 -1099511627776"), Reply::Integer(1), "{name}");
    assert_eq!(ask(server, "ZRANK longzset member-0150"), Reply::Integer(150), "{name}");
    assert_eq!(ask(server, "HLEN manyhash"), Reply::Integer(600), "{name}");
    assert_eq!(text(ask(server, "HGET hash neg")), "-70000", "{name}");
    assert_eq!(ask(server, "PEXPIRETIME hexpires"), Reply::Integer(4_102_444_800_123), "{name}");
    assert_eq!(ask(server, "HLEN hexpires"), Reply::Integer(1), "{name}");
    check_streams(server, name);
}

/// Checks the streams, as the README of the files describes them.
fn check_streams(server: &SkeinServe, name: &str) {
    let shown = |line: &str| ask(server, line).to_string();
    assert_eq!(ask(server, "XLEN stream"), Reply::Integer(128), "{name}");
    let entry = Reply::Array(
        ["1010-0", "other", "30"].map(|text| Reply::Bulk(text.into())).into_iter().collect::<Vec<_>>(),
    );
    let Reply::Array(mut found) = ask(server, "XRANGE stream 1010-0 1010-0") else { panic!("{name}") };
    let Some(Reply::Array(parts)) = found.pop() else { panic!("{name}") };
    let [Reply::Bulk(id), Reply::Array(fields)] = &parts[..] else { panic!("{parts:?}") };
    let flat = Reply::Array([&[Reply::Bulk(id.clone())], &fields[..]].concat());
    assert_eq!(flat, entry, "{name}");
    let groups = shown("XINFO GROUPS stream");
    assert!(groups.contains("idle") && groups.contains("readers") && groups.contains("1002-0"), "{groups}");
    let summary = shown("XPENDING stream readers");
    assert!(summary.contains("1000-2") && summary.contains("alice") && summary.contains("bob"), "{summary}");
    let consumers = shown("XINFO CONSUMERS stream readers");
    assert!(consumers.contains("carol"), "{consumers}");
    let whole = shown("XINFO STREAM stream FULL COUNT 1");
    let deleted = if name == "redis62" { "0-0" } else { "1002-1" };
    assert!(whole.contains("1043-1") && whole.contains(deleted), "{whole}");
    let Reply::Array(pending) = ask(server, "XPENDING stream readers - + 9") else { panic!("{name}") };
    assert_eq!(pending.len(), 4, "{name}");
    assert!(shown("XINFO STREAM gone").contains("5-5"), "{name}");
    assert_eq!(ask(server, "XLEN gone"), Reply::Integer(0), "{name}");
}

/// Returns the values of the keys in database 3 of a server. All are strings.
fn third(server: &SkeinServe) -> Vec<String> {
    let mut client = server.client();
    assert_eq!(client.call(&[b"SELECT", b"3"]).unwrap(), Reply::ok());
    let Reply::Array(keys) = client.call(&[b"KEYS", b"*"]).unwrap() else { panic!("no keys") };
    let value = |key| {
        let Reply::Bulk(key) = key else { panic!("{key}") };
        text(client.call(&[b"GET", &key]).unwrap())
    };
    keys.into_iter().map(value).collect()
}

#[test]
fn files_of_redis_and_valkey_are_loaded_into_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    for name in FILES {
        // Present keys are replaced, also by those of the file before.
        ask(&server, "HSET hexpires old 1 older 2");
        ask(&server, "SET longlist text");
        ask(&server, "XADD gone 9-9 old 1");
        let output = run(["load".as_ref(), file(name).as_os_str(), "--to".as_ref(), server.address.as_ref()]);
        let (said, told) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        assert_eq!(output.status.code(), Some(0), "{said}{told}");
        assert!(told.contains(" 0 refused"), "{told}");
        check(&server, name);
        assert_eq!(text(ask(&server, "GET text")), "hello", "{name}");
        assert_eq!(third(&server), ["third"], "{name}");
        if name != "redis62" {
            assert_eq!(ask(&server, "FCALL f 0"), Reply::Integer(1), "{name}");
        }
    }
    assert_eq!(text(ask(&server, "LINDEX plain 2")), "c");
    server.stop();
}

#[test]
fn one_database_is_loaded_alone_from_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let bytes = std::fs::read(file("valkey8")).unwrap();
    let load = |database: &str| {
        run_with_input(["load", "-", "--database", database, "--to", &server.address], &bytes)
    };
    let told = String::from_utf8(stdout_of(load("3"))).unwrap();
    assert!(told.starts_with("2 records read of 25 keys, 2 loaded, 0 refused"), "{told}");
    assert_eq!((third(&server), ask(&server, "DBSIZE")), (vec!["third".to_owned()], Reply::Integer(0)));
    assert_eq!(load("0").status.code(), Some(0));
    check_streams(&server, "valkey8");
    assert_eq!(text(ask(&server, "GET text")), "hello");
    assert_eq!(third(&server), ["third"]);
    // The address may name another database.
    let into = format!("redis://{}/0", server.address);
    stdout_of(run_with_input(["load", "-", "--database", "3", "--to", &into], &bytes));
    assert_eq!(text(ask(&server, "GET text")), "third");
    let all = run_with_input(["load", "-", "--to", &into], &bytes);
    assert_refused(&all, 2, &["leave /0 out, or choose one database by --database N"]);
    server.stop();
}

/// A server that lacks a database of the file gets none of its keys, in no other database either.
#[test]
fn a_database_that_the_server_lacks_ends_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &["--databases", "3"]);
    let load = run(["load".as_ref(), file("valkey8").as_os_str(), "--to".as_ref(), server.address.as_ref()]);
    let way_out = "DB index is out of range (SELECT 3); give that server more databases";
    assert_refused(&load, 1, &[way_out, "29 records read, 29 loaded before"]);
    assert_eq!(text(ask(&server, "GET text")), "hello");
    server.stop();
}

#[test]
fn a_file_of_redis_is_loaded_into_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // `--data` makes a folder of the memory engine.
    if disk_trie().is_some() {
        return;
    }
    let output = run(["load".as_ref(), file("redis70").as_os_str(), "--data".as_ref(), data.as_os_str()]);
    assert_partial(&output, &["a library of functions, which a server has to check"]);
    let server = SkeinServe::start(&data, &[]);
    check(&server, "redis70");
    assert_eq!(text(ask(&server, "GET text")), "hello");
    assert_eq!(third(&server), ["third"]);
    server.stop();
}

/// A folder of either engine, in which `SWAPDB` has moved the databases before.
#[test]
fn a_folder_with_swapped_databases_gets_each_key_in_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    ask(&server, "SET was-in-0 1");
    assert_eq!(ask(&server, "SWAPDB 0 3"), Reply::ok());
    server.stop();
    // A key of the store cannot be a name.
    let reserved = b"\xfe\x00\x00\x05\xffSK\x00k\x01v\x00\x01a\x010\xfe\x03\x00\x01a\x013\xff";
    let bytes = [&b"REDIS0003"[..], reserved].concat();
    let args = ["load".as_ref(), "-".as_ref(), "--data".as_ref(), folder.path().as_os_str()];
    let loaded = run_with_input(args, &bytes);
    assert_partial(&loaded, &["record 1: the key begins with \\xffSK\\x00"]);
    let server = SkeinServe::start(folder.path(), &[]);
    assert_eq!(ask(&server, "DBSIZE"), Reply::Integer(1));
    assert_eq!(text(ask(&server, "GET a")), "0");
    let mut values = third(&server);
    values.sort();
    assert_eq!(values, ["1", "3"]);
    server.stop();
    let far = b"REDIS0003\xfe\x44\x00\x00\x01a\x01b\xff";
    let args = ["load".as_ref(), "-".as_ref(), "--data".as_ref(), folder.path().as_os_str()];
    assert_refused(&run_with_input(args, far), 1, &["database 1024", "has databases 0 to 1023"]);
}

#[test]
fn damage_and_useless_options_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let bytes = std::fs::read(file("redis70")).unwrap();
    let load = |bytes: &[u8], options: &[&str]| {
        let args = ["load", "-", "--to", &server.address];
        run_with_input(args.iter().chain(options), bytes)
    };
    let cut = load(&bytes[..bytes.len() / 2], &[]);
    assert_refused(
        &cut,
        1,
        &["cannot read the file of Redis, at or behind the key", "the input ends at byte"],
    );
    let mut damaged = bytes.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    assert_refused(&load(&damaged, &[]), 1, &["the checksum of the file"]);
    let fields_expire = [&b"REDIS0012\x18\x01h"[..], &[0; 20]].concat();
    assert_refused(&load(&fields_expire, &[]), 1, &["fields expire"]);
    assert_refused(&load(b"REDIS0099\xff", &[]), 1, &["version 99"]);
    assert_refused(&load(&bytes, &["--header"]), 2, &["--header is for text"]);
    assert_refused(&load(b"a\nb\n", &["--database", "0"]), 2, &["--database is for files of Redis"]);
    // A text may begin like a file of Redis.
    stdout_of(load(b"REDIS0010\n", &["--format", "lines"]));
    stdout_of(load(b"REDIS001", &[]));
    assert_eq!(ask(&server, "EXISTS REDIS0010 REDIS001"), Reply::Integer(2));
    server.stop();
}

/// Damage in a stream ends the load with an error that names the key, wherever it is. The second
/// reader of a file notices it before anything of the stream is loaded.
#[test]
fn damage_in_a_stream_names_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(&folder.path().join("data"), &[]);
    let bytes = std::fs::read(file("redis70")).unwrap();
    let key = bytes.windows(8).position(|window| window == b"\x13\x06stream").expect("the key");
    let path = folder.path().join("damaged.rdb");
    let mut named = 0;
    // Its nodes, counters and groups.
    for at in (key + 8..key + 900).step_by(41) {
        let mut damaged = bytes.clone();
        damaged[at] = !damaged[at];
        std::fs::write(&path, &damaged).unwrap();
        ask(&server, "FLUSHALL");
        let from_file = run(["load".as_ref(), path.as_os_str(), "--to".as_ref(), server.address.as_ref()]);
        let from_pipe = run_with_input(["load", "-", "--to", &server.address], &damaged);
        for output in [&from_file, &from_pipe] {
            assert_refused(output, 1, &["cannot read the file of Redis, at or behind the key \""]);
        }
        let said = String::from_utf8_lossy(&from_file.stderr).into_owned();
        if said.contains("the key \"stream\"") {
            named += 1;
            assert_eq!(ask(&server, "EXISTS stream"), Reply::Integer(0), "{said}");
        }
    }
    assert!(named > 5, "{named}");
    server.stop();
}

/// Keys that have expired are not loaded.
#[test]
fn expired_keys_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let bytes = b"REDIS0003\xfd\x01\0\0\0\x00\x03old\x01a\xfc\0\0\0\0\0\0\0\x01\x00\x03new\x01b\xff";
    let told = run_with_input(["load", "-", "--to", &server.address], bytes);
    let told = String::from_utf8(stdout_of(told)).unwrap();
    assert!(told.starts_with("1 records read of 2 keys, 1 of them expired, 1 loaded"), "{told}");
    assert_eq!(text(ask(&server, "GET new")), "b");
    server.stop();
}

/// A file that is written now, by the Redis of this machine, with one large value of each kind.
#[test]
fn a_file_of_the_installed_redis_is_loaded() {
    if std::env::var("SKEIN_TEST_REDIS").is_ok_and(|value| value == "none") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "for i = 1, 50000 do \
        redis.call('RPUSH', 'l', 'element ' .. i) redis.call('SADD', 's', 'member ' .. i) \
        redis.call('ZADD', 'z', i / 8, 'member ' .. i) redis.call('HSET', 'h', 'field ' .. i, i) \
        redis.call('XADD', 'x', '7-' .. i, 'field', i) end \
        redis.call('XGROUP', 'CREATE', 'x', 'g', '0') redis.call('XGROUP', 'CREATECONSUMER', 'x', 'g', 'idle') \
        redis.call('XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', '3000', 'STREAMS', 'x', '>') \
        redis.call('XDEL', 'x', '7-9', '7-50000') \
        redis.call('SET', 'v', string.rep('compressible ', 200000))";
    let socket = folder.path().join("redis.sock");
    let mut redis = Command::new("redis-server")
        .args(["--port", "0", "--save", "", "--unixsocket"])
        .arg(&socket)
        .arg("--dir")
        .arg(folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("a redis-server 7.0 in the PATH, or SKEIN_TEST_REDIS=none");
    let mut client = (0..500)
        .find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            skeindb::client::Client::connect_unix(&socket).ok()
        })
        .expect("a connection");
    let filled = client.call(&[b"EVAL".as_slice(), script.as_bytes(), b"0"]);
    assert!(!matches!(filled, Ok(Reply::Error(_)) | Err(_)), "{filled:?}");
    let shown = |client: &mut skeindb::client::Client| {
        let full: [&[u8]; 6] = [b"XINFO", b"STREAM", b"x", b"FULL", b"COUNT", b"0"];
        let Reply::Array(items) = client.call(&full).unwrap() else { panic!("no stream") };
        // Without the sizes of the tree.
        [&items[..2], &items[6..]].concat()
    };
    let stream = shown(&mut client);
    assert_eq!(client.call(&[b"SAVE"]).unwrap(), Reply::ok());
    redis.kill().unwrap();
    redis.wait().unwrap();
    let server = SkeinServe::start(&folder.path().join("data"), &[]);
    let dump = folder.path().join("dump.rdb");
    let told = stdout_of(run(["load".as_ref(), dump.as_os_str(), "--to".as_ref(), server.address.as_ref()]));
    let told = String::from_utf8(told).unwrap();
    assert!(told.contains(" of 6 keys, ") && told.contains(" 0 refused"), "{told}");
    for look in ["LLEN l", "SCARD s", "ZCARD z", "HLEN h"] {
        assert_eq!(ask(&server, look), Reply::Integer(50_000), "{look}");
    }
    assert_eq!(ask(&server, "STRLEN v"), Reply::Integer(2_600_000));
    assert_eq!(text(ask(&server, "LINDEX l 49999")), "element 50000");
    assert!(shown(&mut server.client()) == stream, "the stream changed");
    ask(&server, "FLUSHALL");
    stdout_of(run_with_input(["load", "-", "--to", &server.address], &std::fs::read(&dump).unwrap()));
    assert!(shown(&mut server.client()) == stream, "the stream changed on its way through a pipe");
    server.stop();
}
