//! What other threads send to a worker: new connections, and finished checkpoints.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mio::{Interest, Token};

use crate::client::Client;
use crate::clients::{Card, Place};
use crate::resp::Reply;
use crate::transport::Transport;

use super::Worker;
use super::connection::Connection;

impl Worker {
    /// Takes in new connections, and the checkpoints that connections waited for.
    pub(super) fn take_mail(&mut self) {
        let mail = self.mailbox().take();
        for stream in mail.connections {
            self.adopt(stream);
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
            let mut reply = Reply::new(&mut output.buffer, connection.client.protocol);
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
                    let place = Place { worker, slot, client: shared.next_client() };
                    let (address, local) = stream.addresses();
                    let now = shared.started.elapsed();
                    let card = Arc::new(Card::new(place, address, local, stream.as_raw_fd(), now));
                    shared.clients.add(Arc::clone(&card));
                    let client = Client::new(card, &shared.acl, shared.trusts(&stream));
                    Some(Connection::new(stream, client))
                }
                Err(cause) => {
                    tracing::error!(%cause, "cannot watch a connection; it is closed");
                    None
                }
            }
        });
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
