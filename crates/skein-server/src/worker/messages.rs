//! Messages of channels, from the mail to the output of their receivers.

use crate::channels::ChannelDelivery;
use crate::resp::Protocol;

use super::connections::WorkerConnections;

impl WorkerConnections {
    /// Writes a message to the output of each receiver that still subscribes.
    pub(super) fn deliver(&mut self, delivery: &ChannelDelivery) {
        let ChannelDelivery { message, clients } = delivery;
        let mut encoded: [Option<Vec<u8>>; 2] = [None, None];
        for who in clients {
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
            // A message must not get into a reply that is not complete.
            let target =
                if connection.task.is_some() { &mut connection.postponed } else { &mut output.buffer };
            target.extend_from_slice(bytes);
            self.list(who.slot);
        }
    }
}
