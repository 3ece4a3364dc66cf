//! Libraries of functions: on several workers, after a restart, within limits, and hidden from
//! clients. (`golden/functions.txt` has the replies of each command.)

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{TestClient, TestServer, index, options, run, show, start_with, trie};
use skein_data::{DiskEngine, Engine, FUNCTIONS_KEY};
use skein_disk::{DiskOptions, DiskStore, TrieShape, Values};
use skein_server::{Server, ServerOptions, StartError};
use skein_store::{Durability, Store, StoreLimits, StoreOptions};

const ECHO: &str =
    "#!lua name=echo\nredis.register_function('echo', function(keys, args) return args[1] end)";
const WRITER: &str = "#!lua name=writer\nredis.register_function('put', function(keys, args) \
                      return redis.call('SET', keys[1], args[1]) end)";

fn start(options: ServerOptions) -> TestServer {
    start_with(ServerOptions { workers: 3, ..options }, Durability::Buffered)
}

fn load(client: &mut TestClient, source: &str) -> String {
    show(&client.call(&[b"FUNCTION", b"LOAD", b"REPLACE", source.as_bytes()]))
}

/// Opens the engine that the environment chooses.
fn open(folder: &Path, durability: Durability) -> Engine {
    match trie() {
        None => {
            let options = StoreOptions { durability, logs: 2, index: index(), ..StoreOptions::default() };
            Store::open(folder, options).expect("a store").into()
        }
        Some(shape) => {
            let options = DiskOptions { durability, shape, values: Values::Rows, ..DiskOptions::default() };
            let store = DiskStore::open(folder, options).expect("a store");
            DiskEngine::new(store, StoreLimits::default()).expect("a store of rows").into()
        }
    }
}

#[test]
fn every_worker_has_the_functions_until_they_are_removed() {
    let server = start(options());
    let mut clients: Vec<TestClient> = (0..9).map(|_| server.connect()).collect();
    assert_eq!(load(&mut clients[0], ECHO), "$4|echo|");
    for client in &mut clients {
        assert_eq!(client.ask("FCALL echo 0 hello"), "$5|hello|");
    }
    let changed = ECHO.replace("return args[1]", "return 'new'");
    assert_eq!(load(&mut clients[5], &changed), "$4|echo|");
    for client in &mut clients {
        assert_eq!(client.ask("FCALL echo 0 hello"), "$3|new|");
    }
    assert_eq!(clients[1].ask("FUNCTION DELETE echo"), "+OK|");
    for client in &mut clients {
        assert_eq!(client.ask("FCALL echo 0 hello"), "-ERR Function not found|");
    }
}

/// Two libraries, a change and a removal, over restarts.
#[test]
fn functions_survive_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), Durability::Sync);
    let server = Server::start(engine.clone(), options()).expect("a server");
    let mut client =
        TestClient::new(std::net::TcpStream::connect(server.local_addr()).expect("a connection"));
    let doomed = ECHO.replace("echo", "doomed");
    for source in [ECHO, WRITER, &doomed] {
        assert!(load(&mut client, source).starts_with('$'));
    }
    let listed = client.ask("FUNCTION LIST WITHCODE");
    assert_eq!(client.ask("FUNCTION DELETE doomed"), "+OK|");
    assert_eq!(client.ask("FLUSHALL"), "+OK|");
    server.handle().shutdown();
    assert!(server.wait().failed_threads.is_empty());
    engine.close().expect("closed");
    drop(engine);

    let server = run(options(), open(folder.path(), Durability::Sync), folder);
    let mut client = server.connect();
    assert_eq!(client.ask("FCALL put 1 k v"), "+OK|");
    assert_eq!(client.ask("FCALL echo 0 hello"), "$5|hello|");
    assert_eq!(client.ask("FCALL doomed 0"), "-ERR Function not found|");
    assert_eq!(load(&mut client, &doomed), "$6|doomed|");
    assert_eq!(client.ask("FUNCTION LIST WITHCODE"), listed);
    assert_eq!(client.ask("DBSIZE"), ":1|");
}

/// A row that is damaged, or of a later version, keeps the server from starting: a change would
/// replace it.
#[test]
fn a_server_does_not_start_without_its_functions() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), Durability::Buffered);
    let (written, _) = engine.session().keys().write(|writer| writer.put(FUNCTIONS_KEY, b"not a payload"));
    written.expect("a session").expect("a write");
    let failed = Server::start(engine.clone(), options()).expect_err("a damaged row");
    assert!(matches!(failed, StartError::Functions { .. }), "{failed}");
    assert!(failed.to_string().contains("DUMP payload version or checksum are wrong"), "{failed}");
    engine.close().expect("closed");
}

/// A library that FUNCTION LOAD refuses on this machine, because its code takes too long.
fn too_slow_library() -> String {
    let server = start(options());
    let mut client = server.connect();
    let mut steps = 60_000_000_u64;
    loop {
        let source = format!(
            "#!lua name=slow\nfor i = 1, {steps} do local x = i * 2 end \
             redis.register_function('slow', function() return 1 end)"
        );
        let reply = show(&client.call(&[b"FUNCTION", b"LOAD", b"REPLACE", source.as_bytes()]));
        if reply.contains("FUNCTION LOAD timeout") {
            return source;
        }
        assert_eq!(reply, "$4|slow|");
        steps *= 2;
    }
}

/// Incident: a library that was accepted while memory was free, or on an idle machine, kept the server
/// from starting. Consequence: no data could be reached.
/// Fix: at the start the code has time, and a library that fails is kept, reported, and without
/// functions.
#[test]
fn a_library_that_fails_does_not_stop_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let large = "#!lua name=large\nlocal s = 'x' for i = 1, 21 do s = s .. s end \
                 redis.register_function('size', function() return #s end)";
    let slow = too_slow_library();
    let engine = open(folder.path(), Durability::Sync);
    let mut payload = Vec::new();
    for source in [ECHO, large, &slow] {
        payload.push(0xf5);
        skein_rdb::write::write_string(&mut payload, source.as_bytes());
    }
    skein_rdb::payload::seal(&mut payload);
    let (written, _) = engine.session().keys().write(|writer| writer.put(FUNCTIONS_KEY, &payload));
    written.expect("a session").expect("a write");
    let start = |script_memory_max| {
        let options = ServerOptions { script_memory_max, ..options() };
        Server::start(engine.clone(), options).expect("a server")
    };
    for (memory, size, failed) in [(1 << 20, "-ERR Function not found|", 1), (16 << 20, ":2097152|", 0)] {
        let server = start(memory);
        let mut client =
            TestClient::new(std::net::TcpStream::connect(server.local_addr()).expect("a connection"));
        assert_eq!(client.ask("FCALL echo 0 hello"), "$5|hello|");
        assert_eq!(client.ask("FCALL slow 0"), ":1|", "a worker has the time, too");
        assert_eq!(client.ask("FCALL size 0"), size);
        let listed = client.ask("FUNCTION LIST LIBRARYNAME large");
        assert_eq!(listed.contains("load_error|"), failed == 1, "{listed}");
        assert_eq!(listed.contains("max-script-memory, 1048576 bytes"), failed == 1, "{listed}");
        let info = client.ask("INFO memory");
        assert!(info.contains(&format!("number_of_failed_libraries:{failed}|")), "{info}");
        assert_eq!(
            client.call(&[b"FUNCTION", b"DUMP"]),
            [format!("${}\r\n", payload.len()).as_bytes(), &payload, b"\r\n"].concat()
        );
        server.handle().shutdown();
        assert!(server.wait().failed_threads.is_empty());
    }
    engine.close().expect("closed");
}

#[test]
fn clients_do_not_see_the_row() {
    let server = start(options());
    let mut client = server.connect();
    let is_ordered = !matches!(trie(), Some(TrieShape::Hash { .. }));
    assert_eq!(load(&mut client, ECHO), "$4|echo|");
    assert_eq!(client.ask("DBSIZE"), ":0|");
    assert_eq!(client.ask("KEYS *"), "*0|");
    assert_eq!(client.ask("RANDOMKEY"), "$-1|");
    assert_eq!(client.ask("SCAN 0"), "*2|$1|0|*0|");
    assert!(!client.ask("INFO keyspace").contains("db0"));
    assert!(client.ask("MEMORY STATS").contains("|keys.count|:0|"));
    // One key on each side of the row.
    let (before, after) = (&b"a"[..], &b"\xffz"[..]);
    assert_eq!(client.call(&[b"MSET", before, b"1", after, b"2"]), b"+OK\r\n");
    assert_eq!(client.ask("DBSIZE"), ":2|");
    if is_ordered {
        let both = b"*4\r\n$1\r\na\r\n$1\r\n1\r\n$2\r\n\xffz\r\n$1\r\n2\r\n";
        assert_eq!(client.call(&[b"SK.RANGE", b"-", b"+"]), both);
        assert_eq!(client.call(&[b"SK.RANGE", b"-", b"+", b"SNAPSHOT"]), both);
        assert_eq!(client.ask("SK.SNAPSHOT BEGIN"), "+OK|");
        assert_eq!(client.call(&[b"SK.RANGE", b"-", b"+", b"HELD"]), both);
        assert_eq!(client.ask("SK.SNAPSHOT END"), "+OK|");
        assert_eq!(client.ask("SK.COUNT - +"), ":2|");
        assert_eq!(client.call(&[b"SK.NEXT", before]), b"*2\r\n$2\r\n\xffz\r\n$1\r\n2\r\n");
        assert_eq!(client.call(&[b"SK.PREV", after]), b"*2\r\n$1\r\na\r\n$1\r\n1\r\n");
        assert_eq!(client.ask("SK.DELRANGE - +"), ":2|");
    }
    assert_eq!(client.call(&[b"MSET", before, b"1", after, b"2"]), b"+OK\r\n");
    assert_eq!(client.ask("FLUSHALL"), "+OK|");
    assert_eq!(client.ask("DBSIZE"), ":0|");
    assert_eq!(client.ask("FCALL echo 0 hello"), "$5|hello|");
    assert!(server.store.get(FUNCTIONS_KEY).expect("a read").is_some(), "FLUSHALL left the row");
    assert_eq!(client.ask("FUNCTION FLUSH"), "+OK|");
    assert!(server.store.get(FUNCTIONS_KEY).expect("a read").is_none());
}

/// Many keys on both sides of a large row, which fills a step of the removal by itself.
#[test]
fn flushall_removes_all_keys_around_a_large_row() {
    let server = start(options());
    let mut client = server.connect();
    let large = format!("{ECHO} -- {}", "x".repeat(3 << 20));
    assert_eq!(load(&mut client, &large), "$4|echo|");
    for number in 0..700_u32 {
        let key = [if number % 2 == 0 { &b"a"[..] } else { b"\xffz" }, &number.to_be_bytes()].concat();
        assert_eq!(client.call(&[b"SET", &key, b"v"]), b"+OK\r\n");
    }
    assert_eq!(client.ask("DBSIZE"), ":700|");
    assert_eq!(client.ask("FLUSHALL"), "+OK|");
    assert_eq!(client.ask("DBSIZE"), ":0|");
    assert_eq!(client.ask("FCALL echo 0 hello"), "$5|hello|");
}

#[test]
fn nobody_can_name_the_row() {
    let server = start(options());
    let mut client = server.connect();
    assert_eq!(load(&mut client, WRITER), "$6|writer|");
    let refused = r"-ERR keys that begin with \xffSK\x00 are reserved for databases and keyspaces";
    for request in [
        &[&b"GET"[..], FUNCTIONS_KEY][..],
        &[b"SET", FUNCTIONS_KEY, b"v"],
        &[b"MGET", b"a", FUNCTIONS_KEY],
        &[b"MSET", b"a", b"v", FUNCTIONS_KEY, b"v"],
        &[b"DEL", b"a", b"b", FUNCTIONS_KEY],
        &[b"RENAME", b"a", FUNCTIONS_KEY],
        &[b"WATCH", FUNCTIONS_KEY],
        &[b"OBJECT", b"ENCODING", FUNCTIONS_KEY],
        &[b"ZUNION", b"2", b"a", FUNCTIONS_KEY],
        &[b"FCALL", b"put", b"1", FUNCTIONS_KEY, b"v"],
    ] {
        let reply = show(&client.call(request));
        assert!(reply.starts_with(refused), "{request:?}: {reply}");
    }
    // The name of no key.
    assert_eq!(client.call(&[b"SET", b"k", FUNCTIONS_KEY]), b"+OK\r\n");
    assert_eq!(client.call(&[b"ECHO", FUNCTIONS_KEY]), [b"$8\r\n", FUNCTIONS_KEY, b"\r\n"].concat());
    // A script may put the key together.
    let script = b"return redis.call('DEL', '\\255SK' .. string.rep('\\0', 5))";
    let reply = show(&client.call(&[b"EVAL", script, b"0"]));
    assert!(reply.starts_with(refused), "{reply}");
    assert_eq!(client.ask("MULTI"), "+OK|");
    assert!(show(&client.call(&[b"GET", FUNCTIONS_KEY])).starts_with(refused));
    assert!(client.ask("EXEC").starts_with("-EXECABORT"));
    assert_eq!(client.ask("FCALL put 1 k v"), "+OK|");
}

#[test]
fn an_exec_changes_functions_and_keys_together() {
    let server = start(options());
    let mut client = server.connect();
    assert_eq!(client.ask("MULTI"), "+OK|");
    assert_eq!(client.ask("SET k before"), "+QUEUED|");
    assert_eq!(load(&mut client, WRITER), "+QUEUED|");
    assert_eq!(client.ask("FCALL put 1 k after"), "+QUEUED|");
    assert_eq!(client.ask("FUNCTION DELETE writer"), "+QUEUED|");
    assert_eq!(load(&mut client, ECHO), "+QUEUED|");
    assert_eq!(client.ask("EXEC"), "*5|+OK|$6|writer|+OK|+OK|$4|echo|");
    assert_eq!(client.ask("GET k"), "$5|after|");
    assert_eq!(server.connect().ask("FCALL echo 0 hello"), "$5|hello|");
}

#[test]
fn functions_have_the_limits_of_scripts() {
    let limits = ServerOptions {
        script_time_max: Duration::from_millis(200),
        script_memory_max: 2 << 20,
        ..options()
    };
    let server = start(limits);
    let mut client = server.connect();
    assert_eq!(
        load(
            &mut client,
            "#!lua name=bad\nredis.register_function('forever', function() while true do end end) \
             redis.register_function('large', function() return #string.rep('x', 10000000) end)"
        ),
        "$3|bad|"
    );
    let began = Instant::now();
    let reply = client.ask("FCALL forever 0");
    assert!(reply.starts_with("-ERR the script takes longer than max-script-time, 0.2 s"), "{reply}");
    assert!(began.elapsed() >= Duration::from_millis(200));
    let reply = client.ask("FCALL large 0");
    assert!(reply.contains("max-script-memory, 2097152 bytes; raise it"), "{reply}");
    let reply = load(&mut client, &format!("#!lua name=long\nlocal x = '{}'", "x".repeat(3 << 20)));
    assert!(reply.contains("max-script-memory, 2097152 bytes; raise it"), "{reply}");
    assert_eq!(load(&mut client, ECHO), "$4|echo|");
    assert_eq!(client.ask("FCALL echo 0 hello"), "$5|hello|");
}

/// Libraries that fail after their code ran leave nothing in the Lua states.
#[test]
fn failed_loads_do_not_fill_memory() {
    let server = start(ServerOptions { script_memory_max: 4 << 20, ..options() });
    let mut client = server.connect();
    assert_eq!(load(&mut client, ECHO), "$4|echo|");
    for number in 0..500 {
        let source = format!(
            "#!lua name=l{number}\nlocal t = '{}' redis.register_function('echo', function() return t end)",
            "x".repeat(50_000)
        );
        assert_eq!(load(&mut client, &source), "-ERR Function echo already exists|");
    }
    assert_eq!(client.ask("FCALL echo 0 hello"), "$5|hello|");
}

#[test]
fn rights_hold_within_functions() {
    let server = start(options());
    let mut admin = server.connect();
    assert_eq!(load(&mut admin, WRITER), "$6|writer|");
    assert_eq!(admin.ask("ACL SETUSER bob on >pw ~mine:* +get +set +fcall"), "+OK|");
    let mut bob = server.connect();
    assert_eq!(bob.ask("AUTH bob pw"), "+OK|");
    assert_eq!(bob.ask("FCALL put 1 mine:a v"), "+OK|");
    assert!(bob.ask("FCALL put 1 yours v").starts_with("-NOPERM"), "the keys of FCALL itself");
    assert_eq!(admin.ask("ACL SETUSER bob -set"), "+OK|");
    let reply = bob.ask("FCALL put 1 mine:a w");
    assert!(reply.starts_with("-ERR The user executing the script can't run this command"), "{reply}");
    for refused in ["FUNCTION LIST", "FUNCTION FLUSH", "FUNCTION LOAD x", "FCALL_RO put 1 mine:a v"] {
        assert!(bob.ask(refused).starts_with("-NOPERM"), "{refused}");
    }
    assert_eq!(bob.ask("GET mine:a"), "$1|v|");
}

#[test]
fn functions_are_refused_while_memory_is_full() {
    if trie().is_some() {
        return;
    }
    let server = start(options());
    let mut client = server.connect();
    assert_eq!(load(&mut client, WRITER), "$6|writer|");
    let payload = server.store.get(FUNCTIONS_KEY).expect("a read").expect("a row").into_vec();
    assert_eq!(client.ask("CONFIG SET maxmemory 1"), "+OK|");
    let full = "-OOM command not allowed when used memory > 'maxmemory'.|";
    assert_eq!(client.ask("FCALL put 1 k v"), full);
    assert_eq!(load(&mut client, ECHO), full);
    assert_eq!(show(&client.call(&[b"FUNCTION", b"RESTORE", &payload, b"REPLACE"])), full);
    assert_eq!(client.ask("FUNCTION DELETE writer"), "+OK|");
    assert_eq!(client.ask("CONFIG SET maxmemory 0"), "+OK|");
    assert_eq!(show(&client.call(&[b"FUNCTION", b"RESTORE", &payload])), "+OK|");
    assert_eq!(client.ask("FCALL put 1 k v"), "+OK|");
}

/// The row is the payload of FUNCTION DUMP, so it moves between servers, and to Redis.
#[test]
fn a_dump_moves_between_servers() {
    let (from, to) = (start(options()), start(options()));
    let mut client = from.connect();
    assert_eq!(load(&mut client, ECHO), "$4|echo|");
    assert_eq!(load(&mut client, WRITER), "$6|writer|");
    let payload = from.store.get(FUNCTIONS_KEY).expect("a read").expect("a row").into_vec();
    let dumped = client.call(&[b"FUNCTION", b"DUMP"]);
    assert_eq!(dumped, [format!("${}\r\n", payload.len()).as_bytes(), &payload, b"\r\n"].concat());
    let mut client = to.connect();
    assert_eq!(show(&client.call(&[b"FUNCTION", b"RESTORE", &payload])), "+OK|");
    assert_eq!(client.ask("FCALL echo 0 hello"), "$5|hello|");
    assert_eq!(client.ask("FCALL put 1 k v"), "+OK|");
}
