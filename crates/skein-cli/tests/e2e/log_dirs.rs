//! Log folders outside the data folder, as users have them: relative, absolute, unmounted, lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::{SkeinServe, assert_refused, run, scan_values, skein, stdout_of};
use skeindb::client::{Client, Reply};

fn set(client: &mut Client, keys: std::ops::Range<u32>) {
    for n in keys {
        assert_eq!(client.call(&[b"SET", format!("k{n:04}").as_bytes(), b"kept"]).unwrap(), Reply::ok());
    }
}

fn count(server: &SkeinServe) -> usize {
    scan_values(&mut server.client(), b"").len()
}

/// Two folders beside the data folder, with absolute names, or relative to the server's working
/// folder.
struct LogDirSetup {
    root: tempfile::TempDir,
}

impl LogDirSetup {
    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Starts a server in `self.root`, with names as a user would write them there.
    fn start_within(&self, log_dirs: &[&str]) -> SkeinServe {
        let mut command =
            skein(["serve", "--listen", "127.0.0.1:0", "--data", "data", "--durability", "sync"]);
        command.args(log_dirs.iter().flat_map(|dir| ["--log-dir", dir])).current_dir(self.root.path());
        SkeinServe::launch(command).expect("the server starts")
    }
}

/// Started with log folders and killed, then started elsewhere without the option: all old and new
/// data must be there.
#[test]
fn a_restart_without_the_option_has_everything() {
    for full in [false, true] {
        let place = LogDirSetup { root: tempfile::tempdir().unwrap() };
        let names = ["disk 1", "disk 2"].map(|name| if full { place.at(name) } else { name.into() });
        let names = [names[0].to_str().unwrap(), names[1].to_str().unwrap()];
        for run in 0..4u32 {
            let server = match run {
                0 | 2 => place.start_within(&names),
                _ => SkeinServe::start(&place.at("data"), &["--durability", "sync", "--workers", "3"]),
            };
            assert_eq!(count(&server), run as usize * 100, "full names {full}, run {run}");
            let mut client = server.client();
            set(&mut client, run * 100..run * 100 + 100);
            if run == 1 {
                client.call(&[b"SAVE"]).unwrap();
            }
            server.kill();
            assert!(!place.at("data/log").exists());
            let said = stdout_of(run_check(&place.at("data")));
            let said = String::from_utf8(said).unwrap();
            assert!(
                said.contains("no damage") && said.contains(place.at("disk 2").to_str().unwrap()),
                "{said}"
            );
        }
        let dump =
            stdout_of(run(["dump", "--format", "lines", "--data", place.at("data").to_str().unwrap()]));
        assert_eq!(dump.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count(), 400);
    }
}

fn run_check(folder: &Path) -> std::process::Output {
    run([Path::new("check"), folder])
}

/// A disk that is not mounted, and one that is lost.
#[test]
fn a_missing_log_folder_is_named_with_the_ways_out() {
    let place = LogDirSetup { root: tempfile::tempdir().unwrap() };
    let (data, lost) = (place.at("data"), place.at("disk 2"));
    let server = place.start_within(&["disk 1", "disk 2"]);
    set(&mut server.client(), 0..100);
    server.client().call(&[b"SAVE"]).unwrap();
    for _ in 0..4 {
        // Connections are assigned to the workers in turn, so both logs get records.
        set(&mut server.client(), 100..200);
    }
    server.kill();
    fs::rename(&lost, place.at("away")).unwrap();
    fs::create_dir(&lost).unwrap();
    let words = [lost.to_str().unwrap(), "is missing", "mount its disk", "--give-up-log-dir"];
    for options in [&[][..], &["--log-dir", place.at("disk 1").to_str().unwrap(), "--log-dir", words[0]]] {
        let refused = SkeinServe::try_start(&data, options).expect_err("a log folder is missing");
        assert_refused(&refused, 3, &words);
        assert!(fs::read_dir(&lost).unwrap().next().is_none(), "something was made in the mount point");
    }
    let check = run_check(&data);
    assert_refused(&check, 3, &words);
    assert!(String::from_utf8_lossy(&check.stdout).contains("1 log folder missing"));
    // The disk is mounted again.
    fs::remove_dir(&lost).unwrap();
    fs::rename(place.at("away"), &lost).unwrap();
    let server = SkeinServe::start(&data, &[]);
    assert_eq!(count(&server), 200);
    server.kill();
    // The disk is lost for good.
    let give_up = ["--give-up-log-dir", lost.to_str().unwrap()];
    let refused = SkeinServe::try_start(&data, &give_up).expect_err("it is there");
    assert_refused(&refused, 2, &["--give-up-log-dir", "is present"]);
    fs::remove_dir_all(&lost).unwrap();
    let server = SkeinServe::start(&data, &[&give_up[..], &["--durability", "sync"]].concat());
    assert_eq!(count(&server), 100, "what the checkpoint has");
    set(&mut server.client(), 500..600);
    server.kill();
    let server = SkeinServe::start(&data, &[]);
    assert_eq!(count(&server), 200);
    server.stop();
}

/// Returns all files and folders below a folder, itself included, to which users other than the
/// owner have any access.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mode = |path: &Path| fs::symlink_metadata(path).map_or(0, |found| found.permissions().mode());
    let mut found = Vec::new();
    if mode(folder) & 0o077 != 0 {
        found.push(format!("{:o} {}", mode(folder), folder.display()));
    }
    // A file that is removed meanwhile is open to nobody.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(open_to_others(&path));
        } else if mode(&path) & 0o077 != 0 {
            found.push(format!("{:o} {}", mode(&path), path.display()));
        }
    }
    found
}

/// Incident: log folders beside the data folder were created with mode 755 and their files with
/// 644. A data folder was closed only after its first files existed, and an existing one kept such
/// files. Consequence: every user of the machine could read the data. Fix: new files are accessible
/// only to their owner from the first byte, and open ones are closed when found.
#[test]
fn files_are_accessible_only_to_their_owner() {
    let engines: [&[&str]; 2] = [&["--log-dir", "logs/deep"], &["--engine", "disk", "--trie", "linked"]];
    for options in engines {
        let place = LogDirSetup { root: tempfile::tempdir().unwrap() };
        for run in 0..2 {
            let mut command = skein(["serve", "--listen", "127.0.0.1:0", "--data", "data"]);
            command.args(options).current_dir(place.root.path());
            let server = SkeinServe::launch(command).expect("the server starts");
            let folders = [place.at("data"), place.at("logs")];
            let open = || folders.iter().flat_map(|folder| open_to_others(folder)).collect::<Vec<_>>();
            assert!(open().is_empty(), "{options:?}, run {run}: {:#?}", open());
            let mut client = server.client();
            set(&mut client, 0..100);
            assert_eq!(client.call(&[b"SAVE"]).unwrap(), Reply::ok());
            assert!(open().is_empty(), "{options:?}, run {run}: {:#?}", open());
            server.stop();
            assert!(open().is_empty(), "{options:?}, run {run}: {:#?}", open());
            // As an earlier version left them.
            for folder in &folders {
                open_files(folder);
            }
        }
    }
    let place = LogDirSetup { root: tempfile::tempdir().unwrap() };
    let server = SkeinServe::start(&place.at("data"), &[]);
    set(&mut server.client(), 0..10);
    server.stop();
    let copy = place.at("copy.tsv");
    stdout_of(run([Path::new("dump"), Path::new("--data"), &place.at("data"), Path::new("-o"), &copy]));
    assert!(open_to_others(&copy).is_empty());
}

/// Makes all files readable for everybody.
fn open_files(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            open_files(&entry.path());
        } else {
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o644)).unwrap();
        }
    }
}
