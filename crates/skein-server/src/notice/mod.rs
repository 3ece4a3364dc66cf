//! Messages to clients that ask for none of them singly: changed keys, published messages, and the
//! requests of other clients.
//!
//! `key_events` tells of each change of a key: to channels, to caches of clients (CLIENT TRACKING) and
//! to WATCH. `channels` has the subscriptions of PUBLISH, and `monitors` the clients of MONITOR.

pub(crate) mod channels;
pub(crate) mod key_events;
pub(crate) mod monitors;
