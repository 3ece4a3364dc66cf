//! What clients hear without a request: of changed keys, of messages, and of others' requests.
//!
//! `key_events` tells of each change of a key: to channels, to caches of clients (CLIENT TRACKING) and
//! to WATCH. `channels` has the subscriptions of PUBLISH, and `monitors` the clients of MONITOR.

pub(crate) mod channels;
pub(crate) mod key_events;
pub(crate) mod monitors;
