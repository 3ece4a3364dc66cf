//! A server on a free port with a store in a temporary folder, and a client that sends raw bytes.

#![allow(dead_code, reason = "each test program uses its part")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use skein_data::{DiskEngine, Engine};
use skein_disk::{DiskOptions, DiskStore, TrieShape, Values};
use skein_server::{Server, ServerHandle, ServerOptions, StopReport};
use skein_store::{Durability, IndexKind, Store, StoreLimits, StoreOptions};

pub mod free_port;

pub struct TestServer {
    pub server: Option<Server>,
    pub handle: ServerHandle,
    pub store: Engine,
    pub address: std::net::SocketAddr,
    _folder: tempfile::TempDir,
}

/// Returns the index that the environment variable `SKEIN_TEST_INDEX` names, or the default. All
/// tests can run with each index.
pub fn index() -> IndexKind {
    std::env::var("SKEIN_TEST_INDEX").map_or(IndexKind::default(), |name| name.parse().expect("an index"))
}

/// Returns whether a test must be skipped because the chosen index accepts only short keys. Prints
/// the reason.
pub fn skipped(reason: &str) -> bool {
    let skips = index() == IndexKind::Mlp;
    if skips {
        eprintln!("skipped over {}: {reason}", index());
    }
    skips
}

/// Returns the trie that the environment variable `SKEIN_TEST_ENGINE` names (`disk-linked`,
/// `disk-classical`, `disk-hash`). If it is set, servers without an explicit index use the disk
/// engine.
pub fn trie() -> Option<TrieShape> {
    let name = std::env::var("SKEIN_TEST_ENGINE").ok()?;
    Some(match name.as_str() {
        "disk-linked" => TrieShape::Linked,
        "disk-classical" => TrieShape::Classical { n: 16 },
        "disk-hash" => TrieShape::Hash { n: 16 },
        other => panic!("an engine called {other}"),
    })
}

pub fn options() -> ServerOptions {
    ServerOptions { listen: ([127, 0, 0, 1], 0).into(), workers: 2, ..ServerOptions::default() }
}

pub fn start() -> TestServer {
    start_with(options(), Durability::Buffered)
}

pub fn start_with(options: ServerOptions, durability: Durability) -> TestServer {
    match trie() {
        None => {
            start_on(options, StoreOptions { durability, logs: 2, index: index(), ..StoreOptions::default() })
        }
        Some(shape) => {
            let values = Values::Rows;
            start_on_disk(options, DiskOptions { durability, shape, values, ..DiskOptions::default() })
        }
    }
}

pub fn start_on(options: ServerOptions, store_options: StoreOptions) -> TestServer {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path(), store_options).expect("a store");
    run(options, store.into(), folder)
}

pub fn start_on_disk(options: ServerOptions, disk_options: DiskOptions) -> TestServer {
    let folder = tempfile::tempdir().expect("a folder");
    let store = DiskStore::open(folder.path(), disk_options).expect("a store");
    run(options, DiskEngine::new(store, StoreLimits::default()).expect("a store of rows").into(), folder)
}

pub fn run(options: ServerOptions, store: Engine, folder: tempfile::TempDir) -> TestServer {
    let server = Server::start(store.clone(), options).expect("a server");
    TestServer {
        handle: server.handle(),
        address: server.local_addr(),
        server: Some(server),
        store,
        _folder: folder,
    }
}

impl TestServer {
    /// Returns the store of a server with the memory engine. Panics for the disk engine.
    pub fn memory(&self) -> &Store {
        match &self.store {
            Engine::Memory(store) => store,
            Engine::Disk(_) => panic!("the server is over the disk engine"),
        }
    }

    pub fn connect(&self) -> TestClient {
        TestClient::new(TcpStream::connect(self.address).expect("a connection"))
    }

    pub fn stop(mut self) -> StopReport {
        self.handle.shutdown();
        let report = self.server.take().expect("a server").wait();
        assert!(report.failed_threads.is_empty(), "{:?}", report.failed_threads);
        report
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.handle.shutdown();
            let report = server.wait();
            if !std::thread::panicking() {
                assert!(report.failed_threads.is_empty(), "{:?}", report.failed_threads);
            }
        }
        let _ = self.store.close();
    }
}

/// Encodes a request like a client.
pub fn encode(args: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args {
        bytes.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        bytes.extend_from_slice(arg);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// Returns the length of the first complete reply in `bytes`, if there is one.
pub fn reply_len(bytes: &[u8]) -> Option<usize> {
    let line = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let head = line + 2;
    let number = || std::str::from_utf8(&bytes[1..line]).expect("a number").parse::<i64>().expect("a number");
    let elements = match bytes[0] {
        b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => return Some(head),
        b'$' | b'=' => {
            let len = number();
            let whole = if len < 0 { head } else { head + len.unsigned_abs() as usize + 2 };
            return (bytes.len() >= whole).then_some(whole);
        }
        b'*' | b'~' | b'>' => number().max(0),
        b'%' => number() * 2,
        other => {
            panic!("a reply beginning with {:?}: {:?}", char::from(other), String::from_utf8_lossy(bytes))
        }
    };
    let mut at = head;
    for _ in 0..elements {
        at += reply_len(&bytes[at..])?;
    }
    Some(at)
}

/// How long a test waits for a reply. Without optimization, and beside other tests, some commands
/// take many seconds.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct TestClient {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

impl TestClient {
    pub fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Self { stream, buffer: Vec::new() }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("to send");
    }

    /// Returns the next reply, or `None` if the server closed the connection.
    pub fn try_reply(&mut self) -> Option<Vec<u8>> {
        loop {
            if !self.buffer.is_empty()
                && let Some(len) = reply_len(&self.buffer)
            {
                return Some(self.buffer.drain(..len).collect());
            }
            let mut piece = vec![0; 64 << 10];
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => self.buffer.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}; so far: {:?}", String::from_utf8_lossy(&self.buffer)),
            }
        }
    }

    pub fn reply(&mut self) -> Vec<u8> {
        self.try_reply().expect("a reply")
    }

    pub fn call(&mut self, args: &[&[u8]]) -> Vec<u8> {
        self.send(&encode(args));
        self.reply()
    }

    /// Sends words that are separated by spaces. Returns the reply with `|` for `\r\n`.
    pub fn ask(&mut self, words: &str) -> String {
        self.send(&encode_words(words));
        show(&self.reply())
    }

    /// Sends such requests all at once. Returns their replies in the same form.
    pub fn ask_all(&mut self, requests: &[String]) -> Vec<String> {
        self.send(&requests.iter().flat_map(|words| encode_words(words)).collect::<Vec<u8>>());
        requests.iter().map(|_| show(&self.reply())).collect()
    }
}

/// Encodes words that are separated by spaces.
pub fn encode_words(words: &str) -> Vec<u8> {
    encode(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>())
}

/// Returns a reply with bars for line ends.
pub fn show(reply: &[u8]) -> String {
    String::from_utf8_lossy(reply).replace("\r\n", "|")
}

/// Waits until a condition holds. Panics after a minute.
#[track_caller]
pub fn wait_for(mut what: impl FnMut() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "the condition still does not hold after a minute"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Checks that `more` takes less than `most` times as long as `less`. Another process may disturb
/// one of them, so the ratio of any of five attempts counts.
#[track_caller]
pub fn assert_ratio(about: &str, most: u32, less: impl FnMut() -> Duration, more: impl FnMut() -> Duration) {
    let (mut less, mut more, mut seen) = (less, more, Vec::new());
    for _ in 0..5 {
        let (few, many) = (less(), more());
        if many < few * most {
            return;
        }
        seen.push((few, many));
    }
    panic!("{about}: {seen:?}, and the second should take less than {most} times as long");
}
