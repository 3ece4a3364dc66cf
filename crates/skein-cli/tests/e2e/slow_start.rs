//! A start that takes long: the server answers clients meanwhile, and a stop ends it. The option
//! `--hold-loading` makes each start take as long as the test needs.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

use crate::access::CertificateFiles;
use crate::common::{PATIENCE, SkeinServe, assert_refused, disk_trie, run, send_signal, skein};
use crate::free_port::free_port;
use rustix::process::Signal;
use skeindb::client::{Client, Reply};

const KEYS: i64 = 2000;

/// The engines that a server can have, as options.
const ENGINES: [&[&str]; 2] = [&[], &["--engine", "disk"]];

/// Creates a folder and kills its server, so that the next server has records to replay.
fn left_by_a_crash(folder: &Path, engine: &[&str]) {
    let options = [engine, &["--durability", "sync"]].concat();
    let server = SkeinServe::start(folder, &options);
    let sets: Vec<[Vec<u8>; 3]> =
        (0..KEYS).map(|n| [b"SET".to_vec(), format!("k{n}").into_bytes(), b"v".to_vec()]).collect();
    for reply in server.client().pipeline(&sets).expect("replies") {
        assert_eq!(reply, Reply::ok());
    }
    server.kill();
}

/// A server that is held while it reads its data.
struct HeldServer {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
    metrics: String,
    tls: String,
    socket: PathBuf,
    files: CertificateFiles,
}

impl HeldServer {
    fn start(folder: &Path, options: &[&str]) -> Self {
        let (files, ports) = (CertificateFiles::new(), [free_port(), free_port(), free_port()]);
        let [address, metrics, tls] = ports.map(|port| format!("127.0.0.1:{port}"));
        let mut command = skein(["serve", "--listen", &address, "--metrics", &metrics, "--tls-listen", &tls]);
        command.args(["--tls-cert", &files.path("server"), "--tls-key", &files.path("server.key")]);
        command.args(["--unix-socket", &files.path("s"), "--hold-loading", &files.path("go on")]);
        command.arg("--data").arg(folder).args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("skein runs");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let tls = format!("rediss://localhost:{}", ports[2]);
        let mut held = Self { child, stdout, address, metrics, tls, socket: files.path("s").into(), files };
        held.wait_for("reading the data back");
        held
    }

    /// Reads its output up to a line with these words.
    fn wait_for(&mut self, words: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let count = self.stdout.read_line(&mut line).expect("text");
            assert!(count > 0, "it ended without saying {words:?}");
            if line.contains(words) {
                return line;
            }
        }
    }

    fn client(&self) -> Client {
        let client = Client::connect(&self.address).expect("it listens");
        client.set_timeout(Some(PATIENCE)).expect("a timeout");
        client
    }

    fn page(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.metrics).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        write!(stream, "GET {path} HTTP/1.1\r\n\r\n").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn go_on(&mut self) {
        fs::write(self.files.path("go on"), "").expect("a file");
        self.wait_for("redis-cli");
    }

    fn signal(&self, signal: Signal) {
        send_signal(self.child.id(), signal);
    }

    /// Waits for its end. Returns the exit code and the last output.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.stdout.read_to_string(&mut said).expect("text");
        let code = self.child.wait().expect("it ends").code();
        assert!(!self.socket.exists(), "the socket's file is left");
        (code, said)
    }
}

impl Drop for HeldServer {
    fn drop(&mut self) {
        // A failed test must not leave its server behind.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[track_caller]
fn assert_loading(reply: &Reply) {
    let words = "LOADING SkeinDB is loading the dataset in memory: ";
    assert!(matches!(reply, Reply::Error(text) if text.starts_with(words)), "{reply}");
}

/// Returns a field of INFO.
fn info(client: &mut Client, name: &str) -> String {
    let Reply::Bulk(text) = client.call(&[b"INFO"]).expect("a reply") else { panic!("no text") };
    let text = String::from_utf8(text).expect("text");
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    found.unwrap_or_else(|| panic!("no {name}: {text}")).to_owned()
}

/// Incident: a server bound its ports only after it had read its data. Consequence: for minutes
/// clients and supervisors saw a refused connection, as if there were no server. Fix: it listens
/// first, and reports that it is loading, with its progress, as Redis does.
#[test]
fn clients_are_told_that_the_server_is_loading() {
    if disk_trie().is_some() {
        return;
    }
    for engine in ENGINES {
        let folder = tempfile::tempdir().unwrap();
        left_by_a_crash(folder.path(), engine);
        let mut held = HeldServer::start(folder.path(), engine);

        let mut early = held.client();
        for command in [&[&b"PING"[..]][..], &[b"GET", b"k1"], &[b"SET", b"k1", b"w"], &[b"DBSIZE"]] {
            assert_loading(&early.call(command).unwrap());
        }
        assert_eq!(early.call(&[b"ECHO", b"x"]).unwrap(), Reply::Bulk(b"x".to_vec()));
        assert!(matches!(early.call(&[b"NOPE"]).unwrap(), Reply::Error(text) if text.contains("unknown")));
        assert_eq!(info(&mut early, "loading"), "1");
        let total: u64 = info(&mut early, "loading_total_bytes").parse().unwrap();
        assert!(total > KEYS.unsigned_abs(), "{total} bytes");
        let mut local = Client::connect_unix(&held.socket).unwrap();
        assert_loading(&local.call(&[b"GET", b"k1"]).unwrap());
        let by_tls = run(["dump", "--from", &held.tls, "--tls-ca", &held.files.path("ca")]);
        assert_refused(&by_tls, 1, &["LOADING"]);

        // An HTTP request is cut off before any reply, as by a running server.
        let mut page = TcpStream::connect(&held.address).unwrap();
        page.set_read_timeout(Some(PATIENCE)).unwrap();
        page.write_all(b"POST / HTTP/1.1\r\nHost: x\r\n\r\nECHO x\r\n").unwrap();
        let mut reply = Vec::new();
        // If bytes were not read, the connection ends with a reset.
        drop(page.read_to_end(&mut reply));
        assert!(reply.is_empty(), "{}", reply.escape_ascii());

        assert!(held.page("/metrics").contains("\nskein_loading 1"), "{}", held.page("/metrics"));
        assert!(held.page("/-/healthy").starts_with("HTTP/1.1 200"));
        let ready = held.page("/-/ready");
        assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("loading: "), "{ready}");

        // The settings of this connection must persist, and half a request must wait for its other
        // half.
        early.call(&[b"HELLO", b"3", b"SETNAME", b"early"]).unwrap();
        let mut halved = TcpStream::connect(&held.address).unwrap();
        halved.set_read_timeout(Some(PATIENCE)).unwrap();
        halved.write_all(b"ECHO before\r\nGET k").unwrap();
        let mut before = [0; 12];
        halved.read_exact(&mut before).unwrap();
        held.go_on();

        let name = Reply::Bulk(b"early".to_vec());
        assert_eq!(early.call(&[b"CLIENT", b"GETNAME"]).unwrap(), name, "{engine:?}");
        assert!(matches!(early.call(&[b"HGETALL", b"none"]).unwrap(), Reply::Map(_)), "it speaks RESP3");
        assert_eq!(early.call(&[b"DBSIZE"]).unwrap(), Reply::Integer(KEYS));
        assert_eq!(local.call(&[b"GET", b"k1"]).unwrap(), Reply::Bulk(b"v".to_vec()));
        halved.write_all(b"7\r\n").unwrap();
        let mut value = [0; 7];
        halved.read_exact(&mut value).unwrap();
        assert_eq!(&value, b"$1\r\nv\r\n");
        assert_eq!(info(&mut early, "loading"), "0");
        assert_eq!(info(&mut early, "total_connections_received"), "5");
        assert!(held.page("/-/ready").starts_with("HTTP/1.1 200"));
        assert!(held.page("/metrics").contains("\nskein_loading 0"));
        assert!(held.page("/metrics").contains("\nskein_build_info{version=\""));
        held.signal(Signal::TERM);
        let (code, said) = held.end();
        assert_eq!(code, Some(0), "{said}");
    }
}

/// Incident: SIGTERM while the data was read ended the process by the signal, without a message.
/// Consequence: a service manager recorded a failure for each early stop. Fix: the opening ends,
/// the server says so, and the exit code is 0. The same holds for SHUTDOWN.
#[test]
fn a_stop_while_data_is_read_back_is_clean() {
    if disk_trie().is_some() {
        return;
    }
    for engine in ENGINES {
        let folder = tempfile::tempdir().unwrap();
        left_by_a_crash(folder.path(), engine);
        // `None` stops it by the command SHUTDOWN.
        for stop in [Some(Signal::TERM), Some(Signal::INT), None] {
            let held = HeldServer::start(folder.path(), engine);
            if let Some(signal) = stop {
                held.signal(signal);
            } else {
                let _ = held.client().call(&[b"SHUTDOWN"]);
            }
            let (code, said) = held.end();
            assert_eq!(code, Some(0), "{engine:?} {stop:?}: {said}");
            assert!(said.contains("stopped while the data was being read back"), "{stop:?}: {said}");
        }
        let server = SkeinServe::start(folder.path(), engine);
        assert_eq!(server.client().call(&[b"DBSIZE"]).unwrap(), Reply::Integer(KEYS), "{engine:?}");
        server.stop();
    }
}

/// While the data is read, the password is required as well, and nothing else.
#[test]
fn a_password_is_asked_for_before_there_is_data() {
    if disk_trie().is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    left_by_a_crash(folder.path(), &[]);
    let password = folder.path().join("password");
    fs::write(&password, "secret\n").unwrap();
    let mut held = HeldServer::start(folder.path(), &["--password-file", password.to_str().expect("text")]);
    let (mut stranger, mut friend) = (held.client(), held.client());
    for command in [&[&b"INFO"[..]][..], &[b"SHUTDOWN"], &[b"GET", b"k1"], &[b"HELLO", b"3"]] {
        let refused = stranger.call(command).unwrap();
        assert!(matches!(&refused, Reply::Error(text) if text.starts_with("NOAUTH ")), "{refused}");
    }
    let wrong = stranger.call(&[b"AUTH", b"guess"]).unwrap();
    assert!(matches!(&wrong, Reply::Error(text) if text.starts_with("WRONGPASS ")), "{wrong}");
    assert_eq!(friend.call(&[b"AUTH", b"secret"]).unwrap(), Reply::ok());
    assert_loading(&friend.call(&[b"GET", b"k1"]).unwrap());
    held.go_on();
    assert_eq!(friend.call(&[b"GET", b"k1"]).unwrap(), Reply::Bulk(b"v".to_vec()));
    let refused = stranger.call(&[b"GET", b"k1"]).unwrap();
    assert!(matches!(&refused, Reply::Error(text) if text.starts_with("NOAUTH ")), "{refused}");
}

#[test]
fn a_service_manager_hears_how_far_it_is() {
    if disk_trie().is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (data, name, go) = (folder.path().join("d"), folder.path().join("n"), folder.path().join("go"));
    left_by_a_crash(&data, &[]);
    let manager = UnixDatagram::bind(&name).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = skein(["serve", "--listen", "127.0.0.1:0", "--data"]);
    command.arg(&data).arg("--hold-loading").arg(&go).env("NOTIFY_SOCKET", &name);
    let started = std::thread::spawn(move || SkeinServe::launch(command).expect("it starts"));
    let hear = || {
        let mut message = [0; 200];
        let count = manager.recv(&mut message).expect("a message");
        String::from_utf8_lossy(&message[..count]).into_owned()
    };
    let status = hear();
    assert!(status.starts_with("STATUS=reading the data back: "), "{status}");
    fs::write(&go, "").unwrap();
    while !hear().contains("READY=1") {}
    started.join().unwrap().stop();
}

/// Incident: a data folder was created and closed to others before the server noticed that the port
/// was in use. Consequence: a mistyped command left folders behind. Fix: ports are bound first.
#[test]
fn a_port_in_use_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (taken, data) = (listener.local_addr().unwrap().to_string(), folder.path().join("data"));
    let data = data.to_str().expect("text");
    for port in [vec!["--listen", &taken], vec!["--port", "0", "--metrics", &taken]] {
        let output = run(["serve", "--data", data].into_iter().chain(port));
        assert_refused(&output, 1, &[&taken, "in use"]);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
