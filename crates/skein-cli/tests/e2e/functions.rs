//! Functions of a server that is killed: each acknowledged change is there after the restart, at
//! durability `sync`.

use std::path::Path;

use skeindb::Db;
use skeindb::client::Reply;

use crate::common::{SkeinServe, assert_sound};

fn library(number: i64) -> String {
    format!("#!lua name=lib{number}\nredis.register_function('f{number}', function() return {number} end)")
}

fn load(server: &SkeinServe, number: i64) {
    let loaded = server.client().call(&[b"FUNCTION", b"LOAD", b"REPLACE", library(number).as_bytes()]);
    assert_eq!(loaded.unwrap(), Reply::Bulk(format!("lib{number}").into_bytes()));
}

/// Loads and removes libraries, and kills the server after each change.
fn kill_after_each_change(options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let options = [&["--durability", "sync", "--workers", "2"], options].concat();
    let start = |folder: &Path| SkeinServe::start(folder, &options);
    for round in 0..6_i64 {
        let server = start(folder.path());
        let mut client = server.client();
        for number in 0..round {
            let expected = if number == 2 && round > 3 { None } else { Some(Reply::Integer(number)) };
            let called = client.call(&[b"FCALL", format!("f{number}").as_bytes(), b"0"]);
            assert_eq!(called.ok().filter(|reply| !matches!(reply, Reply::Error(_))), expected, "{round}");
        }
        load(&server, round);
        if round == 3 {
            assert_eq!(client.call(&[b"FUNCTION", b"DELETE", b"lib2"]).unwrap(), Reply::ok());
            assert_eq!(client.call(&[b"FLUSHALL"]).unwrap(), Reply::ok());
        }
        server.kill();
        assert_sound(folder.path());
    }
    let server = start(folder.path());
    assert_eq!(server.client().call(&[b"DBSIZE"]).unwrap(), Reply::Integer(0));
    assert_eq!(server.client().call(&[b"FUNCTION", b"FLUSH"]).unwrap(), Reply::ok());
    server.kill();
    let called = start(folder.path()).client().call(&[b"FCALL", b"f0", b"0"]);
    assert!(!matches!(called, Ok(Reply::Integer(_))), "{called:?}");
}

/// A library that opens a server's folder shows no row of the functions, and its backup has it.
#[test]
fn a_backup_has_the_functions() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backup) = (folder.path().join("data"), folder.path().join("backup"));
    let server = SkeinServe::start(&data, &[]);
    load(&server, 1);
    assert_eq!(server.client().call(&[b"SET", b"goose", b"grey"]).unwrap(), Reply::ok());
    server.stop();
    if std::env::var("SKEIN_TEST_INDEX").is_ok() {
        return;
    }
    let db = Db::open(&data).unwrap();
    let keys = db.default_keyspace();
    assert_eq!(keys.len().unwrap(), 1);
    assert_eq!(keys.range::<&[u8]>(..).count(), 1);
    db.backup(&backup).unwrap();
    assert_eq!(keys.clear().unwrap(), 1);
    db.close().unwrap();
    drop((keys, db));
    for folder in [data, backup] {
        let called = SkeinServe::start(&folder, &[]).client().call(&[b"FCALL", b"f1", b"0"]);
        assert_eq!(called.unwrap(), Reply::Integer(1));
    }
}

#[test]
fn no_function_is_lost_in_memory() {
    kill_after_each_change(&[]);
}

#[test]
fn no_function_is_lost_on_disk() {
    if crate::common::disk_trie().is_none() && std::env::var("SKEIN_TEST_INDEX").is_err() {
        kill_after_each_change(&["--engine", "disk"]);
    }
}
