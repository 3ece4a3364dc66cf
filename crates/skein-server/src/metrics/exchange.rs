//! One request and its answer by HTTP.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::pages::{PATHS, Page};

/// The longest head of a request.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// How long the parts of an exchange may take.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// The head of the request, to come.
    pub head: Duration,
    /// The answer, to be made and taken, from then on.
    pub answer: Duration,
}

/// A connection with one deadline for all that is read or written, in however many pieces.
struct Patient {
    stream: TcpStream,
    deadline: Instant,
}

impl Patient {
    /// Sets the deadline anew.
    fn within(&mut self, time: Duration) {
        self.deadline = Instant::now() + time;
    }

    /// The time that is left.
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Answers the one request of a connection, with the page that it asks for.
///
/// # Errors
/// What the system says; the request has no end, or a part takes longer than `patience` has for it.
pub(super) fn answer(
    stream: TcpStream,
    patience: Patience,
    page: impl FnOnce(&[u8]) -> Option<Page>,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut stream = Patient { stream, deadline: Instant::now() + patience.head };
    let head = read_head(&mut stream)?;
    stream.within(patience.answer);
    let mut words = head.split(u8::is_ascii_whitespace);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let Page { status, kind, body } = match method {
        b"GET" => page(path).unwrap_or_else(|| Page::words("404 Not Found", PATHS)),
        _ => Page::words("405 Method Not Allowed", "only GET is answered\n"),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Reads up to the empty line that ends a request's head.
fn read_head(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let (mut head, mut part) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX {
            return Err(io::Error::other("the head is too long"));
        }
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => head.extend_from_slice(&part[..count]),
        }
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const SHORT: Duration = Duration::from_millis(300);
    const LONG: Duration = Duration::from_hours(1);

    /// A client's end of a connection, and ours.
    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        (client, listener.accept().expect("a connection").0)
    }

    fn assert_cut_off(done: io::Result<()>) {
        let failed = done.expect_err("it is cut off").kind();
        assert!(matches!(failed, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{failed}");
    }

    /// Incident: the head of a request had as much time as the answer. Consequence: who connected and asked for nothing kept others waiting for all of it. Fix: the head
    /// has a deadline of its own, before that of the answer.
    #[test]
    fn who_asks_for_nothing_is_cut_off_before_the_answer_would_be() {
        for begun in ["", "GET /metr"] {
            let (mut client, stream) = connection();
            client.write_all(begun.as_bytes()).expect("to send");
            assert_cut_off(answer(stream, Patience { head: SHORT, answer: LONG }, |_| None));
        }
    }

    /// Each piece of an answer had a deadline of its own, so a client that took a little at a time held the thread for as long as it liked.
    #[test]
    fn who_takes_a_little_at_a_time_is_cut_off() {
        let (mut client, stream) = connection();
        client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("to send");
        let reader = std::thread::spawn(move || {
            // Some progress within the patience, always: at this pace all of it would take an hour.
            let mut piece = [0; 4 << 10];
            while client.read(&mut piece).is_ok_and(|count| count > 0) {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let long = |_: &[u8]| Some(Page::words("200 OK", "x".repeat(1 << 30)));
        assert_cut_off(answer(stream, Patience { head: LONG, answer: SHORT }, long));
        drop(reader);
    }
}
