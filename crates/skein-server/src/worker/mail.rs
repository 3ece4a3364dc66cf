//! What other threads send to a worker: new connections, and finished checkpoints.

use std::sync::atomic::Ordering;

use mio::net::TcpStream;
use mio::{Interest, Token};

use crate::client::Client;
use crate::commands::Fault;
use crate::resp::Reply;

use super::Worker;
use super::connection::Connection;

impl Worker {
    /// Takes in new connections, and the checkpoints that connections waited for.
    pub(super) fn take_mail(&mut self) {
        let mail = self.mailbox().take();
        for stream in mail.connections {
            self.adopt(stream);
        }
        for (who, result) in mail.checkpoints {
            let Some((connection, output)) = self.slots.get(who.slot) else { continue };
            if connection.client.id != who.client || !connection.waits {
                continue;
            }
            connection.waits = false;
            let mut reply = Reply::new(&mut output.buffer, connection.client.protocol);
            match result {
                Ok(()) => reply.ok(),
                Err(error) => Fault::from(error).write(&mut reply),
            }
            self.list(who.slot);
        }
    }

    fn adopt(&mut self, mut stream: TcpStream) {
        let client = Client::new(self.shared.next_client(), self.shared.options.password.is_none());
        let registry = self.poll.registry();
        let slot = self.slots.insert(|slot| {
            // Watched for both from the start: events tell of changes only, so this costs nothing later.
            match registry.register(&mut stream, Token(slot), Interest::READABLE | Interest::WRITABLE) {
                Ok(()) => Some(Connection::new(stream, client)),
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
