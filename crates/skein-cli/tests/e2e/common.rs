//! Shared by the end-to-end tests: the real binary, on a free port, with a folder of its own.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use skeindb::client::{Client, Reply};

pub use crate::outcome::{assert_refused, stdout_of};

/// The time after which a test gives up. It is far longer than needed, so that a busy machine does
/// not fail a test.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the servers' `--index` or `--engine`, if the environment variable `SKEIN_TEST_INDEX` or
/// `SKEIN_TEST_ENGINE` (`disk-linked`, ...) names one. So the tests can run over each. The cache of
/// the disk engine is so small that it evicts pages all the time, unless the options have a size.
fn engine(options: &[&str]) -> Vec<String> {
    let cache = if options.contains(&"--max-memory") { "" } else { "--cache-pages 64" };
    let line = match (std::env::var("SKEIN_TEST_INDEX"), disk_trie()) {
        (_, Some(trie)) => format!("--engine disk --trie {trie} {cache}"),
        (Ok(index), None) => format!("--index {index}"),
        (Err(_), None) => String::new(),
    };
    line.split_whitespace().map(str::to_owned).collect()
}

/// Returns the trie of the servers, if they use the disk engine.
pub fn disk_trie() -> Option<String> {
    let name = std::env::var("SKEIN_TEST_ENGINE").ok()?;
    Some(name.strip_prefix("disk-").unwrap_or_else(|| panic!("an engine called {name}")).to_owned())
}

/// Returns the `skein` command.
pub fn skein<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skein"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs a command that ends by itself.
pub fn run<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Output {
    skein(args).output().expect("skein runs")
}

/// Runs a command with `input` as its standard input.
pub fn run_with_input<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>, input: &[u8]) -> Output {
    let mut command = skein(args);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("skein runs");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    thread::scope(|scope| {
        // A command that fails early closes its input. Only its message matters.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().expect("skein ends")
    })
}

/// Asserts that a command did a part of its work (exit code 4), and that its messages have these
/// texts.
pub fn assert_partial(output: &Output, texts: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    for text in texts {
        assert!(said.contains(text), "{text:?} is not in: {said}");
    }
}

/// Returns a file that accepts no bytes, as on a full disk.
pub fn full_disk() -> File {
    File::options().write(true).open("/dev/full").expect("the system has /dev/full")
}

/// Asserts that `skein check` finds no damage in a folder after a kill. A torn tail is not damage.
pub fn assert_sound(folder: &Path) {
    let output = run([Path::new("check"), folder]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// Interrupts a command, as Ctrl-C does. Waits until the command catches signals, and returns when
/// it has received this one.
pub fn interrupt(process: u32) {
    let mask = |name: &str| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0)
    };
    let since = Instant::now();
    let interrupt = 1 << 1;
    while mask("SigCgt:") & interrupt == 0 {
        assert!(since.elapsed() < PATIENCE, "it does not listen for signals");
        std::thread::sleep(Duration::from_millis(1));
    }
    send_signal(process, Signal::INT);
    while mask("ShdPnd:") & interrupt != 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends a signal to a process by the system call: a minimal system has no program `kill`.
pub fn send_signal(process: u32, signal: Signal) {
    let process = Pid::from_raw(process.cast_signed()).expect("a process has a number");
    rustix::process::kill_process(process, signal).expect("the signal is sent");
}

/// A running server.
#[derive(Debug)]
pub struct SkeinServe {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// The output up to the address.
    pub greeting: String,
    /// The address where it listens.
    pub address: String,
}

impl SkeinServe {
    /// Starts a server on a free port with its data in `folder`.
    pub fn start(folder: &Path, options: &[&str]) -> Self {
        Self::try_start(folder, options).expect("the server starts")
    }

    /// Starts a server. If it fails, returns its output.
    pub fn try_start(folder: &Path, options: &[&str]) -> Result<Self, Output> {
        let mut command = skein(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(folder).args(engine(options)).args(options);
        Self::launch(command)
    }

    /// Starts a server, and redirects its standard error.
    pub fn start_with_errors_to(errors: impl Into<Stdio>, folder: &Path, options: &[&str]) -> Self {
        let mut command = skein(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(folder).args(engine(options)).args(options);
        Self::launch_with(command, errors.into()).expect("the server starts")
    }

    /// Starts a server with files of at most about a megabyte, until
    /// [`limit_files`](Self::limit_files) changes that.
    pub fn start_on_a_small_disk(folder: &Path, options: &[&str]) -> Self {
        let mut command = Command::new("sh");
        let script = "trap '' XFSZ; ulimit -S -f 2048; exec \"$@\"";
        command.args([
            "-c",
            script,
            "sh",
            env!("CARGO_BIN_EXE_skein"),
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--data",
        ]);
        command.arg(folder).args(engine(options)).args(options);
        Self::launch(command).expect("the server starts")
    }

    /// Starts the server that `command` describes.
    pub fn launch(command: Command) -> Result<Self, Output> {
        Self::launch_with(command, Stdio::piped())
    }

    fn launch_with(mut command: Command, errors: Stdio) -> Result<Self, Output> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().expect("skein runs");
        let mut stdout = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let mut greeting = String::new();
        let mut address = None;
        // The last line of the greeting says how to connect.
        while !greeting.contains("redis-cli") {
            let mut line = String::new();
            if stdout.read_line(&mut line).expect("the greeting is text") == 0 {
                let mut output = child.wait_with_output().expect("the server ends");
                output.stdout = greeting.into_bytes();
                return Err(output);
            }
            if let Some((_, rest)) = line.split_once("listening on ") {
                address = rest.split_whitespace().next().map(str::to_owned);
            }
            greeting.push_str(&line);
        }
        let address = address.expect("the greeting says where it listens");
        Ok(Self { child, stdout, greeting, address })
    }

    /// Starts a server and kills it before it reports that it serves, or soon after.
    pub fn start_and_kill(folder: &Path, options: &[&str], after: Duration) {
        let mut command = skein(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(folder).args(engine(options)).args(options).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("skein runs");
        thread::sleep(after);
        child.kill().expect("the server can be killed");
        child.wait().expect("the server ends");
    }

    /// Returns a new connection.
    pub fn client(&self) -> Client {
        let client = Client::connect(&self.address).expect("the server accepts");
        client.set_timeout(Some(PATIENCE)).expect("a timeout can be set");
        client
    }

    /// Returns the process id.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Limits the size of the server's files to this many bytes; `None` removes the limit.
    pub fn limit_files(&self, bytes: Option<u64>) {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process has a number");
        let maximum = getrlimit(Resource::Fsize).maximum;
        let current = bytes.or(maximum);
        prlimit(Some(pid), Resource::Fsize, Rlimit { current, maximum }).expect("a limit can be raised");
    }

    /// Limits the number of the server's open files, though it was started with more.
    pub fn limit_open_files(&self, files: usize) {
        use rustix::process::{Resource, Rlimit, prlimit};
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process has a number");
        let files = Some(files as u64);
        prlimit(Some(pid), Resource::Nofile, Rlimit { current: files, maximum: files })
            .expect("a limit can be lowered");
    }

    /// Kills the server.
    pub fn kill(mut self) {
        self.child.kill().expect("the server can be killed");
        self.child.wait().expect("the server ends");
    }

    /// Sends a signal to the server.
    pub fn signal(&self, signal: Signal) {
        send_signal(self.child.id(), signal);
    }

    /// Waits for the end. Returns the output after the greeting, and standard error.
    pub fn wait(mut self) -> (ExitStatus, String, String) {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the server can be waited for") {
                break status;
            }
            if started.elapsed() > PATIENCE {
                self.child.kill().expect("the server can be killed");
                panic!("the server did not stop within {PATIENCE:?}");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let (mut said, mut errors) = (String::new(), String::new());
        self.stdout.read_to_string(&mut said).expect("what it says is text");
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut errors).expect("what it says is text");
        }
        (status, said, errors)
    }

    /// Stops the server as a service manager does, and checks that it succeeded.
    pub fn stop(self) -> String {
        self.signal(Signal::TERM);
        let (status, said, errors) = self.wait();
        assert!(status.success(), "{status}: {said}{errors}");
        said
    }
}

impl Drop for SkeinServe {
    fn drop(&mut self) {
        // A failed test must not leave its server behind.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the file of real paths in the repository, and its paths in order.
pub fn real_paths() -> (PathBuf, Vec<Vec<u8>>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/debian-paths.txt");
    let text = std::fs::read(&file).expect("the sample is there");
    let lines =
        text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect();
    (file, lines)
}

/// A small generator of random numbers. Tests that use it print the seed.
#[derive(Debug)]
pub struct E2eRandom(u64);

impl E2eRandom {
    /// Takes the seed from the environment variable `SKEIN_SEED`, or from the clock.
    pub fn seeded() -> Self {
        let seed = std::env::var("SKEIN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map_or(1, |now| u64::from(now.subsec_nanos()) ^ now.as_secs())
        });
        eprintln!("SKEIN_SEED={seed} repeats the random choices of this run");
        Self::new(seed)
    }

    /// Starts with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Puts items in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = usize::try_from(self.below(last as u64 + 1)).expect("an index fits");
            items.swap(last, other);
        }
    }
}

/// Returns all keys that have a value (not columns), in order, read over the network page by page.
pub fn scan_values(client: &mut Client, prefix: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    const PAGE: usize = 1000;
    let end = [prefix, b"\xff"].concat();
    let max = [b"(", end.as_slice()].concat();
    let mut min = [b"[", prefix].concat();
    let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    loop {
        let page = client
            .call(&[b"SK.RANGE", &min, &max, b"LIMIT", PAGE.to_string().as_bytes()])
            .expect("the server answers");
        let mut items = page.into_array().expect("a list").into_iter();
        let mut count = 0;
        let mut last = None;
        while let (Some(Reply::Bulk(key)), Some(value)) = (items.next(), items.next()) {
            count += 1;
            last = Some(key.clone());
            if let Reply::Bulk(value) = value {
                rows.push((key, value));
            }
        }
        let (PAGE, Some(last)) = (count, last) else { return rows };
        min = [b"(", last.as_slice()].concat();
    }
}
