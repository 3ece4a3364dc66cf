//! Subscribers of a channel, which check every message that they receive.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::request_family::{CHANNEL, MESSAGE};
use crate::rival::server::{resp_bulk, resp_command, resp_number};
use crate::{Error, Result};

/// The time limit of a message; a slower one is an error.
const PATIENCE: Duration = Duration::from_secs(30);

/// The greatest number of bytes per read.
const READ_BYTES: usize = 256 << 10;

/// Connections that have subscribed to the channel.
pub struct Subscribers {
    sockets: Vec<SubscriberSocket>,
    /// A message as each of them receives it.
    message: Vec<u8>,
    buffer: Vec<u8>,
}

struct SubscriberSocket {
    socket: TcpStream,
    /// The number of bytes received so far.
    received: usize,
}

impl Subscribers {
    /// Subscribes this many connections.
    ///
    /// # Errors
    /// If the server cannot be reached or answers wrongly.
    pub fn connect(address: SocketAddr, count: usize) -> Result<Self> {
        let connect = || {
            let mut socket = TcpStream::connect(address).map_err(failed)?;
            socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
            change(&mut socket, "subscribe", 1)?;
            socket.set_nonblocking(true).map_err(failed)?;
            Ok(SubscriberSocket { socket, received: 0 })
        };
        let sockets = (0..count).map(|_| connect()).collect::<Result<_>>()?;
        let mut message = Vec::new();
        // A command is an array of strings, and so is a message.
        resp_command(&mut message, &[b"message", CHANNEL, MESSAGE]);
        Ok(Self { sockets, message, buffer: vec![0; READ_BYTES] })
    }

    /// Reads the messages that have arrived.
    ///
    /// # Errors
    /// If a connection fails or a message is wrong.
    pub fn read_arrived(&mut self) -> Result<()> {
        for subscriber in &mut self.sockets {
            while subscriber.read(&self.message, &mut self.buffer)? {}
        }
        Ok(())
    }

    /// Waits until each subscriber has received this many messages.
    ///
    /// # Errors
    /// If a message is wrong, late or one too many.
    pub fn read_all(&mut self, messages: usize) -> Result<()> {
        let bytes = messages * self.message.len();
        for subscriber in &mut self.sockets {
            subscriber.socket.set_nonblocking(false).map_err(failed)?;
            while subscriber.received < bytes {
                if !subscriber.read(&self.message, &mut self.buffer)? {
                    return Err(failed(ErrorKind::TimedOut.into()));
                }
            }
            if subscriber.received > bytes {
                let received = subscriber.received;
                return Err(Error::Failed(format!(
                    "a subscriber received {received} bytes, but {messages} messages have {bytes}"
                )));
            }
        }
        Ok(())
    }

    /// Ends the subscriptions, so that later messages have no receivers.
    ///
    /// REQUIRES: all messages have been read by [`read_all`](Self::read_all).
    ///
    /// # Errors
    /// If a connection fails, or if there was a further message.
    pub fn unsubscribe(mut self) -> Result<()> {
        self.sockets.iter_mut().try_for_each(|subscriber| change(&mut subscriber.socket, "unsubscribe", 0))
    }
}

impl SubscriberSocket {
    /// Reads once; returns false if no byte has arrived.
    fn read(&mut self, message: &[u8], buffer: &mut [u8]) -> Result<bool> {
        let count = match self.socket.read(buffer) {
            Ok(0) => return Err(failed(ErrorKind::UnexpectedEof.into())),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(failed(error)),
        };
        let expected = message.iter().cycle().skip(self.received % message.len());
        if buffer[..count].iter().ne(expected.take(count)) {
            return Err(wrong(&buffer[..count]));
        }
        self.received += count;
        Ok(true)
    }
}

/// Subscribes or unsubscribes a connection, which then has this many channels.
fn change(socket: &mut TcpStream, verb: &str, channels: usize) -> Result<()> {
    let (mut request, mut expected) = (Vec::new(), b"*3\r\n".to_vec());
    resp_command(&mut request, &[verb.as_bytes(), CHANNEL]);
    resp_bulk(&mut expected, verb.as_bytes());
    resp_bulk(&mut expected, CHANNEL);
    resp_number(&mut expected, channels);
    let mut reply = vec![0; expected.len()];
    socket.write_all(&request).and_then(|()| socket.read_exact(&mut reply)).map_err(failed)?;
    if reply == expected { Ok(()) } else { Err(wrong(&reply)) }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
fn failed(error: std::io::Error) -> Error {
    Error::Failed(format!("the connection of a subscriber failed: {error}"))
}

fn wrong(got: &[u8]) -> Error {
    let shown = got[..got.len().min(80)].escape_ascii();
    Error::Failed(format!("a subscriber received something other than its messages: {shown}"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Returns a subscriber of a server that sends these bytes after its replies, in pieces.
    fn subscribed(sent: &str) -> Subscribers {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let sent = sent.to_owned();
        std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("the subscriber connects");
            socket.set_nodelay(true).expect("a connection");
            let mut reply = |verb: &str, channels, rest: &str| {
                let mut request = [0; 128];
                assert!(socket.read(&mut request).expect("a request") > 0);
                let head = format!("*3\r\n${}\r\n{verb}\r\n$7\r\nchannel\r\n", verb.len());
                let text = format!("{head}:{channels}\r\n{rest}");
                text.as_bytes().chunks(50).for_each(|part| socket.write_all(part).expect("to send"));
            };
            reply("subscribe", 1, &sent);
            reply("unsubscribe", 0, "");
        });
        Subscribers::connect(address, 1).expect("a subscription")
    }

    const RECEIVED: &str = "*3\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n$16\r\nmessage:00000000\r\n";

    #[test]
    fn messages_are_counted_and_compared() {
        let mut right = subscribed(&RECEIVED.repeat(5));
        right.read_arrived().expect("right messages");
        right.read_all(5).expect("right messages");
        right.unsubscribe().expect("no further message");

        let mut wrong = subscribed(&[RECEIVED, &RECEIVED.replace("00000000", "00000001")].concat());
        let error = wrong.read_all(2).expect_err("the second one differs").to_string();
        assert!(error.contains("something other"), "{error}");

        let mut more = subscribed(&RECEIVED.repeat(2));
        more.read_all(1).and_then(|()| more.unsubscribe()).expect_err("one too many");
    }
}
