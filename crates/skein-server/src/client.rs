//! A connection's client, as its worker sees it: what it said about itself, and what it has begun.

use std::sync::Arc;

use crate::acl::{Acl, AclUser, AclUsers, DEFAULT, Denial};
use crate::client_registry::{ClientAttributes, ClientRecord};
use crate::commands::transactions::{Multi, watched::WatchedKeys};
use crate::resp::{Protocol, RequestArgs};

/// Which replies a client wants, as set with CLIENT REPLY. The flags are Redis's, and as
/// independent of each other: within a transaction one request may turn replies off, the next on
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ReplyMode(u8);

impl ReplyMode {
    const OFF: u8 = 1;
    /// No reply to the command that is being run.
    const SKIP: u8 = 2;
    const SKIP_NEXT: u8 = 4;
    /// The command is a transaction, and its reply has only the parts that are wanted.
    const CHOSEN: u8 = 8;

    /// Whether all are wanted.
    #[inline]
    pub(crate) fn are_all(self) -> bool {
        self == Self::default()
    }

    /// Whether what is written now is dropped.
    pub(crate) fn are_muted(self) -> bool {
        self.0 & (Self::OFF | Self::SKIP) != 0
    }

    /// CLIENT REPLY ON
    pub(crate) fn turn_on(&mut self) {
        self.0 &= !(Self::OFF | Self::SKIP);
    }

    /// CLIENT REPLY OFF
    pub(crate) fn turn_off(&mut self) {
        self.0 |= Self::OFF;
    }

    /// CLIENT REPLY SKIP; who wants none at all does not want the one after the next.
    pub(crate) fn skip_next(&mut self) {
        if self.0 & Self::OFF == 0 {
            self.0 |= Self::SKIP_NEXT;
        }
    }

    /// RESET. It is a command like others: one that is skipped is not answered.
    pub(crate) fn reset(&mut self) {
        self.0 &= Self::SKIP;
    }

    /// A part of a transaction's reply stays, whatever comes after it.
    pub(crate) fn keep_parts(&mut self) {
        self.0 |= Self::CHOSEN;
    }

    /// A command is done, before which they were `before`. Whether its reply is dropped.
    fn end_command(&mut self, before: Self) -> bool {
        let dropped = before.are_muted() && self.are_muted() && self.0 & Self::CHOSEN == 0;
        let next = if self.0 & Self::SKIP_NEXT == 0 { 0 } else { Self::SKIP };
        self.0 = self.0 & Self::OFF | next;
        dropped
    }
}

/// A client, as the commands see it.
#[derive(Debug)]
pub(crate) struct ClientState {
    /// Rises from 1; never used twice.
    pub id: u64,
    pub protocol: Protocol,
    /// Whether it logged in, or need not.
    pub authenticated: bool,
    /// Whether it need not log in if the default user has no password (see `Shared::trusts`).
    trusted: bool,
    rights: ClientRights,
    /// Since MULTI.
    pub multi: Option<Box<Multi>>,
    /// Since WATCH.
    pub watched: WatchedKeys,
    pub replies: ReplyMode,
    /// Of the request that is being run by itself.
    pub lookups: Lookups,
    /// What others see of it.
    pub card: Arc<ClientRecord>,
    /// Bytes of what it said of itself.
    said_bytes: usize,
}

/// Keys that reads looked up: those that were there, and those that were not.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Lookups {
    pub hits: u64,
    pub misses: u64,
}

impl Lookups {
    /// One more.
    #[inline]
    pub(crate) fn note(&mut self, found: bool) {
        self.hits += u64::from(found);
        self.misses += u64::from(!found);
    }
}

/// What a client may do.
#[derive(Debug)]
struct ClientRights {
    user: Arc<AclUser>,
    /// The version of all users when this one was looked up.
    version: u64,
    /// Whether there is anything that it may not.
    restricted: bool,
}

impl ClientRights {
    fn of(user: Arc<AclUser>, version: u64) -> Self {
        Self { version, restricted: !user.is_unrestricted(), user }
    }
}

impl ClientState {
    pub(crate) fn new(card: Arc<ClientRecord>, acl: &Acl, trusted: bool) -> Self {
        let (protocol, replies) = (Protocol::default(), ReplyMode::default());
        let (multi, watched) = (None, WatchedKeys::default());
        let version = acl.users.version();
        let user = acl.users.default_user();
        card.attributes().user.clone_from(&user.name);
        let authenticated = user.is_open() && trusted;
        let rights = ClientRights::of(user, version);
        let (id, lookups, said_bytes) = (card.place.client, Lookups::default(), card.attributes().memory());
        Self {
            id,
            protocol,
            authenticated,
            trusted,
            rights,
            multi,
            watched,
            replies,
            lookups,
            card,
            said_bytes,
        }
    }

    /// Changes what others are told of it.
    pub(crate) fn say(&mut self, change: impl FnOnce(&mut ClientAttributes)) {
        let mut said = self.card.attributes();
        change(&mut said);
        self.said_bytes = said.memory();
    }

    /// Bytes that it holds besides its buffers.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let queued = self.multi.as_ref().map_or(0, |multi| multi.queue.memory());
        queued + self.watched.memory() + self.said_bytes
    }

    /// The same client with another card, at a worker.
    pub(crate) fn with_record(mut self, card: Arc<ClientRecord>) -> Self {
        card.attributes().clone_from(&self.card.attributes());
        card.set_protocol(self.protocol);
        self.card = card;
        self
    }

    pub(crate) fn user(&self) -> &AclUser {
        &self.rights.user
    }

    /// Logs in; false if there is no such user, or the password is wrong.
    pub(crate) fn log_in(&mut self, users: &AclUsers, name: &[u8], password: &[u8]) -> bool {
        // Before the user, so that no change between the two is missed.
        let version = users.version();
        // No password at all is none that a stranger could know.
        let open = |user: &AclUser| user.name == DEFAULT && user.is_open();
        let Some(user) = users.log_in(name, password).filter(|user| self.trusted || !open(user)) else {
            return false;
        };
        self.say(|said| said.user.clone_from(&user.name));
        self.rights = ClientRights::of(user, version);
        self.authenticated = true;
        true
    }

    /// As a new connection is.
    pub(crate) fn log_out(&mut self, users: &AclUsers) {
        let version = users.version();
        let user = users.default_user();
        self.say(|said| said.user.clone_from(&user.name));
        self.authenticated = user.is_open() && self.trusted;
        self.rights = ClientRights::of(user, version);
    }

    /// Takes the rights of its user as they are now, if anything has changed.
    #[inline]
    pub(crate) fn refresh(&mut self, users: &AclUsers) {
        let version = users.version();
        if version != self.rights.version {
            self.look_up(users, version);
        }
    }

    #[cold]
    fn look_up(&mut self, users: &AclUsers, version: u64) {
        let name = &self.rights.user.name;
        // Whose user is gone may do nothing, until it is disconnected.
        let user = users.get(name).unwrap_or_else(|| Arc::new(AclUser::new(name)));
        self.rights = ClientRights::of(user, version);
        self.authenticated |= self.trusted && self.rights.user.name == DEFAULT && self.rights.user.is_open();
    }

    /// Whether it may run this request, whose command is at this place of the table.
    #[inline]
    pub(crate) fn may<'a>(&self, command: u16, args: impl FnOnce() -> RequestArgs<'a>) -> bool {
        !self.rights.restricted || self.check(command, &args()).is_ok()
    }

    /// The same, and what it is that it may not.
    #[inline]
    pub(crate) fn check(&self, command: u16, args: &RequestArgs<'_>) -> Result<(), Denial> {
        if self.rights.restricted { self.rights.user.check(command.into(), args) } else { Ok(()) }
    }

    /// Whether its reads and writes may be run together with others: not if they are refused, queued, or not answered.
    #[inline]
    pub(crate) fn runs_in_batches(&self) -> bool {
        self.authenticated && self.replies.are_all() && !self.in_multi()
    }

    pub(crate) fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        self.card.set_protocol(protocol);
    }

    /// A command is done, before which its wishes were `before`. Whether its reply is dropped.
    pub(crate) fn drops_reply(&mut self, before: ReplyMode) -> bool {
        self.replies.end_command(before)
    }
}
