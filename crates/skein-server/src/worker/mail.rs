//! What other threads send to a worker: connections, and finished checkpoints.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mio::{Interest, Token};

use crate::client::ClientState;
use crate::client_registry::{ClientLocation, ClientRecord};
use crate::resp::ReplyWriter;
use crate::shared::ServerShared;
use crate::transport::Transport;

use super::Worker;
use super::connection::Connection;
use super::loading::LoadingConnection;

/// The card of a new connection, which others see from now on.
fn card(shared: &ServerShared, place: ClientLocation, stream: &Transport) -> Arc<ClientRecord> {
    let (address, local) = stream.addresses();
    let card =
        Arc::new(ClientRecord::new(place, address, local, stream.as_raw_fd(), shared.started.elapsed()));
    shared.clients.add(Arc::clone(&card));
    card
}

impl Worker {
    /// Takes in new connections, and the checkpoints that connections waited for.
    pub(super) fn take_mail(&mut self) {
        let mail = self.mailbox().take();
        for stream in mail.connections {
            self.adopt(stream);
        }
        for guest in mail.guests {
            self.seat(guest);
        }
        for who in mail.kills {
            if self.slots.get(who.slot).is_some_and(|(connection, _)| connection.client.id == who.client) {
                self.close(who.slot);
            }
        }
        for (who, result) in mail.checkpoints {
            let Some((connection, output)) = self.slots.get(who.slot) else { continue };
            if connection.client.id != who.client || !connection.waits {
                continue;
            }
            connection.waits = false;
            let pending = output.pending();
            let mut reply = ReplyWriter::new(&mut output.buffer, connection.client.protocol);
            match result {
                Ok(()) => reply.ok(),
                Err(fault) => fault.write(&mut reply),
            }
            if connection.client.drops_reply(connection.client.replies) {
                output.keep(pending);
            }
            self.list(who.slot);
        }
    }

    fn adopt(&mut self, mut stream: Transport) {
        let (shared, worker, registry) = (&self.shared, self.number, self.poll.registry());
        let slot = self.slots.insert(|slot| {
            // Watched for both from the start: events tell of changes only, so this costs nothing later.
            match registry.register(&mut stream, Token(slot), Interest::READABLE | Interest::WRITABLE) {
                Ok(()) => {
                    let place = ClientLocation { worker, slot, client: shared.next_client() };
                    let card = card(shared, place, &stream);
                    let client = ClientState::new(card, &shared.acl, shared.options.trusts(&stream));
                    Some(Connection::new(stream, client))
                }
                Err(cause) => {
                    tracing::error!(%cause, "cannot watch a connection; it is closed");
                    None
                }
            }
        });
        self.begin(slot);
    }

    /// Takes over a connection that was made before there was data, with what it sent and what it
    /// has not taken yet.
    fn seat(&mut self, guest: LoadingConnection) {
        let (mut connection, output) = guest.into_parts();
        let (shared, worker, registry) = (&self.shared, self.number, self.poll.registry());
        let slot = self.slots.insert(|slot| {
            let both = Interest::READABLE | Interest::WRITABLE;
            if let Err(cause) = registry.register(&mut connection.stream, Token(slot), both) {
                tracing::error!(%cause, "cannot watch a connection; it is closed");
                return None;
            }
            let place = ClientLocation { worker, slot, client: connection.client.id };
            let card = card(shared, place, &connection.stream);
            // The event queue of this worker has seen no event of it yet.
            (connection.readable, connection.writable, connection.listed) = (true, true, false);
            Some(connection.with_record(card))
        });
        if let Some((_, place)) = slot.and_then(|slot| self.slots.get(slot)) {
            *place = output;
        }
        self.begin(slot);
    }

    /// Serves a new connection, if there is one.
    fn begin(&mut self, slot: Option<usize>) {
        match slot {
            Some(slot) => self.list(slot),
            None => self.left(),
        }
    }

    /// One connection less.
    pub(super) fn left(&self) {
        // Relaxed: a number for the choice of the least loaded worker, ordered with nothing.
        self.mailbox().counts.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
