//! Messages to clients that keys have changed which they may have kept.

use std::sync::Arc;

use crate::clients::client_registry::ClientLocation;
use crate::resp::{Protocol, Reply};

/// The channel of messages in RESP2.
const CHANNEL: &[u8] = b"__redis__:invalidate";

/// The keys that a client must forget.
#[derive(Debug, Clone)]
pub(crate) enum InvalidatedKeys {
    All,
    Some(Arc<[Box<[u8]>]>),
}

/// A message on its way to a client.
#[derive(Debug)]
pub(crate) enum Invalidation {
    /// To the client itself, or to the one that it has named with REDIRECT.
    Keys { to: ClientLocation, redirected: bool, keys: InvalidatedKeys },
    /// To the client itself: the client that it has named has disconnected.
    NoReceiver { to: ClientLocation, redirect: u64 },
}

impl InvalidatedKeys {
    /// Returns the message as a version of the protocol has it.
    pub(crate) fn encode(&self, protocol: Protocol) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut reply = Reply::new(&mut bytes, protocol);
        if protocol == Protocol::Resp3 {
            reply.push(2);
            reply.bulk(b"invalidate");
        } else {
            reply.array(3);
            reply.bulk(b"message");
            reply.bulk(CHANNEL);
        }
        match self {
            Self::All => reply.null(),
            Self::Some(keys) => {
                reply.bulks(&**keys);
            }
        }
        bytes
    }
}

/// Returns the message that a client's receiver has disconnected.
pub(crate) fn encode_broken(redirect: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut reply = Reply::new(&mut bytes, Protocol::Resp3);
    reply.push(2);
    reply.bulk(b"tracking-redir-broken");
    reply.int(i64::try_from(redirect).unwrap_or(i64::MAX));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_forms_of_both_protocols() {
        let text = |keys: &InvalidatedKeys, protocol| {
            String::from_utf8(keys.encode(protocol)).unwrap().replace("\r\n", "|")
        };
        let keys = InvalidatedKeys::Some([b"a"[..].into(), b"bc"[..].into()].into());
        assert_eq!(text(&keys, Protocol::Resp3), ">2|$10|invalidate|*2|$1|a|$2|bc|");
        assert_eq!(text(&keys, Protocol::Resp2), "*3|$7|message|$20|__redis__:invalidate|*2|$1|a|$2|bc|");
        assert_eq!(text(&InvalidatedKeys::All, Protocol::Resp3), ">2|$10|invalidate|_|");
        assert_eq!(
            text(&InvalidatedKeys::All, Protocol::Resp2),
            "*3|$7|message|$20|__redis__:invalidate|$-1|"
        );
    }
}
