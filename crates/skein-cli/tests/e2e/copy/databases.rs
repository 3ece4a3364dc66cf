//! `skein copy` and the databases of a server.

use super::RedisProcess;
use crate::common::{SkeinServe, assert_partial, assert_refused, disk_trie, run, run_with_input, stdout_of};
use skeindb::client::{Client, Reply};

/// All databases are copied, each into that of the same number, unless the addresses name one.
#[test]
fn databases_are_copied_into_those_of_the_same_numbers() {
    let (folders, mut servers) = ([(); 2].map(|()| tempfile::tempdir().unwrap()), Vec::new());
    for folder in &folders {
        servers.push(SkeinServe::start(folder.path(), &[]));
    }
    let [from, to] = [0, 1].map(|at| servers[at].address.clone());
    let mut client = Client::connect(&from).unwrap();
    let lines = ["SET zero 0", "SELECT 3", "MSET a 3 b 3", "SELECT 12", "SET c 12"];
    for words in lines {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        assert_eq!(client.call(&words).unwrap(), Reply::ok());
    }
    let values = |address: &str, database: u32, keys: &[&str]| {
        let mut client = Client::connect(address).unwrap();
        assert_eq!(client.call(&[b"SELECT", database.to_string().as_bytes()]).unwrap(), Reply::ok());
        let count = Reply::Integer(i64::try_from(keys.len()).unwrap());
        assert_eq!(client.call(&[b"DBSIZE"]).unwrap(), count, "{database}");
        keys.iter().map(|key| client.call(&[b"GET", key.as_bytes()]).unwrap().to_string()).collect::<Vec<_>>()
    };
    let copied = String::from_utf8(stdout_of(run(["copy", "--from", &from, "--to", &to]))).unwrap();
    assert!(copied.starts_with("4 keys of 3 databases copied, 0 refused"), "{copied}");
    for (database, keys) in [(0, &["zero"][..]), (3, &["a", "b"]), (12, &["c"])] {
        assert_eq!(values(&to, database, keys), values(&from, database, keys));
    }
    let some = stdout_of(run(["copy", "--from", &from, "--to", &to, "--pattern", "[ac]"]));
    assert!(some.starts_with(b"2 keys of 3 databases copied"), "{}", String::from_utf8_lossy(&some));

    let [third, fifth] =
        [(&from, 3), (&to, 5)].map(|(address, database)| format!("redis://{address}/{database}"));
    let mut target = Client::connect(&to).unwrap();
    assert_eq!(target.call(&[b"FLUSHALL"]).unwrap(), Reply::ok());
    for (into, database) in [(&to, 3), (&fifth, 5)] {
        let copied = run(["copy", "--from", &third, "--to", into]);
        assert_refused(&copied, 4, &["only database 3", "2 keys in other databases (0, 12) are left out"]);
        assert_eq!(values(&to, database, &["a", "b"]), values(&from, 3, &["a", "b"]));
    }
    assert_eq!(target.call(&[b"DBSIZE"]).unwrap(), Reply::Integer(0));
    let all_into_one = run(["copy", "--from", &from, "--to", &fifth]);
    assert_refused(&all_into_one, 2, &["--to names database 5", "leave /5 out to copy all databases"]);
}

/// If the target has too few databases, nothing is copied.
#[test]
fn a_copy_needs_every_database_of_the_source() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let from = SkeinServe::start(folders[0].path(), &[]);
    let to = SkeinServe::start(folders[1].path(), &["--databases", "3"]);
    let mut client = from.client();
    for words in [&[&b"SET"[..], b"a", b"0"][..], &[b"SELECT", b"7"], &[b"SET", b"a", b"7"]] {
        assert_eq!(client.call(words).unwrap(), Reply::ok());
    }
    let copied = run(["copy", "--from", &from.address, "--to", &to.address]);
    assert_refused(&copied, 1, &["(SELECT 7); give that server more databases"]);
    assert_eq!(to.client().call(&[b"DBSIZE"]).unwrap(), Reply::Integer(0));
    to.stop();
    from.stop();
}

/// A dump of a server is of one database, and others with keys are named. That of a folder has the
/// keys of the store, of all databases, for another folder.
#[test]
fn a_dump_names_the_databases_that_it_leaves_out() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let from = SkeinServe::start(folders[0].path(), &[]);
    let mut client = from.client();
    for words in [&[&b"SET"[..], b"zero", b"0"][..], &[b"SELECT", b"3"], &[b"SET", b"a", b"3"]] {
        assert_eq!(client.call(words).unwrap(), Reply::ok());
    }
    let dumped = run(["dump", "--from", &from.address]);
    assert_eq!(String::from_utf8_lossy(&dumped.stdout), "zero\t0\n");
    let left_out = ["only database 0", "1 keys in other databases (3) are left out", "redis://HOST:PORT/3"];
    assert_refused(&dumped, 4, &left_out);
    let third = format!("redis://{}/3", from.address);
    // A hash trie has no prefixes.
    if disk_trie().as_deref() != Some("hash") {
        // The command asked for a part of the keys only.
        assert_eq!(stdout_of(run(["dump", "--from", &from.address, "--prefix", "zero"])), b"zero\t0\n");
        assert_eq!(stdout_of(run(["dump", "--from", &third, "--prefix", ""])), b"a\t3\n");
        assert_eq!(stdout_of(run(["count", "--from", &third])), b"1\n");
    }
    let none = run(["dump", "--from", &format!("redis://{}/16", from.address)]);
    assert_refused(&none, 1, &["DB index is out of range"]);
    from.stop();
    // `--data` makes a folder of the memory engine.
    if disk_trie().is_some() {
        return;
    }
    let data = |at: usize| folders[at].path().as_os_str();
    let dump = run(["dump".as_ref(), "--format".as_ref(), "hex".as_ref(), "--data".as_ref(), data(0)]);
    let dump = stdout_of(dump);
    let load = ["load", "-", "--format", "hex"];
    let into = load.iter().map(std::ffi::OsStr::new).chain(["--data".as_ref(), data(1)]);
    stdout_of(run_with_input(into, &dump));
    let to = SkeinServe::start(folders[1].path(), &[]);
    let mut client = to.client();
    assert_eq!(client.call(&[b"GET", b"zero"]).unwrap(), Reply::Bulk(b"0".to_vec()));
    // A server rejects keys of the store.
    let refused = run_with_input(load.iter().chain(&["--to", &to.address]), &dump);
    assert_partial(&refused, &["line 2: ERR keys that begin with", "are reserved"]);
    assert_eq!(client.call(&[b"SELECT", b"3"]).unwrap(), Reply::ok());
    assert_eq!(client.call(&[b"GET", b"a"]).unwrap(), Reply::Bulk(b"3".to_vec()));
    to.stop();
}

/// A copy of all databases carries the functions, too, from a Redis and to one; a copy of one
/// database does not.
#[test]
fn functions_are_copied_with_all_databases() {
    const LIBRARY: &[u8] = b"#!lua name=geese\nredis.register_function('count', function() return 42 end)";
    let Some(redis) = RedisProcess::start() else { return };
    let called = |client: &mut Client| client.call(&[b"FCALL", b"count", b"0"]).unwrap();
    let mut source = Client::connect(&redis.address).unwrap();
    assert_eq!(source.call(&[b"SET", b"goose", b"grey"]).unwrap(), Reply::ok());
    assert_eq!(source.call(&[b"FUNCTION", b"LOAD", LIBRARY]).unwrap(), Reply::Bulk(b"geese".to_vec()));

    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let to = server.address.as_str();
    let one = run(["copy", "--from", &format!("redis://{}/0", redis.address), "--to", to]);
    assert!(one.status.success(), "{one:?}");
    assert!(matches!(called(&mut server.client()), Reply::Error(_)));
    for _ in 0..2 {
        let all = run(["copy", "--from", &redis.address, "--to", to]);
        assert!(stdout_of(all).ends_with(b"1 libraries of functions copied\n"));
    }
    assert_eq!(called(&mut server.client()), Reply::Integer(42));

    // And back, first by a user without the right to write functions.
    assert_eq!(source.call(&[b"FUNCTION", b"FLUSH"]).unwrap(), Reply::ok());
    for rights in [&b"-function|restore"[..], b"+@all"] {
        let user = [&b"ACL"[..], b"SETUSER", b"default", b"on", b"nopass", b"~*", b"+@all", rights];
        assert_eq!(source.call(&user).unwrap(), Reply::ok());
        let back = run(["copy", "--from", to, "--to", &redis.address]);
        if rights == b"+@all" {
            assert!(back.status.success(), "{back:?}");
        } else {
            assert_partial(&back, &["the functions are not copied: ", "NOPERM"]);
            assert!(matches!(called(&mut source), Reply::Error(_)));
        }
    }
    assert_eq!(called(&mut source), Reply::Integer(42));
}
