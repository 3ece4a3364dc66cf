//! `skein check`, and a server with a damaged folder: it must neither start on the folder nor
//! change it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{SkeinServe, assert_refused, run, stdout_of};

/// Returns a folder in which a server wrote a checkpoint and then a log, and was killed.
fn folder_with_data() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &["--durability", "sync", "--workers", "1"]);
    let mut client = server.client();
    for part in ["in the checkpoint", "in the log"] {
        for n in 0..200 {
            let key = format!("{part} {n}");
            client.call(&[b"SET", key.as_bytes(), b"a value that is easy to find"]).unwrap();
        }
        if part == "in the checkpoint" {
            client.call(&[b"SAVE"]).unwrap();
        }
    }
    server.kill();
    folder
}

/// Returns all files with their bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(contents(&path));
        } else {
            let bytes = fs::read(&path).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

/// Returns the position of `needle` in a folder's files.
fn find(folder: &Path, needle: &[u8]) -> (PathBuf, usize) {
    contents(folder)
        .into_iter()
        .find_map(|(path, bytes)| {
            let at = bytes.windows(needle.len()).position(|window| window == needle)?;
            Some((path, at))
        })
        .expect("the key is on disk")
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_sound_folder_is_described_and_not_changed() {
    let folder = folder_with_data();
    let before = contents(folder.path());
    let said = stdout_of(run([Path::new("check"), folder.path()]));
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("no damage"), "{said}");
    assert!(contents(folder.path()) == before, "check changed the folder");
}

/// Asserts that both halves of the test data are complete.
fn assert_complete(folder: &Path) {
    let server = SkeinServe::start(folder, &[]);
    let mut client = server.client();
    for part in ["in the checkpoint", "in the log"] {
        for n in 0..200 {
            let key = format!("{part} {n}");
            let value = client.call(&[b"GET", key.as_bytes()]).unwrap();
            assert_eq!(value.bytes(), Some(b"a value that is easy to find".as_slice()), "{key}");
        }
    }
    server.stop();
}

/// Damage must be named. No server may start on it, and the damaged file must not change. Once it
/// is restored, nothing may be missing.
#[test]
fn a_flipped_bit_is_damage_and_nothing_is_lost() {
    for key in ["in the checkpoint 7", "in the log 7"] {
        let folder = folder_with_data();
        let (path, at) = find(folder.path(), key.as_bytes());
        flip(&path, at);
        let before = contents(folder.path());
        let name = path.file_name().unwrap().to_str().unwrap();

        let check = run([Path::new("check"), folder.path()]);
        assert_refused(&check, 3, &[name, "damaged", "byte"]);
        assert!(String::from_utf8_lossy(&check.stdout).contains("1 place is damaged"));
        assert!(contents(folder.path()) == before, "{key}: check changed the folder");

        let server = SkeinServe::try_start(folder.path(), &[]).expect_err("no server starts on damage");
        assert_refused(&server, 3, &[name, "damaged", "byte"]);
        assert!(fs::read(&path).unwrap() == before[&path], "{key}: the damaged file was changed");
        flip(&path, at);
        assert_complete(folder.path());
    }
}

#[test]
fn an_unknown_format_version_is_refused_and_kept() {
    // Their checksums do not cover the version.
    for name in ["identity", "log/log.roster"] {
        let folder = folder_with_data();
        let path = folder.path().join(name);
        let sound = fs::read(&path).unwrap();
        let mut foreign = sound.clone();
        // Every file begins with eight bytes of magic and a four-byte version.
        foreign[8..12].copy_from_slice(&99u32.to_le_bytes());
        fs::write(&path, &foreign).unwrap();
        let server =
            SkeinServe::try_start(folder.path(), &[]).expect_err("no server starts on what it does not know");
        assert_refused(&server, 3, &["format version 99", path.file_name().unwrap().to_str().unwrap()]);
        assert!(fs::read(&path).unwrap() == foreign, "{name}: a file of an unknown format was changed");
        fs::write(&path, &sound).unwrap();
        assert_complete(folder.path());
    }
}

/// A record that was being written during a power cut is not damage: it is cut off, with a message.
#[test]
fn a_torn_tail_is_cut_off() {
    let folder = folder_with_data();
    let (path, _) = find(folder.path(), b"in the log 7");
    let mut bytes = fs::read(&path).unwrap();
    // Behind the last record, which may itself end in a few zeros, write bytes that are not a
    // record.
    let end = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1 + 8;
    bytes.truncate(end);
    bytes.extend_from_slice(&[0xa5; 64]);
    // Until a clean stop the file keeps its reserved length, which its header has.
    let reserved = u64::from_le_bytes(bytes[52..60].try_into().unwrap());
    bytes.resize(reserved.try_into().unwrap(), 0);
    fs::write(&path, bytes).unwrap();
    let said = String::from_utf8(stdout_of(run([Path::new("check"), folder.path()]))).unwrap();
    assert!(said.contains("torn tail: ") && said.contains("no damage"), "{said}");
    assert_complete(folder.path());
}

/// Incident: the last segment of a killed server was cut short, and the lost end was called a torn
/// tail, with no promised write lost. Consequence: acknowledged writes were missing without an
/// error. Fix: a file that is shorter than its reserved length is damage.
#[test]
fn a_log_that_was_cut_short_is_damage() {
    for engine in ["memory", "disk"] {
        let folder = tempfile::tempdir().unwrap();
        let options = ["--engine", engine, "--workers", "1", "--durability", "sync"];
        let server = SkeinServe::start(folder.path(), &options);
        let mut client = server.client();
        for key in 0..300 {
            let key = format!("key {key}");
            client.call(&[b"SET", key.as_bytes(), b"some bytes of a value that is acknowledged"]).unwrap();
        }
        server.kill();
        let (path, _) = find(&folder.path().join("log"), b"key 299");
        fs::File::options().write(true).open(&path).unwrap().set_len(8192).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_refused(
            &run([Path::new("check"), folder.path()]),
            3,
            &[name, "damaged at byte", "has 8192 of the"],
        );
        let server = SkeinServe::try_start(folder.path(), &options).expect_err("no server starts on damage");
        assert_refused(&server, 3, &[name, "damaged at byte", "has 8192 of the"]);
    }
}

/// Incident: without its file `identity`, a folder with data was called a folder of foreign files,
/// with the exit code of a wrong option. Fix: it is damage, with the exit code of damage.
#[test]
fn a_lost_identity_is_damage() {
    let folder = folder_with_data();
    let path = folder.path().join("identity");
    let identity = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let before = contents(folder.path());
    assert_refused(&run([Path::new("check"), folder.path()]), 3, &["identity", "missing", "checkpoint-"]);
    let server = SkeinServe::try_start(folder.path(), &[]).expect_err("no server starts on damage");
    assert_refused(&server, 3, &["identity", "missing", "checkpoint-"]);
    assert!(contents(folder.path()) == before, "a file was changed");
    fs::write(&path, identity).unwrap();
    assert_complete(folder.path());
}

#[test]
fn check_leaves_a_folder_alone_that_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    assert_refused(&run([Path::new("check"), folder.path()]), 1, &["in use"]);
    server.stop();
}
