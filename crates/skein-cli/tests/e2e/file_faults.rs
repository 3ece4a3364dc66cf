//! Every file of a folder of both engines × every fault × every command that opens the folder. The
//! command succeeds with all data, or it names the file and ends with exit code 3. If a server
//! refuses a folder, so does `check`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::{SkeinServe, run};

const KEYS: usize = 40;
/// Enough for a command on a loaded machine. A FIFO would block it for ever.
const DEADLINE: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy)]
enum Fault {
    Missing,
    Empty,
    /// The second half is cut off.
    Shortened,
    /// A bit of this byte is flipped: in the magic, the version, the checksum, the first field.
    Flipped(usize),
    FlippedInTheMiddle,
    Folder,
    Fifo,
}

const FAULTS: [Fault; 10] = [
    Fault::Missing,
    Fault::Empty,
    Fault::Shortened,
    Fault::Flipped(0),
    Fault::Flipped(8),
    Fault::Flipped(12),
    Fault::Flipped(16),
    Fault::FlippedInTheMiddle,
    Fault::Folder,
    Fault::Fifo,
];

const COMMANDS: [&str; 4] = ["check", "stats", "dump", "serve"];

impl Fault {
    fn put(self, file: &Path) {
        let mut bytes = fs::read(file).unwrap();
        let middle = bytes.len() / 2;
        fs::remove_file(file).unwrap();
        match self {
            Self::Missing => return,
            Self::Folder => return fs::create_dir(file).unwrap(),
            Self::Fifo => {
                return assert!(Command::new("mkfifo").arg(file).status().expect("mkfifo runs").success());
            }
            Self::Empty => bytes.clear(),
            Self::Shortened => bytes.truncate(middle),
            Self::Flipped(at) => bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1),
            Self::FlippedInTheMiddle => bytes.get_mut(middle).into_iter().for_each(|byte| *byte ^= 1),
        }
        fs::write(file, bytes).unwrap();
    }
}

/// Returns the folder of a killed server, with a checkpoint and a log.
fn folder_with_data(engine: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--engine", engine, "--durability", "sync", "--workers", "1", "--log-segment-size", "64k"];
    let server = SkeinServe::start(folder.path(), &options);
    let mut client = server.client();
    for key in 0..KEYS {
        client.call(&[b"SET", format!("key {key}").as_bytes(), b"value"]).unwrap();
        if key == KEYS / 2 {
            client.call(&[b"SAVE"]).unwrap();
        }
    }
    server.kill();
    folder
}

/// Returns all files below a folder, relative to it.
fn files(root: &Path, below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(root, &path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn copy_of(folder: &Path, files: &[PathBuf]) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in files {
        let to = copy.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(folder.join(file), to).unwrap();
    }
    copy
}

/// Runs a command on a folder. Returns its output, and the number of keys that it showed.
fn run_command(command: &str, engine: &str, folder: &Path) -> (Output, Option<usize>) {
    let name = folder.to_str().unwrap();
    match command {
        "serve" => match SkeinServe::try_start(folder, &["--engine", engine]) {
            Ok(server) => {
                let mut client = server.client();
                let values = (0..KEYS).map(|key| client.call(&[b"GET", format!("key {key}").as_bytes()]));
                let found = values.filter(|value| value.as_ref().unwrap().bytes() == Some(b"value")).count();
                server.kill();
                (run(["--version"]), Some(found))
            }
            Err(output) => (output, None),
        },
        "check" => (run(["check", name]), None),
        "stats" => (run(["stats", "--data", name]), None),
        _ => {
            let output = run(["dump", "--data", name]);
            let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\tvalue"));
            let found = lines.count();
            let sound = output.status.success();
            (output, sound.then_some(found))
        }
    }
}

/// Runs a command on a folder, and fails the test if the command hangs.
fn run_in_time(
    command: &'static str,
    engine: &'static str,
    folder: &Path,
) -> Option<(Output, Option<usize>)> {
    let (ended, end) = mpsc::channel();
    let folder = folder.to_owned();
    thread::spawn(move || ended.send(run_command(command, engine, &folder)));
    end.recv_timeout(DEADLINE).ok()
}

/// Returns the mistake in the answer of a command to a fault of `file`.
fn complaint(answer: Option<(Output, Option<usize>)>, file: &Path) -> Option<String> {
    let Some((output, found)) = answer else { return Some("it hangs, or panicked in the test".into()) };
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let other = found.filter(|found| *found != KEYS)?;
        return Some(format!("{other} of {KEYS} keys have their value: {errors}"));
    }
    let name = file.file_name().unwrap().to_str().unwrap();
    let is_named = errors.contains(name) || file.parent().is_some_and(|folder| is_named(folder, &errors));
    let is_clear = output.status.code() == Some(3) && is_named && !errors.contains("panicked");
    (!is_clear).then(|| format!("exit code {:?}: {errors}", output.status.code()))
}

/// Returns whether a message names the folder of a missing file.
fn is_named(folder: &Path, errors: &str) -> bool {
    folder.file_name().is_some_and(|name| errors.contains(name.to_str().unwrap()))
}

/// Incident: a FIFO in place of `identity` blocked the opening for ever, a folder there was "Is a
/// directory" with exit code 1, and a flipped version was exit code 1, too. Consequence: a
/// supervisor could not tell damage from a busy port. Fix: whatever is wrong with a file of the
/// folder is damage.
fn every_fault_is_named(engine: &'static str) {
    let folder = folder_with_data(engine);
    let all = files(folder.path(), Path::new(""));
    let mut complaints = Vec::new();
    for fault in FAULTS {
        let mut refusals = 0;
        for file in &all {
            let place = format!("{fault:?} {}", file.display());
            let mut refused = Vec::new();
            for command in COMMANDS {
                let copy = copy_of(folder.path(), &all);
                fault.put(&copy.path().join(file));
                let answer = run_in_time(command, engine, copy.path());
                if answer.as_ref().is_some_and(|(output, _)| !output.status.success()) {
                    refused.push(command);
                }
                complaints.extend(complaint(answer, file).map(|why| format!("{command}, {place}: {why}")));
            }
            // The log's lock has no contents, and `check` takes only that of the folder.
            let is_read = !file.ends_with("log.lock");
            if is_read && refused.contains(&"serve") && !refused.contains(&"check") {
                complaints.push(format!("{place}: a server refuses it, and check finds nothing"));
            }
            refusals += refused.len();
        }
        assert!(refusals >= COMMANDS.len(), "{fault:?} is refused {refusals} times");
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_fault_of_a_file_in_memory_is_named() {
    every_fault_is_named("memory");
}

#[test]
fn every_fault_of_a_file_on_disk_is_named() {
    every_fault_is_named("disk");
}
