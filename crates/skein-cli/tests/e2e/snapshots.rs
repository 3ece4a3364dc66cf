//! Ranges, checkpoints and dumps of one moment, while clients write, over any index.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{SkeinServe, run, skein, stdout_of};
use skeindb::client::{Client, Reply};

/// Starts a server on an index, whatever the index of the other tests is. It has no log, so that a
/// kill leaves the last checkpoint.
fn start(folder: &Path, index: &str) -> SkeinServe {
    let mut command =
        skein(["serve", "--listen", "127.0.0.1:0", "--durability", "none", "--max-snapshots", "1"]);
    command.args(["--index", index, "--data"]).arg(folder);
    SkeinServe::launch(command).expect("it starts")
}

fn ask(client: &mut Client, request: &str) -> Reply {
    let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
    client.call(&words).expect("the server answers")
}

const KEYS: usize = 3000;

/// Sets some of the keys, far apart, to one value, all in one command.
fn mset(client: &mut Client, round: usize) {
    let pairs: Vec<String> = (0..KEYS).step_by(600).map(|key| format!("{key:05} {round}")).collect();
    assert_eq!(ask(client, &format!("MSET {}", pairs.join(" "))), Reply::Simple("OK".into()));
}

/// Returns the values of those keys in the reply to a range over all keys.
fn values(client: &mut Client, range: &str) -> BTreeSet<String> {
    let held = ask(client, range).into_array().expect("an array");
    assert_eq!(held.len(), KEYS * 2);
    held.chunks(2).step_by(600).map(|entry| entry[1].to_string()).collect()
}

/// Stops a writer when it is dropped, also after a failed assertion.
struct StopWriterGuard<'a>(&'a AtomicBool);

impl Drop for StopWriterGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn ranges_and_checkpoints_show_whole_msets() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "wormhole");
    let mut client = server.client();
    for key in 0..KEYS {
        ask(&mut client, &format!("SET {key:05} v"));
    }
    mset(&mut client, 0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.client();
            for round in 1.. {
                mset(&mut client, round);
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let _stops = StopWriterGuard(&stop);
        for _ in 0..20 {
            let seen = values(&mut client, "SK.RANGE - + SNAPSHOT");
            assert_eq!(seen.len(), 1, "{seen:?}");
            assert_eq!(ask(&mut client, "SAVE"), Reply::Simple("OK".into()));
        }
    });
    server.kill();

    // All indexes share the format on disk.
    let server = start(folder.path(), "masstree");
    let mut client = server.client();
    let seen = values(&mut client, "SK.RANGE - +");
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(values(&mut client, "SK.RANGE - + SNAPSHOT"), seen);
    server.stop();
}

/// Incident: a dump read page after page of the present keys. Consequence: it had a part of an MSET
/// that ran meanwhile. Fix: the server holds a snapshot for it.
#[test]
fn a_dump_is_of_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(&folder.path().join("data"), &["--max-snapshots", "1"]);
    let mut client = server.client();
    for key in 0..KEYS {
        ask(&mut client, &format!("SET {key:05} first"));
    }
    assert_eq!(ask(&mut client, "HSET hash column 1"), Reply::Integer(1));
    assert_eq!(ask(&mut client, "ZADD zset 2.5 member"), Reply::Integer(1));
    mset(&mut client, 0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = server.client();
            for round in 0.. {
                mset(&mut writer, round);
                if done.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        for _ in 0..5 {
            let dump = String::from_utf8(stdout_of(run(["dump", "--from", &server.address]))).unwrap();
            let lines: Vec<&str> = dump.lines().collect();
            assert_eq!(lines.len(), KEYS + 2);
            let rounds: BTreeSet<&str> = (0..KEYS).step_by(600).map(|key| &lines[key][6..]).collect();
            assert_eq!(rounds.len(), 1, "parts of several MSETs: {rounds:?}");
        }
        done.store(true, Ordering::Relaxed);
    });
    // The only place for a snapshot is free again.
    let seen = ask(&mut client, "SK.RANGE - + LIMIT 1 SNAPSHOT");
    assert!(matches!(seen, Reply::Array(_)), "{seen}");
    server.stop();
}

#[test]
fn a_dump_writes_a_key_that_is_too_long_for_a_reply() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(&folder.path().join("data"), &["--max-reply", "20k"]);
    let mut client = server.client();
    for part in 0..30 {
        let fields: Vec<String> = (0..100).map(|field| format!("{part}:{field} {field}")).collect();
        ask(&mut client, &format!("HSET long {}", fields.join(" ")));
    }
    let short = "x".repeat(3000);
    for key in 0..20 {
        ask(&mut client, &format!("SET s{key:02} {short}"));
    }
    let output = run(["dump", "--from", &server.address]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("long is too long for one reply") && said.contains("--max-reply"), "{said}");
    let dump = String::from_utf8(stdout_of(output)).unwrap();
    let (long, short): (Vec<&str>, Vec<&str>) = dump.lines().partition(|line| line.starts_with("long"));
    let columns: usize = long.iter().map(|line| (line.split('\t').count() - 1) / 2).sum();
    assert_eq!((columns, short.len()), (3000, 20));
    server.stop();
}
