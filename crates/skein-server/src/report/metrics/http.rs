//! One HTTP request and its answer.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use super::pages::{HttpPage, PATHS};

/// The most bytes of a request's head.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// The time limits of an exchange.
#[derive(Clone, Copy)]
pub(super) struct HttpTimeouts {
    /// For receiving the head of the request.
    pub head: Duration,
    /// For computing and sending the answer, from then on.
    pub answer: Duration,
}

/// A connection and its progress.
#[derive(Debug)]
pub(super) struct HttpExchange {
    stream: TcpStream,
    began: Instant,
    /// When the exchange is cut off. There is one deadline for reading everything, and one for
    /// writing everything, in any number of pieces.
    pub deadline: Instant,
    state: HttpExchangeState,
}

#[derive(Debug)]
enum HttpExchangeState {
    /// The part of the request's head that was received.
    Asking(Vec<u8>),
    /// The answer, and the number of bytes sent.
    Answering(Vec<u8>, usize),
}

impl HttpExchange {
    pub(super) fn new(stream: TcpStream, patience: HttpTimeouts) -> Self {
        let began = Instant::now();
        Self { stream, began, deadline: began + patience.head, state: HttpExchangeState::Asking(Vec::new()) }
    }

    /// Returns whether a request was received, and since when the connection exists. The least of
    /// these values is replaced first.
    pub(super) fn silent_since(&self) -> (bool, Instant) {
        (matches!(self.state, HttpExchangeState::Answering(..)), self.began)
    }

    /// Continues as far as possible without waiting; answers with the requested page. Returns
    /// whether the exchange is finished.
    ///
    /// # Errors
    /// If the connection fails, or the head of the request is too long.
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

/// Returns the answer to a request: the page that it asks for.
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
