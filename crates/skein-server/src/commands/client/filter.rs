//! The options of CLIENT KILL that select clients.

use skein_syntax::number::parse_i64;

use crate::acl::AclUsers;
use crate::clients::client_registry::ClientRecord;
use crate::commands::command_error::SYNTAX;
use crate::commands::{CommandError, CommandResult, is};
use crate::net::transport::ConnectionAddress;
use crate::resp::Args;

/// Returns an error that quotes the client's input after `before`.
fn quoting(before: &str, text: &[u8]) -> CommandError {
    CommandError::owned([before.as_bytes(), b" '", text, b"'"].concat())
}

/// A kind of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientKind {
    Normal,
    /// With subscriptions.
    Pubsub,
    /// A master or a replica. No client of this server is one.
    OfReplication,
}

impl ClientKind {
    pub(super) fn parse(name: &[u8]) -> CommandResult<Self> {
        match name {
            _ if is(name, "normal") => Ok(Self::Normal),
            _ if is(name, "pubsub") => Ok(Self::Pubsub),
            _ if ["slave", "replica", "master"].iter().any(|kind| is(name, kind)) => Ok(Self::OfReplication),
            _ => Err(quoting("ERR Unknown client type", name)),
        }
    }

    pub(super) fn fits(self, record: &ClientRecord) -> bool {
        match self {
            Self::Normal => !record.subscribes(),
            Self::Pubsub => record.subscribes(),
            Self::OfReplication => false,
        }
    }
}

#[derive(Debug)]
pub(super) struct ClientFilter<'a> {
    address: Option<&'a [u8]>,
    local: Option<&'a [u8]>,
    id: Option<u64>,
    user: Option<&'a [u8]>,
    kind: Option<ClientKind>,
    skip_me: bool,
}

impl<'a> ClientFilter<'a> {
    pub(super) fn of_address(address: &'a [u8]) -> Self {
        Self { address: Some(address), local: None, id: None, user: None, kind: None, skip_me: false }
    }

    /// Parses the options from argument 2 on.
    pub(super) fn parse(args: &Args<'a>, users: &AclUsers) -> CommandResult<Self> {
        let mut filter = Self { address: None, local: None, id: None, user: None, kind: None, skip_me: true };
        let mut rest = args.from(2);
        while let Some(option) = rest.next() {
            let value = rest.next().ok_or(SYNTAX)?;
            if is(option, "ID") {
                let id = parse_i64(value).and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0);
                filter.id = Some(id.ok_or(CommandError::text("ERR client-id should be greater than 0"))?);
            } else if is(option, "TYPE") {
                filter.kind = Some(ClientKind::parse(value)?);
            } else if is(option, "ADDR") {
                filter.address = Some(value);
            } else if is(option, "LADDR") {
                filter.local = Some(value);
            } else if is(option, "USER") {
                if users.get(value).is_none() {
                    return Err(quoting("ERR No such user", value));
                }
                filter.user = Some(value);
            } else if is(option, "SKIPME") && (is(value, "YES") || is(value, "NO")) {
                filter.skip_me = is(value, "YES");
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(filter)
    }

    pub(super) fn fits(&self, record: &ClientRecord, me: u64) -> bool {
        let at = |wanted: Option<&[u8]>, address: Option<&ConnectionAddress>| {
            wanted
                .is_none_or(|wanted| address.is_some_and(|address| address.to_string().as_bytes() == wanted))
        };
        self.kind.is_none_or(|kind| kind.fits(record))
            && at(self.address, record.address.as_ref())
            && at(self.local, record.local.as_ref())
            && self.id.is_none_or(|id| id == record.place.client)
            && self.user.is_none_or(|user| record.attributes().user == user)
            && !(self.skip_me && record.place.client == me)
    }
}
