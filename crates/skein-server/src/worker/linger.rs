//! Closing without taking replies back.
//!
//! ```text
//!   all replies sent ─► shut down our direction ─► read and drop what still comes ─► the client closes, or time is up
//! ```
//!
//! A socket that is closed while bytes lie in it unread answers with a reset, and a reset takes from the client the replies
//! that it has received but not yet read. So a connection whose client may still be sending is first shut down on
//! our side alone.

use std::time::{Duration, Instant};

use super::Worker;

/// How long a client has for closing its side.
const LINGER: Duration = Duration::from_millis(500);

/// How often the clock is looked at while connections linger.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// A connection that lingers.
#[derive(Debug)]
pub(super) struct Lingering {
    slot: usize,
    /// The slot may have gone to another client meanwhile.
    client: u64,
    until: Instant,
}

impl Worker {
    /// Ends a connection to which everything has been sent.
    pub(super) fn close_gently(&mut self, slot: usize) {
        let Some((connection, _)) = self.slots.get(slot) else { return };
        // Also to who has ended: over TLS it is the word that no reply was cut off.
        if connection.stream.shut_down_writing().is_err() || connection.ended {
            self.close(slot);
            return;
        }
        connection.closing = true;
        connection.lingers = true;
        let client = connection.client.id;
        self.lingering.push(Lingering { slot, client, until: Instant::now() + LINGER });
        // What is there already makes no event.
        self.drop_input(slot);
    }

    /// Reads and drops what a client sends that is being left; closes when it has closed its side.
    pub(super) fn drop_input(&mut self, slot: usize) {
        let Some((connection, _)) = self.slots.get(slot) else { return };
        match connection.drop_input() {
            Ok(true) => self.again.push(slot),
            Ok(false) => {}
            Err(_) => self.close(slot),
        }
    }

    /// Closes the connections whose time is up.
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
