//! `skein serve --engine disk`: its messages, and the folders that it accepts.

use std::collections::BTreeMap;
use std::path::Path;

use skeindb::client::Reply;

use crate::common::{SkeinServe, assert_refused, run, skein, stdout_of};

const DISK: [&str; 6] = ["--engine", "disk", "--trie", "linked", "--cache", "1m"];

/// Starts a server with only these options, whatever the environment says.
fn start(folder: &Path, options: &[&str]) -> SkeinServe {
    let mut command = skein(["serve", "--listen", "127.0.0.1:0", "--data"]);
    command.arg(folder).args(options);
    SkeinServe::launch(command).expect("the server starts")
}

/// Returns the names and contents of a folder's files, except the lock.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file"));
    let files =
        files.filter(|file| file.file_type().expect("a type").is_file() && file.file_name() != "lock");
    files
        .map(|file| {
            (file.file_name().to_string_lossy().into_owned(), std::fs::read(file.path()).expect("its bytes"))
        })
        .collect()
}

#[test]
fn the_greeting_names_the_engine_and_data_survives() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &DISK);
    for part in ["disk engine, a linked trie", "durability buffered", "0 keys (0 writes from the log)"] {
        assert!(server.greeting.contains(part), "{part:?} is not in: {}", server.greeting);
    }
    let mut client = server.client();
    assert_eq!(client.call(&[b"SET", b"goose", b"grey"]).unwrap(), Reply::ok());
    assert_eq!(client.call(&[b"SAVE"]).unwrap(), Reply::ok());
    assert_eq!(client.call(&[b"HSET", b"flock", b"leader", b"goose"]).unwrap(), Reply::Integer(1));
    let said = server.stop();
    assert!(said.contains("everything is on disk"), "{said}");
    let server = start(folder.path(), &DISK);
    assert!(server.greeting.contains("2 keys (0 writes from the log)"), "{}", server.greeting);
    let goose = server.client().call(&[b"HGET", b"flock", b"leader"]).unwrap();
    assert_eq!(goose, Reply::Bulk(b"goose".to_vec()));
}

#[test]
fn a_folder_of_the_other_engine_is_refused_and_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, disk) = (folder.path().join("memory"), folder.path().join("disk"));
    start(&memory, &[]).stop();
    start(&disk, &DISK).stop();
    let serve = |folder: &Path, options: &[&str]| {
        let folder = folder.to_str().unwrap();
        run(["serve", "--listen", "127.0.0.1:0", "--data", folder].iter().chain(options))
    };
    let before = (contents(&memory), contents(&disk));
    assert_refused(&serve(&memory, &DISK), 1, &["is a data folder of the engine in memory", "identity"]);
    assert_refused(&serve(&disk, &[]), 1, &["is a data folder of the disk engine", "--engine disk"]);
    let hash = serve(&disk, &["--engine", "disk", "--trie", "hash"]);
    assert_refused(&hash, 2, &["is a linked trie, but was opened as a hash trie of 16 children"]);
    assert_refused(&serve(&disk, &["--trie", "hash"]), 2, &["--trie is of --engine disk"]);
    assert!(before == (contents(&memory), contents(&disk)), "a refusal changed a file");
    start(&disk, &DISK).stop();
}

/// The dump uses SCAN, since there are no ranges.
#[test]
fn a_server_over_a_hash_trie_is_dumped_and_its_folder_too() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &["--engine", "disk", "--trie", "hash"]);
    let mut client = server.client();
    for number in 0..2_500 {
        let key = format!("goose {number:04}");
        assert_eq!(client.call(&[b"SET", key.as_bytes(), b"honks"]).unwrap(), Reply::ok());
    }
    assert_eq!(client.call(&[b"HSET", b"flock", b"leader", b"goose"]).unwrap(), Reply::Integer(1));
    let sorted = |output| {
        let dumped = stdout_of(output);
        let mut lines: Vec<Vec<u8>> =
            dumped.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort_unstable();
        lines
    };
    let all = sorted(run(["dump", "--from", &server.address]));
    assert_eq!(all.len(), 2_501);
    assert_eq!(sorted(run(["dump", "--from", &server.address, "--limit", "1234"])).len(), 1_234);
    let refused = run(["dump", "--from", &server.address, "--prefix", "goose"]);
    assert_refused(&refused, 1, &["has no order of keys"]);
    server.stop();
    let name = folder.path().to_str().unwrap();
    assert!(sorted(run(["dump", "--data", name])) == all);
    for bound in ["[goose", "(goose"] {
        assert_refused(&run(["dump", "--data", name, "--min", bound]), 1, &["has no order of keys"]);
    }
}
