//! Metrics clients that behave badly.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use super::*;

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(60 * 60);
const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\n\r\n";

/// Answers until it is dropped.
struct TestMetricsServer {
    metrics: Option<MetricsThread>,
    stop: Arc<AtomicBool>,
}

impl TestMetricsServer {
    /// Starts a server that answers all pages with this text.
    fn new(patience: HttpTimeouts, text: impl Fn() -> String + Send + 'static) -> Self {
        let listening = MetricsListener::at(([127, 0, 0, 1], 0).into()).expect("a port");
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let page = move |_: &[u8]| Some(HttpPage::words("200 OK", text()));
        let metrics = listening.answer(patience, move || stopping.load(Ordering::SeqCst), page);
        Self { metrics: Some(metrics.expect("a thread")), stop }
    }

    fn connect(&self) -> TcpStream {
        let address = self.metrics.as_ref().expect("it runs").address;
        let client = TcpStream::connect(address).expect("a connection");
        client.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        client
    }

    /// Sends a request as Prometheus does.
    fn ask(&self) -> String {
        let (mut client, mut answer) = (self.connect(), String::new());
        client.write_all(REQUEST).expect("to send");
        client.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// Returns whether the thread ends.
    fn end(&mut self) -> bool {
        self.stop.store(true, Ordering::SeqCst);
        let (ended, end) = channel();
        let metrics = self.metrics.take().expect("it runs");
        std::thread::spawn(move || ended.send(metrics.end()));
        end.recv_timeout(Duration::from_secs(60)) == Ok(true)
    }
}

impl Drop for TestMetricsServer {
    fn drop(&mut self) {
        if self.metrics.is_some() {
            self.end();
        }
    }
}

fn is_cut_off(client: &mut TcpStream) -> bool {
    let mut piece = [0; 1024];
    loop {
        match client.read(&mut piece) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(cause) => return cause.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

/// Incident: connections were answered one after the other, and each could be silent for a second.
/// Consequence: with 60 silent connections a minute, from any machine, Prometheus received no
/// answer any more. Fix: all connections are served at once, and if there are too many, the one
/// that has been silent for longest is closed.
#[test]
fn silent_connections_do_not_delay_others() {
    let running = TestMetricsServer::new(HttpTimeouts { head: LONG, answer: LONG }, || "metrics".to_owned());
    let begun: [&[u8]; 3] = [b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\n"];
    let silent: Vec<TcpStream> = (0..3 * CONNECTIONS_MAX)
        .map(|i| {
            let mut client = running.connect();
            client.write_all(begun[i % 3]).expect("to send");
            assert!(running.ask().ends_with("\r\n\r\nmetrics"), "beside {i} others");
            client
        })
        .collect();
    // The oldest connection was closed.
    for mut client in silent.into_iter().take(CONNECTIONS_MAX) {
        assert!(is_cut_off(&mut client));
    }
}

/// Incident: as above, with clients that do not read their answers.
#[test]
fn unread_answers_do_not_delay_others() {
    let long = || "x".repeat(64 << 20);
    let running = TestMetricsServer::new(HttpTimeouts { head: LONG, answer: LONG }, long);
    let mut slow: Vec<TcpStream> = (0..3).map(|_| running.connect()).collect();
    for client in &mut slow {
        client.write_all(REQUEST).expect("to send");
    }
    assert!(running.ask().len() > 64 << 20);
}

/// Incident: a stop waited for clients that were being answered, for any time.
#[test]
fn stop_does_not_wait_for_connections() {
    for request in [&b""[..], b"GET /metr", REQUEST] {
        // More than the system buffers.
        let mut running =
            TestMetricsServer::new(HttpTimeouts { head: LONG, answer: LONG }, || "x".repeat(8 << 20));
        let mut client = running.connect();
        client.write_all(request).expect("to send");
        // The earlier clients were accepted before this one.
        assert!(running.ask().len() > 8 << 20);
        assert!(running.end(), "{request:?}");
    }
}

/// Incident: the head of a request had as much time as the answer. Consequence: a client that
/// connected and sent nothing kept its place for all of that time. Fix: the head has its own
/// deadline, before that of the answer.
#[test]
fn client_without_a_request_is_disconnected() {
    let running = TestMetricsServer::new(HttpTimeouts { head: SHORT, answer: LONG }, String::new);
    for begun in ["", "GET /metr"] {
        let mut client = running.connect();
        client.write_all(begun.as_bytes()).expect("to send");
        assert!(is_cut_off(&mut client));
    }
}

/// Incident: each piece of an answer had its own deadline. Consequence: a client that read slowly
/// could keep the thread for any time. Fix: one deadline for the whole answer.
#[test]
fn slow_reader_is_disconnected_at_the_deadline() {
    let running =
        TestMetricsServer::new(HttpTimeouts { head: LONG, answer: SHORT }, || "x".repeat(256 << 20));
    let mut client = running.connect();
    client.write_all(REQUEST).expect("to send");
    // Always some progress within the deadline: at this pace, the whole answer would take an hour.
    let (mut piece, mut taken) = ([0; 4 << 10], 0);
    while let Ok(count @ 1..) = client.read(&mut piece) {
        taken += count;
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(taken < 256 << 20);
}
