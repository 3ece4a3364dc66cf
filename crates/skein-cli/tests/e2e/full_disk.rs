//! The matrix of a full disk, on a real one: a small tmpfs, the program, each command that writes a
//! file, each end of the process. `failing_disk.rs` of skein-store has the large matrix, on a
//! simulated disk.
//!
//! Mounting needs a right that many tests lack; then the tests say so and pass.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use skeindb::client::{Client, Reply};

use crate::common::{PATIENCE, SkeinServe};

/// The keys are overwritten again and again, so a checkpoint needs much less room than the logs.
const KEYS: u32 = 40;
const VALUE_BYTES: usize = 5_000;
const DISK_MIB: u32 = 12;
const LIBRARY: &[u8] = b"#!lua name=geese\nredis.register_function('honk', function() return 1 end)";

/// Each cell sends these one after the other.
const COMMANDS: [&[&[&[u8]]]; 9] = [
    &[&[b"SAVE"]],
    &[&[b"SAVE"], &[b"SAVE"]],
    &[&[b"BGSAVE"]],
    &[&[b"BGSAVE"], &[b"BGSAVE"]],
    &[&[b"CONFIG", b"REWRITE"]],
    &[&[b"ACL", b"SAVE"]],
    &[&[b"FLUSHALL"]],
    &[&[b"FUNCTION", b"LOAD", b"REPLACE", LIBRARY]],
    &[&[b"SAVE"], &[b"CONFIG", b"REWRITE"], &[b"BGSAVE"], &[b"ACL", b"SAVE"], &[b"SAVE"]],
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessEnd {
    /// SHUTDOWN.
    Stop,
    Kill,
    RoomThenStop,
    RoomThenKill,
}

/// A small file system of its own, until it is dropped.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts the file system. Returns `None` and prints the reason if this is not permitted.
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={DISK_MIB}m");
        let tried =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        match tried {
            Ok(output) if output.status.success() => Some(Self { folder }),
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                eprintln!("skipped: a tmpfs cannot be mounted here: {}", why.trim());
                None
            }
            Err(error) => {
                eprintln!("skipped: `mount` does not run: {error}");
                None
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn grow(&self) {
        let grown = Command::new("mount").args(["-o", "remount,size=100m"]).arg(self.folder.path()).status();
        assert!(grown.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A file system that a process still uses goes away with that process.
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

/// Another program that takes all room as soon as there is some, until it is dropped.
struct OtherProgram {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    file: PathBuf,
}

impl OtherProgram {
    fn start(disk: &SmallDisk) -> Self {
        let (stop, file) = (Arc::new(AtomicBool::new(false)), disk.path("ballast"));
        let (stopped, mut ballast) = (stop.clone(), File::create(&file).unwrap());
        let run = move || {
            while !stopped.load(Ordering::Relaxed) {
                if ballast.write_all(&[7; 4096]).is_err() {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        };
        Self { stop, thread: Some(thread::spawn(run)), file }
    }
}

impl Drop for OtherProgram {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().into_iter().for_each(|thread| thread.join().expect("it fills the disk"));
        fs::remove_file(&self.file).expect("the ballast is there");
    }
}

/// A connection that is made again when the server has closed it. The server closes a connection if
/// a reply waits for a disk that turns out to be full.
struct Connection<'s> {
    server: &'s SkeinServe,
    client: Client,
}

impl<'s> Connection<'s> {
    fn new(server: &'s SkeinServe) -> Self {
        Self { server, client: server.client() }
    }

    fn call(&mut self, command: &[&[u8]]) -> Reply {
        self.client.call(command).unwrap_or_else(|error| {
            self.client = self.server.client();
            Reply::Error(error.to_string())
        })
    }
}

/// One cell of the matrix.
struct DiskCell {
    name: String,
    disk: SmallDisk,
    /// The values that each key may have.
    allowed: BTreeMap<Vec<u8>, Vec<Option<Vec<u8>>>>,
    writes: u32,
}

impl DiskCell {
    fn new(name: String) -> Option<Self> {
        let disk = SmallDisk::mount()?;
        fs::write(disk.path("skein.toml"), "max-clients = 100\n").unwrap();
        fs::write(disk.path("users"), "user default on nopass ~* &* +@all\n").unwrap();
        Some(Self { name, disk, allowed: BTreeMap::new(), writes: 0 })
    }

    fn start(&self) -> SkeinServe {
        let (config, users) = (self.disk.path("skein.toml"), self.disk.path("users"));
        let options = ["--config", text(&config), "--acl-file", text(&users), "--durability", "sync"];
        let options = [&options[..], &["--workers", "1", "--engine", "memory"]].concat();
        SkeinServe::try_start(&self.disk.path("data"), &options)
            .unwrap_or_else(|output| panic!("{}: {}", self.name, String::from_utf8_lossy(&output.stderr)))
    }

    /// Puts a value. Returns whether the write was done.
    fn put(&mut self, client: &mut Connection<'_>, key: &[u8]) -> bool {
        self.writes += 1;
        let value = format!("{}:{}", self.writes, "v".repeat(VALUE_BYTES)).into_bytes();
        let reply = client.call(&[b"SET", key, &value]);
        let values = self.allowed.entry(key.to_vec()).or_insert_with(|| vec![None]);
        let done = reply == Reply::ok();
        if done {
            values.clear();
        }
        values.push(Some(value));
        done
    }

    fn fill(&mut self, client: &mut Connection<'_>) {
        while self.put(client, &(self.writes % KEYS).to_be_bytes()) {
            assert!(self.writes < 50_000, "{}: the disk does not fill", self.name);
        }
    }

    fn send(&mut self, client: &mut Connection<'_>, command: &[&[u8]]) {
        let reply = client.call(command);
        if command[0] == b"FLUSHALL" {
            for values in self.allowed.values_mut() {
                if reply == Reply::ok() {
                    values.clear();
                }
                values.push(None);
            }
        }
        if command[0] == b"BGSAVE" {
            // The next one begins when this one has ended.
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until writes continue by themselves.
    fn wait_for_room(&mut self, client: &mut Connection<'_>) {
        let began = Instant::now();
        while !self.put(client, b"after") {
            assert!(began.elapsed() < PATIENCE, "{}: writes do not continue", self.name);
            thread::sleep(Duration::from_millis(20));
        }
        for command in [&[&b"CONFIG"[..], b"REWRITE"], &[b"ACL", b"SAVE"]] {
            assert_eq!(client.call(command), Reply::ok(), "{}", self.name);
        }
    }

    fn check(&self, client: &mut Connection<'_>) {
        for (key, values) in &self.allowed {
            let found = client.call(&[b"GET", key]);
            let found = found.bytes().map(<[u8]>::to_vec);
            let wrong = || found.as_ref().map(|value| String::from_utf8_lossy(&value[..8]).into_owned());
            assert!(values.contains(&found), "{}: key {key:?} has {:?}", self.name, wrong());
        }
    }

    fn run(mut self, commands: &[&[&[u8]]], end: ProcessEnd) {
        let server = self.start();
        let mut client = Connection::new(&server);
        let other = self.fill_beside_another(&mut client);
        for command in commands {
            self.send(&mut client, command);
        }
        let makes_room = matches!(end, ProcessEnd::RoomThenStop | ProcessEnd::RoomThenKill);
        let other = if makes_room {
            drop(other);
            self.wait_for_room(&mut client);
            None
        } else {
            Some(other)
        };
        match end {
            ProcessEnd::RoomThenStop => _ = server.stop(),
            // On a full disk a stop may end with an error, which names the writes that are not on
            // disk.
            ProcessEnd::Stop => {
                server.signal(Signal::TERM);
                server.wait();
            }
            ProcessEnd::Kill | ProcessEnd::RoomThenKill => server.kill(),
        }
        drop(other);
        self.disk.grow();
        let server = self.start();
        self.check(&mut Connection::new(&server));
        server.stop();
    }

    /// Fills the disk, with the help of another program that keeps it full.
    fn fill_beside_another(&mut self, client: &mut Connection<'_>) -> OtherProgram {
        self.fill(client);
        // A checkpoint makes room by now. Writes continue, and the other program takes the rest.
        let other = OtherProgram::start(&self.disk);
        self.fill(client);
        other
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of a test is text")
}

fn run_cells(end: ProcessEnd) {
    for commands in COMMANDS {
        let names: Vec<_> = commands.iter().map(|command| String::from_utf8_lossy(command[0])).collect();
        let Some(cell) = DiskCell::new(format!("{} × {end:?}", names.join(", "))) else { return };
        cell.run(commands, end);
    }
}

#[test]
fn a_full_disk_and_a_stop() {
    run_cells(ProcessEnd::Stop);
}

#[test]
fn a_full_disk_and_a_kill() {
    run_cells(ProcessEnd::Kill);
}

#[test]
fn a_full_disk_and_room_again_and_a_stop() {
    run_cells(ProcessEnd::RoomThenStop);
}

#[test]
fn a_full_disk_and_room_again_and_a_kill() {
    run_cells(ProcessEnd::RoomThenKill);
}

/// A disk that never has room for a segment of the full size: the store's own logs have filled it,
/// and it goes on with smaller ones.
#[test]
fn a_store_continues_on_a_disk_smaller_than_a_segment() {
    let Some(mut cell) = DiskCell::new("a small disk".to_owned()) else { return };
    let server = cell.start();
    let mut client = Connection::new(&server);
    for _ in 0..3 {
        cell.fill(&mut client);
        cell.wait_for_room(&mut client);
    }
    cell.check(&mut client);
    server.stop();
    let server = cell.start();
    cell.check(&mut Connection::new(&server));
    server.stop();
}
