//! A connection's client, as its worker sees it: what it said about itself, and what it has begun.

use std::sync::Arc;

use crate::acl::{Acl, DEFAULT, Denied, User, Users};
use crate::clients::Card;
use crate::commands::transactions::{Multi, watched::Watched};
use crate::resp::{Args, Protocol};

/// Which replies a client wants, as set with CLIENT REPLY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Replies {
    #[default]
    All,
    /// None to the command after this one.
    SkipNext,
    /// None to this one.
    Skip,
    None,
}

/// A client, as the commands see it.
#[derive(Debug)]
pub(crate) struct Client {
    /// Rises from 1; never used twice.
    pub id: u64,
    pub protocol: Protocol,
    /// Whether it logged in, or need not.
    pub authenticated: bool,
    /// Whether it need not log in if the default user has no password (see `Shared::trusts`).
    trusted: bool,
    rights: Rights,
    /// Since MULTI.
    pub multi: Option<Box<Multi>>,
    /// Since WATCH.
    pub watched: Watched,
    pub replies: Replies,
    /// Of the request that is being run by itself.
    pub lookups: Lookups,
    /// What others see of it.
    pub card: Arc<Card>,
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
struct Rights {
    user: Arc<User>,
    /// The version of all users when this one was looked up.
    version: u64,
    /// Whether there is anything that it may not.
    restricted: bool,
}

impl Rights {
    fn of(user: Arc<User>, version: u64) -> Self {
        Self { version, restricted: !user.is_unrestricted(), user }
    }
}

impl Client {
    pub(crate) fn new(card: Arc<Card>, acl: &Acl, trusted: bool) -> Self {
        let (protocol, replies) = (Protocol::default(), Replies::default());
        let (multi, watched) = (None, Watched::default());
        let version = acl.users.version();
        let user = acl.users.default_user();
        card.said().user.clone_from(&user.name);
        let authenticated = user.is_open() && trusted;
        let rights = Rights::of(user, version);
        let (id, lookups) = (card.place.client, Lookups::default());
        Self { id, protocol, authenticated, trusted, rights, multi, watched, replies, lookups, card }
    }

    /// The same client with another card, at a worker.
    pub(crate) fn seated(mut self, card: Arc<Card>) -> Self {
        card.said().clone_from(&self.card.said());
        card.set_protocol(self.protocol);
        self.card = card;
        self
    }

    pub(crate) fn user(&self) -> &User {
        &self.rights.user
    }

    /// Logs in; false if there is no such user, or the password is wrong.
    pub(crate) fn log_in(&mut self, users: &Users, name: &[u8], password: &[u8]) -> bool {
        // Before the user, so that no change between the two is missed.
        let version = users.version();
        // No password at all is none that a stranger could know.
        let open = |user: &User| user.name == DEFAULT && user.is_open();
        let Some(user) = users.log_in(name, password).filter(|user| self.trusted || !open(user)) else {
            return false;
        };
        self.card.said().user.clone_from(&user.name);
        self.rights = Rights::of(user, version);
        self.authenticated = true;
        true
    }

    /// As a new connection is.
    pub(crate) fn log_out(&mut self, users: &Users) {
        let version = users.version();
        let user = users.default_user();
        self.card.said().user.clone_from(&user.name);
        self.authenticated = user.is_open() && self.trusted;
        self.rights = Rights::of(user, version);
    }

    /// Takes the rights of its user as they are now, if anything has changed.
    #[inline]
    pub(crate) fn refresh(&mut self, users: &Users) {
        let version = users.version();
        if version != self.rights.version {
            self.look_up(users, version);
        }
    }

    #[cold]
    fn look_up(&mut self, users: &Users, version: u64) {
        let name = &self.rights.user.name;
        // Whose user is gone may do nothing, until it is disconnected.
        let user = users.get(name).unwrap_or_else(|| Arc::new(User::new(name)));
        self.rights = Rights::of(user, version);
        self.authenticated |= self.trusted && self.rights.user.name == DEFAULT && self.rights.user.is_open();
    }

    /// Whether it may run this request, whose command is at this place of the table.
    #[inline]
    pub(crate) fn may<'a>(&self, command: u16, args: impl FnOnce() -> Args<'a>) -> bool {
        !self.rights.restricted || self.check(command, &args()).is_ok()
    }

    /// The same, and what it is that it may not.
    #[inline]
    pub(crate) fn check(&self, command: u16, args: &Args<'_>) -> Result<(), Denied> {
        if self.rights.restricted { self.rights.user.check(command.into(), args) } else { Ok(()) }
    }

    /// Whether its reads and writes may be run together with others: not if they are refused, queued, or not answered.
    #[inline]
    pub(crate) fn runs_in_batches(&self) -> bool {
        self.authenticated && self.replies == Replies::All && !self.in_multi()
    }

    pub(crate) fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        self.card.set_protocol(protocol);
    }

    /// A command is done, before which its wishes were `before`. Whether its reply is dropped.
    pub(crate) fn drops_reply(&mut self, before: Replies) -> bool {
        let dropped = matches!(before, Replies::Skip | Replies::None) && self.replies != Replies::All;
        match self.replies {
            Replies::SkipNext => self.replies = Replies::Skip,
            Replies::Skip => self.replies = Replies::All,
            Replies::All | Replies::None => {}
        }
        dropped
    }
}
