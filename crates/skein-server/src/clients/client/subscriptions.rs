//! The channels and patterns that a client has subscribed to.

use std::collections::BTreeMap;

use crate::notice::channels::{ChannelKind, ChannelMessage, Subscription};

/// The subscriptions of a client.
#[derive(Debug, Default)]
pub(crate) struct ClientSubscriptions {
    /// By kind and name.
    names: [BTreeMap<Vec<u8>, Subscription>; ChannelKind::ALL.len()],
    /// Bytes of all of them.
    bytes: usize,
}

impl ClientSubscriptions {
    pub(crate) fn of(&self, kind: ChannelKind) -> &BTreeMap<Vec<u8>, Subscription> {
        &self.names[kind as usize]
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns the number that a reply shows: shard channels are counted by themselves.
    pub(crate) fn shown(&self, kind: ChannelKind) -> usize {
        match kind {
            ChannelKind::Shard => self.of(kind).len(),
            ChannelKind::Channel | ChannelKind::Pattern => {
                self.of(ChannelKind::Channel).len() + self.of(ChannelKind::Pattern).len()
            }
        }
    }

    pub(crate) fn add(&mut self, kind: ChannelKind, name: &[u8], subscription: Subscription) {
        self.bytes += subscription.bytes;
        let before = self.names[kind as usize].insert(name.to_vec(), subscription);
        self.bytes -= before.map_or(0, |before| before.bytes);
    }

    /// Removes a subscription. Returns whether there was one.
    pub(crate) fn remove(&mut self, kind: ChannelKind, name: &[u8]) -> bool {
        let removed = self.names[kind as usize].remove(name);
        self.bytes -= removed.map_or(0, |removed| removed.bytes);
        removed.is_some()
    }

    /// Returns whether the client receives a message.
    pub(crate) fn receives(&self, message: &ChannelMessage) -> bool {
        self.of(message.kind).get(&*message.name).is_some_and(|subscribed| subscribed.number < message.number)
    }

    /// Returns the bytes of the subscriptions.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }
}
