//! Closes connections without losing replies.
//!
//! ```text
//!   all replies sent ─► forget the client ─► shut down our direction ─► drop input
//!                                                                          └► the client closes, or timeout
//! ```
//!
//! If a socket is closed while it has unread bytes, the system answers with a reset. A reset
//! discards replies that the client's system has received and the client has not read yet. So if a
//! client may still be sending, the worker first shuts down only its own direction. By then, other
//! clients no longer see the client.

use std::time::{Duration, Instant};

use super::connections::WorkerConnections;

/// The time that a client has to close its side.
const LINGER: Duration = Duration::from_millis(500);

/// How often the clock is checked while connections linger.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// A connection that lingers.
#[derive(Debug)]
pub(super) struct Lingering {
    slot: usize,
    /// The client's number: the slot may belong to another client by then.
    client: u64,
    until: Instant,
}

impl WorkerConnections {
    /// Closes a connection to which everything has been sent.
    pub(super) fn close_gently(&mut self, slot: usize) {
        self.forget_client(slot);
        let Some((connection, _)) = self.slots.get(slot) else { return };
        // This is needed even if the client has closed its side: over TLS, the shutdown proves that
        // no reply was cut off.
        if connection.stream.shut_down_writing().is_err() || connection.ended {
            self.close(slot);
            return;
        }
        connection.closing = true;
        connection.lingers = true;
        let client = connection.client.id;
        self.lingering.push(Lingering { slot, client, until: Instant::now() + LINGER });
        // Bytes that are in the socket already make no event.
        self.drop_input(slot);
    }

    /// Reads and drops the input of a lingering connection. Closes it if the client has closed its
    /// side.
    pub(super) fn drop_input(&mut self, slot: usize) {
        let Some((connection, _)) = self.slots.get(slot) else { return };
        match connection.drop_input() {
            Ok(true) => self.again.push(slot),
            Ok(false) => {}
            Err(_) => self.close(slot),
        }
    }

    /// Closes the connections that have lingered long enough.
    pub(super) fn end_lingering(&mut self) {
        if self.lingering.is_empty() {
            return;
        }
        let now = Instant::now();
        for one in std::mem::take(&mut self.lingering) {
            let Some((connection, _)) = self.slots.get(one.slot) else { continue };
            if connection.client.id != one.client {
                continue;
            }
            if now < one.until {
                self.lingering.push(one);
            } else {
                self.close(one.slot);
            }
        }
    }
}
