//! At durability `sync`, no reply to a write is sent before the write is durable. This holds for
//! each path through a worker: in a batch, by itself, in slices, alone, by a script, or for a
//! client that waits.
//!
//! The disk is slow, so a reply that is not held arrives long before the epoch of its write is
//! durable.

use std::path::Path;
use std::time::Duration;

use crate::blocking::{answer, block};
use crate::common::{TestClient, TestServer, encode, index, options, run, show, trie};
use skein_data::{DiskEngine, Engine};
use skein_disk::{DiskOptions, DiskStore, Values};
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;
use skein_store::{Durability, Store, StoreLimits, StoreOptions};

/// More keys than a command removes at once, and so many that it needs several slices.
const MANY: usize = 2_000;

/// Starts a server over a disk that needs this time for each operation.
fn start_on_slow_disk(delay: Duration) -> TestServer {
    let (disk, durability) = (SimStorage::new(), Durability::Sync);
    let engine: Engine = match trie() {
        None => {
            let (storage, index) = (disk.share(), index());
            let options = StoreOptions { durability, logs: 2, index, storage, ..StoreOptions::default() };
            Store::open(Path::new("/data"), options).expect("a store").into()
        }
        Some(shape) => {
            let options = DiskOptions { durability, shape, values: Values::Rows, ..DiskOptions::default() };
            let store = DiskStore::open_on(disk.share(), "/data", options).expect("a store");
            DiskEngine::new(store, StoreLimits::default()).expect("a store of rows").into()
        }
    };
    let server = run(options(), engine, tempfile::tempdir().expect("a folder"));
    disk.slow_down(delay);
    server
}

/// Sends a request that writes, and checks that its reply arrives after the write is durable. The
/// write belongs to the epoch that is open before it is sent, or to a later one.
fn check_words(server: &TestServer, client: &mut TestClient, words: &[&[u8]]) {
    let open = server.store.stats().epoch;
    let reply = show(&client.call(words));
    let durable = server.store.durable_epoch();
    let request = String::from_utf8_lossy(words[0]);
    assert!(!reply.starts_with('-'), "{request}: {reply}");
    assert!(durable >= open, "{request}: acknowledged in epoch {open}, and only {durable} is durable");
}

fn check_held(server: &TestServer, client: &mut TestClient, requests: &[&str]) {
    for request in requests {
        check_words(server, client, &request.split(' ').map(str::as_bytes).collect::<Vec<_>>());
    }
}

/// Returns a request with many keys.
fn of_many(command: &str, key: impl Fn(usize) -> String) -> String {
    let keys: Vec<String> = (0..MANY).map(key).collect();
    format!("{command} {}", keys.join(" "))
}

/// Incident: the test of this promise compared the durable epoch with itself, so it could not fail,
/// and only EXEC had a better one. Consequence: with a planted bug, DEL of many keys was
/// acknowledged before it was durable, and no test noticed. Fix: each way that a reply takes is
/// checked on a disk that is slow.
#[test]
fn no_reply_is_sent_before_its_write_is_durable() {
    let server = start_on_slow_disk(Duration::from_millis(60));
    let mut client = server.connect();
    let single = ["SET a 1", "GETSET a 2", "INCR n", "EXPIRE a 1000", "PERSIST a", "APPEND a x", "GETDEL a"];
    check_held(&server, &mut client, &single);
    let several = ["MSET b 1 c 2", "MSETNX d 1 e 2", "RENAME b f", "COPY f g", "BITOP NOT h f", "DEL c d"];
    check_held(&server, &mut client, &several);
    let collections = [
        "RPUSH list x y z",
        "LMOVE list other LEFT RIGHT",
        "BLPOP list 0",
        "SORT list ALPHA STORE sorted",
        "SADD set 1 2 3",
        "SMOVE set moved 2",
        "SPOP set",
        "SUNIONSTORE union set moved",
        "ZADD scores 1 a 2 b 3 c",
        "ZUNIONSTORE sum 1 scores",
        "BZMPOP 0 1 scores MIN",
        "GEOADD places 13 38 p",
        "GEOSEARCHSTORE near places FROMMEMBER p BYRADIUS 1 km",
        "PFADD sketch x",
        "PFMERGE merged sketch",
        "XADD stream 1-1 f v",
        "XGROUP CREATE stream group 0",
        "XREADGROUP GROUP group consumer STREAMS stream >",
        "XACK stream group 1-1",
    ];
    check_held(&server, &mut client, &collections);
    let library =
        b"#!lua name=lib\nredis.register_function('put', function() return redis.call('INCR', 'n') end)";
    check_words(&server, &mut client, &[b"FUNCTION", b"LOAD", library]);
    let scripts = [
        "EVAL return(redis.call('SET','a',1)) 0",
        "EVAL redis.call('SET','a',2)return(redis.call('GET','a')) 0",
        "FCALL put 0",
    ];
    check_held(&server, &mut client, &scripts);
}

#[test]
fn no_reply_of_a_removal_in_slices_is_sent_before_it_is_durable() {
    let server = start_on_slow_disk(Duration::from_millis(60));
    let mut client = server.connect();
    let set = of_many("MSET", |at| format!("m:{at} v"));
    check_held(&server, &mut client, &[&set]);
    check_held(&server, &mut client, &[&of_many("DEL", |at| format!("m:{at}"))]);
    // Only the first or only the last slice removes a key. The hold of one slice must not hide that
    // another slice has no hold.
    for only in [0, MANY - 1] {
        let (put, remove) = (format!("SET m:{only} v"), of_many("UNLINK", |at| format!("m:{at}")));
        check_held(&server, &mut client, &[&put, &remove]);
    }
    check_held(&server, &mut client, &["SET m:0 v", "SK.DELRANGE [m: (m;"]);
    check_held(&server, &mut client, &[&set, "SK.DELRANGE [m: (m;", "SET a 1", "FLUSHALL"]);
}

#[test]
fn no_reply_of_a_pipeline_or_to_a_waiting_client_is_sent_before_it_is_durable() {
    let server = start_on_slow_disk(Duration::from_millis(60));
    let (mut client, mut waiting) = (server.connect(), server.connect());
    let pipeline = ["SET a 1", "RPUSH list a", "MULTI", "INCR n", "EXEC", "DEL a", "RPUSH list b"];
    let open = server.store.stats().epoch;
    let bytes = pipeline.map(|words| encode(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>()));
    client.send(&bytes.concat());
    for request in pipeline {
        let reply = show(&client.reply());
        assert!(!reply.starts_with('-'), "{request}: {reply}");
        assert!(server.store.durable_epoch() >= open, "{request} was acknowledged early");
    }
    block(&mut waiting, "BLMOVE absent target LEFT RIGHT 0", &mut client);
    let open = server.store.stats().epoch;
    check_held(&server, &mut client, &["RPUSH absent x"]);
    assert_eq!(answer(&mut waiting), "$1|x|");
    assert!(server.store.durable_epoch() >= open, "a waiting client was answered early");
}
