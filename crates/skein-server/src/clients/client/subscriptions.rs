//! The channels and patterns that a client has subscribed to.

use std::collections::BTreeMap;

use crate::notice::channels::{ChannelKind, ChannelMessage, Subscription};

/// The subscriptions of a client.
#[derive(Debug, Default)]
pub(crate) struct ClientSubscriptions {
    channels: BTreeMap<Vec<u8>, Subscription>,
    patterns: BTreeMap<Vec<u8>, Subscription>,
    shards: BTreeMap<Vec<u8>, Subscription>,
    /// Bytes of all of them.
    bytes: usize,
}

impl ClientSubscriptions {
    pub(crate) fn of(&self, kind: ChannelKind) -> &BTreeMap<Vec<u8>, Subscription> {
        match kind {
            ChannelKind::Channel => &self.channels,
            ChannelKind::Pattern => &self.patterns,
            ChannelKind::Shard => &self.shards,
        }
    }

    fn of_mut(&mut self, kind: ChannelKind) -> &mut BTreeMap<Vec<u8>, Subscription> {
        match kind {
            ChannelKind::Channel => &mut self.channels,
            ChannelKind::Pattern => &mut self.patterns,
            ChannelKind::Shard => &mut self.shards,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns the number that a reply shows: shard channels are counted by themselves.
    pub(crate) fn shown(&self, kind: ChannelKind) -> usize {
        match kind {
            ChannelKind::Shard => self.shards.len(),
            ChannelKind::Channel | ChannelKind::Pattern => self.channels.len() + self.patterns.len(),
        }
    }

    pub(crate) fn add(&mut self, kind: ChannelKind, name: &[u8], subscription: Subscription) {
        self.bytes += subscription.bytes;
        let before = self.of_mut(kind).insert(name.to_vec(), subscription);
        self.bytes -= before.map_or(0, |before| before.bytes);
    }

    /// Removes a subscription. Returns whether there was one.
    pub(crate) fn remove(&mut self, kind: ChannelKind, name: &[u8]) -> bool {
        let removed = self.of_mut(kind).remove(name);
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
