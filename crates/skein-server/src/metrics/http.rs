//! One request and its answer by HTTP.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use super::pages::{HttpPage, PATHS};

/// The longest head of a request.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// How long the parts of an exchange may take.
#[derive(Clone, Copy)]
pub(super) struct HttpTimeouts {
    /// The head of the request, to come.
    pub head: Duration,
    /// The answer, to be made and taken, from then on.
    pub answer: Duration,
}

/// A connection, and how far it has come.
#[derive(Debug)]
pub(super) struct HttpExchange {
    stream: TcpStream,
    began: Instant,
    /// When it is given up: one time for all that is read, and one for all that is written, in
    /// however many pieces.
    pub deadline: Instant,
    state: HttpExchangeState,
}

#[derive(Debug)]
enum HttpExchangeState {
    /// The head of the request, as far as it has come.
    Asking(Vec<u8>),
    /// The answer, and how much of it is sent.
    Answering(Vec<u8>, usize),
}

impl HttpExchange {
    pub(super) fn new(stream: TcpStream, patience: HttpTimeouts) -> Self {
        let began = Instant::now();
        Self { stream, began, deadline: began + patience.head, state: HttpExchangeState::Asking(Vec::new()) }
    }

    /// Whether it has asked for something, and since when it is there: the least is the first to
    /// go.
    pub(super) fn silent_since(&self) -> (bool, Instant) {
        (matches!(self.state, HttpExchangeState::Answering(..)), self.began)
    }

    /// Goes on as far as it can without waiting: answers with the page that it asks for. Returns
    /// whether it is done.
    ///
    /// # Errors
    /// What the system says; the request has no end.
    pub(super) fn step(
        &mut self,
        patience: HttpTimeouts,
        page: impl FnOnce(&[u8]) -> Option<HttpPage>,
    ) -> io::Result<bool> {
        match self.try_step(patience, page) {
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => Ok(false),
            done => done.map(|()| true),
        }
    }

    fn try_step(
        &mut self,
        patience: HttpTimeouts,
        page: impl FnOnce(&[u8]) -> Option<HttpPage>,
    ) -> io::Result<()> {
        if let HttpExchangeState::Asking(head) = &mut self.state {
            read_head(&mut self.stream, head)?;
            let answer = answer(head, page);
            self.state = HttpExchangeState::Answering(answer, 0);
            self.deadline = Instant::now() + patience.answer;
        }
        if let HttpExchangeState::Answering(answer, sent) = &mut self.state {
            while *sent < answer.len() {
                match self.stream.write(&answer[*sent..]) {
                    Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                    count => *sent += count?,
                }
            }
        }
        Ok(())
    }
}

/// The answer to a request: the page that it asks for.
fn answer(head: &[u8], page: impl FnOnce(&[u8]) -> Option<HttpPage>) -> Vec<u8> {
    let mut words = head.split(u8::is_ascii_whitespace);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let HttpPage { status, kind, body } = match method {
        b"GET" => page(path).unwrap_or_else(|| HttpPage::words("404 Not Found", PATHS)),
        _ => HttpPage::words("405 Method Not Allowed", "only GET is answered\n"),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head, body].concat().into_bytes()
}

/// Reads up to the empty line that ends a request's head.
fn read_head(stream: &mut impl Read, head: &mut Vec<u8>) -> io::Result<()> {
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX {
            return Err(io::Error::other("the head is too long"));
        }
        match stream.read(&mut part) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => head.extend_from_slice(&part[..count]),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(())
}
