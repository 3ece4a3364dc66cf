//! The messages of other threads to a worker: new connections, clients to disconnect, finished
//! checkpoints and migrations, answers to waiting clients, removed keys that clients wait for,
//! messages of channels, and lines for monitors.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use mio::{Interest, Token};

use crate::clients::client::ClientState;
use crate::clients::client_registry::{ClientLocation, ClientRecord};
use crate::commands::CommandError;
use crate::net::transport::{Transport, keep_alive};
use crate::resp::Reply;
use crate::shared::ServerShared;
use skein_data::Ticket;

use super::connection::Connection;
use super::connections::WorkerConnections;
use super::loading::LoadingConnection;
use super::request_timer::{RequestTimer, SlicedCommandTime};

/// The most messages for which a worker keeps memory.
const SPARE_MAX: usize = 1024;

/// Creates the record of a new connection, which other threads can see from now on.
fn record(shared: &ServerShared, place: ClientLocation, stream: &Transport) -> Arc<ClientRecord> {
    let (address, local) = stream.addresses();
    let record = Arc::new(ClientRecord::new(
        place,
        address,
        local,
        stream.as_raw_fd(),
        shared.identity.started.elapsed(),
    ));
    shared.clients.registry.add(Arc::clone(&record));
    record
}

impl WorkerConnections {
    /// Adopts new connections, closes those to disconnect, and answers the clients that waited for
    /// a checkpoint.
    pub(super) fn take_mail(&mut self) {
        let spare = std::mem::take(&mut self.spare_messages);
        let mut mail = self.mailbox().take(spare);
        for stream in mail.connections {
            self.adopt(stream);
        }
        // Before the kills: a client may have got an element before it was killed.
        for answer in mail.wait_answers {
            self.take_wait_answer(answer);
        }
        for who in mail.kills {
            self.close_killed(who);
        }
        for delivery in mail.messages.drain(..) {
            self.deliver(&delivery);
        }
        mail.messages.shrink_to(SPARE_MAX);
        self.spare_messages = mail.messages;
        for message in mail.invalidations {
            self.invalidate(message);
        }
        for delivery in &mail.monitored {
            self.show(delivery);
        }
        for (who, result) in mail.checkpoints {
            self.end_wait(who, &result, Ticket::default());
        }
        self.migrated.extend(mail.migrated);
        self.removed_keys.extend(mail.removed_keys);
    }

    /// Closes the connection of a killed client. The replies that need not wait are sent first:
    /// their requests were done before, and an element that the client has got is nowhere else.
    fn close_killed(&mut self, who: ClientLocation) {
        let Some((connection, output)) = self.slots.get(who.slot) else { return };
        if connection.client.id == who.client {
            // It may be later than the epoch of this turn: a reply that waited for it has made the
            // other client kill this one.
            let durable = self.shared.data.store.durable_epoch();
            let _ = connection.flush(output, durable);
            self.close(who.slot);
        }
    }

    /// Replies to a client that has waited for a checkpoint or a migration, if it is still there.
    pub(super) fn end_wait(
        &mut self,
        who: ClientLocation,
        result: &Result<(), CommandError>,
        ticket: Ticket,
    ) {
        self.ticket = self.ticket.max(ticket);
        let Some((connection, _)) = self.slots.get(who.slot) else { return };
        if connection.client.id != who.client || !connection.waits {
            return;
        }
        connection.waits = false;
        let mut bytes = Vec::new();
        let mut reply = Reply::new(&mut bytes, connection.client.protocol);
        match result {
            Ok(()) => reply.ok(),
            Err(fault) => fault.write(&mut reply),
        }
        self.reply_after_wait(who.slot, &bytes, ticket);
    }

    /// Writes the reply of a command that made its client wait, and counts the command.
    pub(super) fn reply_after_wait(&mut self, slot: usize, bytes: &[u8], ticket: Ticket) {
        let Some((connection, output)) = self.slots.get(slot) else { return };
        let (pending, start) = (output.pending(), output.buffer.len());
        output.buffer.extend_from_slice(bytes);
        if connection.client.drops_reply(connection.client.replies) {
            output.keep(pending);
        }
        if let Some(epoch) = self.shared.data.epoch_to_wait_for(ticket) {
            output.hold(start, epoch);
        }
        let (long, record) = (connection.long.take(), Arc::clone(&connection.client.record));
        self.end_long(long, bytes, &record);
        self.list(slot);
    }

    /// Counts a command that made its client wait for the reply.
    fn end_long(&self, long: Option<Box<SlicedCommandTime>>, reply: &[u8], record: &ClientRecord) {
        let Some(long) = long else { return };
        let observed = &self.shared.workers.mailboxes[self.number].observed;
        let settings = &self.shared.settings;
        let timer = RequestTimer::new(&self.shared.observing, settings, observed, Instant::now());
        timer.check(long.kind, reply);
        long.end(&timer, record);
    }

    pub(super) fn adopt(&mut self, mut stream: Transport) {
        let (shared, worker, registry) = (&self.shared, self.number, self.poll.registry());
        let slot = self.slots.insert(|slot| {
            // Registered for both directions from the start. Events report only changes, so this
            // costs nothing later.
            match registry.register(&mut stream, Token(slot), Interest::READABLE | Interest::WRITABLE) {
                Ok(()) => {
                    let place = ClientLocation { worker, slot, client: shared.clients.next() };
                    let record = record(shared, place, &stream);
                    let trusted = shared.options.trusts(&stream);
                    let client = ClientState::new(record, &shared.acl, &shared.data.databases, trusted);
                    Some(Connection::new(stream, client))
                }
                Err(cause) => {
                    tracing::error!(%cause, "cannot watch a connection; closing it");
                    None
                }
            }
        });
        self.list_new(slot);
    }

    /// Adopts connections that were accepted while the server was loading, with their unprocessed
    /// requests and unsent replies. Called before the worker runs.
    pub(super) fn adopt_from_loading(&mut self, handed_over: impl Iterator<Item = LoadingConnection>) {
        for connection in handed_over {
            // Relaxed: as in `count_closed`.
            self.mailbox().counts.connections.fetch_add(1, Ordering::Relaxed);
            self.adopt_one_from_loading(connection);
        }
    }

    fn adopt_one_from_loading(&mut self, handed_over: LoadingConnection) {
        let (mut connection, output) = handed_over.into_parts();
        if let Some(stream) = connection.stream.tcp() {
            // If this fails, the client is served all the same.
            let _ = keep_alive(stream, self.shared.settings.keepalive.seconds() as usize);
        }
        let (shared, worker, registry) = (&self.shared, self.number, self.poll.registry());
        let slot = self.slots.insert(|slot| {
            let both = Interest::READABLE | Interest::WRITABLE;
            if let Err(cause) = registry.register(&mut connection.stream, Token(slot), both) {
                tracing::error!(%cause, "cannot watch a connection; closing it");
                return None;
            }
            let place = ClientLocation { worker, slot, client: connection.client.id };
            let record = record(shared, place, &connection.stream);
            // The event queue of this worker has reported no event for it yet.
            (connection.readable, connection.writable, connection.listed) = (true, true, false);
            Some(connection.with_record(record))
        });
        if let Some((_, place)) = slot.and_then(|slot| self.slots.get(slot)) {
            *place = output;
        }
        self.list_new(slot);
    }

    /// Lists a new connection to be served, if there is one.
    fn list_new(&mut self, slot: Option<usize>) {
        match slot {
            Some(slot) => self.list(slot),
            None => self.count_closed(),
        }
    }

    /// Counts one connection less.
    pub(super) fn count_closed(&self) {
        // Relaxed: a number for the choice of the least loaded worker, ordered with nothing.
        self.mailbox().counts.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
