//! Messages of channels, keys to forget, and lines for monitors, from the mail to the output of
//! their receivers.

use crate::clients::client_registry::{ClientLocation, ClientMode};
use crate::notice::channels::ChannelDelivery;
use crate::notice::key_events::{Invalidation, encode_broken};
use crate::notice::monitors::MonitorDelivery;
use crate::resp::Protocol;

use super::connection::Connection;
use super::connections::WorkerConnections;
use super::reply_buffer::ReplyBuffer;

/// Writes a message that the client did not ask for. It must not get into a reply that is not
/// complete.
fn push(connection: &mut Connection, output: &mut ReplyBuffer, bytes: &[u8]) {
    let target = if connection.task.is_some() { &mut connection.postponed } else { &mut output.buffer };
    target.extend_from_slice(bytes);
    connection.unasked += bytes.len();
}

impl WorkerConnections {
    /// Writes a message to the output of each receiver that still subscribes.
    pub(super) fn deliver(&mut self, delivery: &ChannelDelivery) {
        let ChannelDelivery { message, clients } = delivery;
        let mut encoded: [Option<Vec<u8>>; 2] = [None, None];
        for who in clients.iter() {
            let Some((connection, output)) = self.slots.get(who.slot) else { continue };
            let is_theirs = connection.client.id == who.client
                && !connection.closing
                && connection.client.subscriptions.receives(message);
            if !is_theirs {
                continue;
            }
            connection.client.refresh(&self.shared.acl.users);
            if !connection.client.may_keep_subscriptions() {
                self.close(who.slot);
                continue;
            }
            let protocol = connection.client.protocol;
            let place = usize::from(protocol == Protocol::Resp3);
            let bytes = encoded[place].get_or_insert_with(|| message.encode(protocol));
            push(connection, output, bytes);
            self.list(who.slot);
        }
    }

    /// Writes a line to the output of each client that still monitors.
    pub(super) fn show(&mut self, delivery: &MonitorDelivery) {
        for who in &delivery.clients {
            let Some((connection, output)) = self.receiver(*who) else { continue };
            if connection.client.record.has_mode(ClientMode::Monitor) {
                push(connection, output, &delivery.line);
                self.list(who.slot);
            }
        }
    }

    /// Tells a client which keys it must forget, if its protocol has a form for that.
    pub(super) fn invalidate(&mut self, message: Invalidation) {
        let (to, bytes) = match message {
            Invalidation::Keys { to, redirected, keys } => {
                let Some((connection, _)) = self.receiver(to) else { return };
                let client = &connection.client;
                // In RESP2 only a client that has subscriptions expects a message.
                let hears = match client.protocol {
                    Protocol::Resp3 => redirected || client.tracking.is_some(),
                    Protocol::Resp2 => redirected && !client.subscriptions.is_empty(),
                };
                if !hears {
                    return;
                }
                (to, keys.encode(client.protocol))
            }
            Invalidation::NoReceiver { to, redirect } => {
                let Some((connection, _)) = self.receiver(to) else { return };
                let record = &connection.client.record;
                if record.redirect() != redirect || connection.client.tracking.is_none() {
                    return;
                }
                record.set_mode(ClientMode::BrokenRedirect, true);
                if connection.client.protocol == Protocol::Resp2 {
                    return;
                }
                (to, encode_broken(redirect))
            }
        };
        if let Some((connection, output)) = self.receiver(to) {
            push(connection, output, &bytes);
            self.list(to.slot);
        }
    }

    /// Returns the connection of a client, unless it is about to be closed.
    fn receiver(&mut self, who: ClientLocation) -> Option<(&mut Connection, &mut ReplyBuffer)> {
        let found = self.slots.get(who.slot)?;
        let is_theirs = found.0.client.id == who.client && !found.0.closing;
        is_theirs.then_some(found)
    }
}
