//! Folders that are in use.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{open, options};
use skein_store::{Durability, Error, LockHolder, Store, StoreOptions};

/// Names the folder that another process of this program must hold.
const HELD: &str = "SKEIN_TEST_HELD_FOLDER";

fn waiting(wait: Duration) -> StoreOptions {
    StoreOptions { lock_wait: wait, ..options(Durability::Sync) }
}

/// Not a test: the other process of a test runs it.
#[test]
fn hold_a_folder_for_another_test() {
    let Some(folder) = std::env::var_os(HELD) else { return };
    let store = open(Path::new(&folder), Durability::Sync);
    store.put(b"goose", b"grey").unwrap();
    println!("held");
    // Until it is killed, or the test has ended.
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Starts a process that has a store open.
fn hold(folder: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["folder_locks::hold_a_folder_for_another_test", "--exact", "--nocapture"])
        .env(HELD, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("held")));
    child
}

#[test]
fn a_second_store_on_the_folder_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    // The opening must not wait for a folder of its own process: the holder may be the same thread.
    let error = Store::open(folder.path(), waiting(Duration::from_secs(60 * 60))).unwrap_err();
    let is_own =
        matches!(&error, Error::Locked { path, holder: LockHolder::Own, .. } if path == folder.path());
    assert!(is_own, "{error}");
    drop(store);
    open(folder.path(), Durability::Buffered);
}

/// Incident: after `kill -9` and an immediate start the folder was "in use by another process".
/// That was the killed one, which the system had not cleaned up yet. Fix: opening waits for the
/// lock, and the error names the holder.
#[test]
fn the_folder_of_a_dying_process_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = hold(folder.path());
    let error = Store::open(folder.path(), waiting(Duration::from_millis(30))).unwrap_err();
    let Error::Locked { path, holder, waited } = &error else { panic!("{error}") };
    assert!(path == folder.path() && *waited >= Duration::from_millis(30), "{error}");
    let LockHolder::Process { pid, name: Some(_) } = holder else { panic!("{error}") };
    assert_eq!(*pid, child.id());
    assert!(error.to_string().contains(&format!("process {pid} (")), "{error}");
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| Store::open(folder.path(), waiting(Duration::from_secs(60 * 60))));
        child.kill().unwrap();
        let store = opened.join().unwrap().unwrap();
        assert_eq!(store.get(b"goose").unwrap().as_deref(), Some(&b"grey"[..]));
    });
    child.wait().unwrap();
}
