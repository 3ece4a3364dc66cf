//! A pipelining client on one thread that checks every reply.
//!
//! All connections have a pipeline of requests under way; the client reads the replies of one connection,
//! sends its next pipeline, and goes on to the next connection. So the server always finds many connections
//! ready, as it would under load.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::keyset::Random;

/// A reply that takes longer is an error.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A random key's value.
    Get,
    /// A random key gets its value again.
    Set,
    /// Nothing: what the protocol and the sockets alone cost.
    Ping,
}

impl Request {
    /// Its name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Set => "SET",
            Self::Ping => "PING",
        }
    }
}

struct Connection {
    socket: TcpStream,
    /// What the replies under way must be, byte for byte.
    expected: Vec<u8>,
    /// Requests being put together.
    out: Vec<u8>,
}

/// The client, with its connections.
pub struct Client {
    connections: Vec<Connection>,
    keys: usize,
    value_bytes: usize,
    buffer: Vec<u8>,
}

fn failed(what: &str, error: &std::io::Error) -> String {
    format!("the connection failed while {what}: {error}")
}

fn push_bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    // Writing to a vector does not fail.
    let _ = write!(out, "${}\r\n", bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// The value of the `n`-th key: its number, filled up to the length.
fn value(n: usize, len: usize) -> Vec<u8> {
    let mut value = format!("v{n:015}").into_bytes();
    value.resize(len, b'.');
    value
}

impl Client {
    /// Connects.
    pub fn connect(
        address: SocketAddr,
        connections: usize,
        keys: usize,
        value_bytes: usize,
    ) -> Result<Self, String> {
        let connect = || {
            let socket = TcpStream::connect(address)?;
            socket.set_nodelay(true)?;
            socket.set_read_timeout(Some(PATIENCE))?;
            Ok(Connection { socket, expected: Vec::new(), out: Vec::new() })
        };
        let connections: Result<Vec<_>, std::io::Error> =
            (0..connections.max(1)).map(|_| connect()).collect();
        let connections = connections.map_err(|error| failed("connecting", &error))?;
        Ok(Self { connections, keys, value_bytes, buffer: vec![0; 1 << 20] })
    }

    /// Sets all keys.
    pub fn load(&mut self) -> Result<(), String> {
        let mut next = 0;
        let keys = self.keys;
        self.pump(Request::Set, 64, keys, move || {
            next += 1;
            next - 1
        })?;
        Ok(())
    }

    /// Sends `requests` requests for random keys; returns the seconds taken.
    pub fn run(
        &mut self,
        request: Request,
        pipeline: usize,
        requests: usize,
        seed: u64,
    ) -> Result<f64, String> {
        let mut random = Random::new(seed);
        let keys = self.keys;
        self.pump(request, pipeline, requests, move || random.below(keys))
    }

    fn pump(
        &mut self,
        request: Request,
        pipeline: usize,
        requests: usize,
        mut key: impl FnMut() -> usize,
    ) -> Result<f64, String> {
        let (mut sent, mut received, mut turn) = (0, 0, 0);
        let value_bytes = self.value_bytes;
        let start = Instant::now();
        while received < requests {
            let connection = &mut self.connections[turn];
            if !connection.expected.is_empty() {
                connection.receive(&mut self.buffer)?;
            }
            let batch = pipeline.min(requests - sent);
            for _ in 0..batch {
                connection.ask(request, key(), value_bytes);
            }
            if batch > 0 {
                connection.socket.write_all(&connection.out).map_err(|error| failed("sending", &error))?;
                connection.out.clear();
            }
            sent += batch;
            if sent == requests {
                for connection in &mut self.connections {
                    if !connection.expected.is_empty() {
                        connection.receive(&mut self.buffer)?;
                    }
                }
                received = sent;
            }
            turn = (turn + 1) % self.connections.len();
        }
        Ok(start.elapsed().as_secs_f64())
    }
}

impl Connection {
    /// Puts a request together, and what it must be answered.
    fn ask(&mut self, request: Request, n: usize, value_bytes: usize) {
        let key = format!("key:{n:012}");
        match request {
            Request::Get => {
                self.out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
                push_bulk(&mut self.out, key.as_bytes());
                push_bulk(&mut self.expected, &value(n, value_bytes));
            }
            Request::Set => {
                self.out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
                push_bulk(&mut self.out, key.as_bytes());
                push_bulk(&mut self.out, &value(n, value_bytes));
                self.expected.extend_from_slice(b"+OK\r\n");
            }
            Request::Ping => {
                self.out.extend_from_slice(b"*1\r\n$4\r\nPING\r\n");
                self.expected.extend_from_slice(b"+PONG\r\n");
            }
        }
    }

    /// Reads all replies under way, and checks them.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        let mut done = 0;
        while done < self.expected.len() {
            let got = self.socket.read(buffer).map_err(|error| failed("receiving", &error))?;
            if got == 0 {
                return Err("the server closed a connection in the middle of a reply".to_owned());
            }
            if self.expected.get(done..done + got) != Some(&buffer[..got]) {
                return Err(format!(
                    "WRONG reply: {:?}, expected {:?}",
                    String::from_utf8_lossy(&buffer[..got.min(200)]),
                    String::from_utf8_lossy(
                        &self.expected[done..][..got.min(200).min(self.expected.len() - done)]
                    )
                ));
            }
            done += got;
        }
        self.expected.clear();
        Ok(())
    }
}
