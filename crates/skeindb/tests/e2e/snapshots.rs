//! `skein serve`: ranges and checkpoints of one moment, while clients write, over any index.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{SkeinServe, skein};
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
