//! A client as its worker sees it: its user and rights, and the state of its MULTI, WATCH and
//! CLIENT REPLY. `subscriptions` has its channels, `tracking` the options of CLIENT TRACKING,
//! `watched` the keys of WATCH, `snapshot` the snapshot that it holds.

mod snapshot;
mod subscriptions;
mod tracking;
mod watched;

use std::sync::Arc;

use crate::acl::{Acl, AclUser, AclUsers, DEFAULT, Denial};
use crate::clients::client_registry::{ClientAttributes, ClientRecord};
use crate::command_table::{Command, ResolvedTag};
use crate::notice::channels::ChannelKind;
use crate::observe::worker_counters::Lookups;
use crate::request::databases::Databases;
use crate::resp::{Args, Protocol, RequestQueue};
use skein_data::StoredKeyspace;
use snapshot::ClientSnapshot;
pub(crate) use snapshot::HeldSnapshot;
pub(crate) use subscriptions::ClientSubscriptions;
pub(crate) use tracking::ClientTracking;
use watched::WatchedKeys;

/// The replies that a client wants, as set with CLIENT REPLY. The flags are Redis's and independent
/// of each other: within a transaction, one request may turn replies off and the next may turn them
/// on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ReplyMode(u8);

impl ReplyMode {
    const OFF: u8 = 1;
    /// The current command is not answered.
    const SKIP: u8 = 2;
    const SKIP_NEXT: u8 = 4;
    /// The current reply has only wanted parts: those of a transaction, or of a subscription.
    const CHOSEN: u8 = 8;

    /// Returns whether all replies are wanted.
    #[inline]
    pub(crate) fn are_all(self) -> bool {
        self == Self::default()
    }

    /// Returns whether the current reply is dropped.
    pub(crate) fn are_muted(self) -> bool {
        self.0 & (Self::OFF | Self::SKIP) != 0
    }

    /// Turns replies on: CLIENT REPLY ON.
    pub(crate) fn turn_on(&mut self) {
        self.0 &= !(Self::OFF | Self::SKIP);
    }

    /// Turns replies off: CLIENT REPLY OFF.
    pub(crate) fn turn_off(&mut self) {
        self.0 |= Self::OFF;
    }

    /// Drops the next reply: CLIENT REPLY SKIP. Has no effect while all replies are off.
    pub(crate) fn skip_next(&mut self) {
        if self.0 & Self::OFF == 0 {
            self.0 |= Self::SKIP_NEXT;
        }
    }

    /// Restores the replies of a new connection, for RESET. Like any command, RESET is not answered
    /// if it is skipped.
    pub(crate) fn reset(&mut self) {
        self.0 &= Self::SKIP;
    }

    /// Keeps the reply to the current command, regardless of the mode.
    pub(crate) fn keep_parts(&mut self) {
        self.0 |= Self::CHOSEN;
    }

    /// Ends a command that began in mode `before`. Returns whether its reply must be dropped.
    fn end_command(&mut self, before: Self) -> bool {
        let dropped = before.are_muted() && self.are_muted() && self.0 & Self::CHOSEN == 0;
        let next = if self.0 & Self::SKIP_NEXT == 0 { 0 } else { Self::SKIP };
        self.0 = self.0 & Self::OFF | next;
        dropped
    }
}

/// A client as commands see it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, most of them from different commands")]
pub(crate) struct ClientState {
    /// Increases from 1 and is never reused.
    pub id: u64,
    pub protocol: Protocol,
    /// Whether the client has logged in, or need not.
    pub authenticated: bool,
    /// Whether the client need not log in if the default user has no password (see
    /// `ServerOptions::trusts`).
    trusted: bool,
    rights: ClientRights,
    /// The requests queued since MULTI.
    pub multi: Option<Box<Multi>>,
    /// The keys watched since WATCH.
    pub watched: WatchedKeys,
    /// The snapshot that the client holds.
    pub snapshot: ClientSnapshot,
    pub subscriptions: ClientSubscriptions,
    /// Present while the client tracks keys.
    pub tracking: Option<Box<ClientTracking>>,
    pub replies: ReplyMode,
    /// Hits and misses of a request that runs by itself.
    pub lookups: Lookups,
    /// The reply is the error of a command of a script, which was counted when that command ran.
    pub error_is_counted: bool,
    /// Whether the client receives all requests (MONITOR).
    pub monitors: bool,
    /// The record of the client that other threads see.
    pub record: Arc<ClientRecord>,
    databases: Arc<Databases>,
    /// The selected database.
    database: u32,
    /// The bytes of its name and the other attributes it has set.
    attribute_bytes: usize,
}

/// The requests that a client has queued since its MULTI.
#[derive(Debug, Default)]
pub(crate) struct Multi {
    pub queue: RequestQueue,
    /// A request could not be queued, so EXEC will run none of them.
    pub spoiled: bool,
}

impl Multi {
    /// Returns the queued requests with their commands.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (&'static Command, Args<'_>)> {
        // Only requests of commands are queued.
        self.queue.iter().filter_map(|(tag, args)| Some((ResolvedTag::of(tag).command()?, args)))
    }
}

/// The rights of a client.
#[derive(Debug)]
struct ClientRights {
    user: Arc<AclUser>,
    /// The version of all users when this user was looked up.
    version: u64,
    /// Whether some request is not allowed.
    restricted: bool,
}

impl ClientRights {
    fn of(user: Arc<AclUser>, version: u64) -> Self {
        Self { version, restricted: !user.is_unrestricted(), user }
    }
}

impl ClientState {
    pub(crate) fn new(
        record: Arc<ClientRecord>,
        acl: &Acl,
        databases: &Arc<Databases>,
        trusted: bool,
    ) -> Self {
        let (protocol, replies) = (Protocol::default(), ReplyMode::default());
        let (multi, watched) = (None, WatchedKeys::default());
        let version = acl.users.version();
        let user = acl.users.default_user();
        record.attributes().user.clone_from(&user.name);
        let authenticated = user.is_open() && trusted;
        let rights = ClientRights::of(user, version);
        let (id, lookups, attribute_bytes) =
            (record.place.client, Lookups::default(), record.attributes().memory());
        Self {
            id,
            protocol,
            authenticated,
            trusted,
            rights,
            multi,
            watched,
            snapshot: ClientSnapshot::default(),
            subscriptions: ClientSubscriptions::default(),
            tracking: None,
            replies,
            lookups,
            error_is_counted: false,
            monitors: false,
            record,
            databases: Arc::clone(databases),
            database: 0,
            attribute_bytes,
        }
    }

    pub(crate) fn databases(&self) -> &Arc<Databases> {
        &self.databases
    }

    /// Returns the number of the selected database.
    #[inline]
    pub(crate) fn database(&self) -> u32 {
        self.database
    }

    /// Selects a database. `REQUIRES: database < DATABASES_MAX`
    pub(crate) fn select(&mut self, database: u32) {
        self.database = database;
        self.record.set_database(database);
    }

    /// Returns the keyspace of the selected database.
    #[inline]
    pub(crate) fn keyspace(&self) -> StoredKeyspace {
        self.databases.keyspace(self.database)
    }

    /// Changes the attributes that other clients see.
    pub(crate) fn set_attributes(&mut self, change: impl FnOnce(&mut ClientAttributes)) {
        let mut attributes = self.record.attributes();
        change(&mut attributes);
        self.attribute_bytes = attributes.memory();
    }

    /// Returns the bytes of the client besides its buffers.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let queued = self.multi.as_ref().map_or(0, |multi| multi.queue.memory());
        let tracking = self.tracking.as_ref().map_or(0, |tracking| tracking.memory());
        queued + self.watched.memory() + self.subscriptions.memory() + tracking + self.attribute_bytes
    }

    /// Returns the same client with its record at a worker.
    pub(crate) fn with_record(mut self, record: Arc<ClientRecord>) -> Self {
        record.attributes().clone_from(&self.record.attributes());
        record.set_protocol(self.protocol);
        record.set_database(self.database);
        self.record = record;
        self
    }

    pub(crate) fn user(&self) -> &AclUser {
        &self.rights.user
    }

    /// Logs in. Returns `false` if there is no such user, or the password is wrong.
    pub(crate) fn log_in(&mut self, users: &AclUsers, name: &[u8], password: &[u8]) -> bool {
        // The version is read before the user, so that no change between the two is missed.
        let version = users.version();
        // An absent password is not a secret, so it gives strangers no access.
        let open = |user: &AclUser| user.name == DEFAULT && user.is_open();
        let Some(user) = users.log_in(name, password).filter(|user| self.trusted || !open(user)) else {
            return false;
        };
        self.set_attributes(|attributes| attributes.user.clone_from(&user.name));
        self.rights = ClientRights::of(user, version);
        self.authenticated = true;
        true
    }

    /// Resets the user to that of a new connection.
    pub(crate) fn log_out(&mut self, users: &AclUsers) {
        let version = users.version();
        let user = users.default_user();
        self.set_attributes(|attributes| attributes.user.clone_from(&user.name));
        self.authenticated = user.is_open() && self.trusted;
        self.rights = ClientRights::of(user, version);
    }

    /// Updates the rights if any user has changed.
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
        // A removed user has no rights. Its clients are disconnected soon.
        let user = users.get(name).unwrap_or_else(|| Arc::new(AclUser::new(name)));
        self.rights = ClientRights::of(user, version);
        self.authenticated |= self.trusted && self.rights.user.name == DEFAULT && self.rights.user.is_open();
    }

    /// Returns whether the client may run this request for the command at this index of the table.
    #[inline]
    pub(crate) fn may<'a>(&self, command: u16, args: impl FnOnce() -> Args<'a>) -> bool {
        !self.rights.restricted || self.check(command, &args()).is_ok()
    }

    /// Does the same, and returns the reason for a denial.
    #[inline]
    pub(crate) fn check(&self, command: u16, args: &Args) -> Result<(), Denial> {
        if self.rights.restricted { self.rights.user.check(command.into(), args) } else { Ok(()) }
    }

    /// Returns whether reads and writes of this client may run in batches with those of others.
    /// Requests that are refused, queued or not answered must run by themselves, and so must
    /// requests with tracked keys.
    #[inline]
    pub(crate) fn runs_in_batches(&self) -> bool {
        self.authenticated
            && self.replies.are_all()
            && !self.in_multi()
            && !self.monitors
            && self.tracking.as_ref().is_none_or(|tracking| tracking.broadcast)
            && !self.only_subscribes()
    }

    /// Ends a request, after which CLIENT CACHING counts no more.
    #[inline]
    pub(crate) fn end_caching(&mut self) {
        if !self.in_multi()
            && let Some(tracking) = &mut self.tracking
        {
            tracking.caching = false;
        }
    }

    /// Returns whether the client may only send commands of subscriptions: in RESP2, replies and
    /// messages look the same.
    #[inline]
    pub(crate) fn only_subscribes(&self) -> bool {
        !self.subscriptions.is_empty() && self.protocol == Protocol::Resp2
    }

    /// Returns whether the user of the client may still read the channels that it has subscribed
    /// to.
    pub(crate) fn may_keep_subscriptions(&self) -> bool {
        !self.rights.restricted
            || ChannelKind::ALL.into_iter().all(|kind| {
                let names = self.subscriptions.of(kind).keys();
                let literally = kind == ChannelKind::Pattern;
                names.into_iter().all(|name| self.rights.user.may_read_channel(name, literally))
            })
    }

    /// Returns whether the client may run a request that reads keys which it does not name. The
    /// rights that allow the request must allow to read every key.
    pub(crate) fn may_read_all_keys_in(&self, command: usize, args: &Args) -> bool {
        !self.rights.restricted || self.rights.user.may_read_all_keys_in(command, args)
    }

    /// Shows the number of subscriptions to other clients.
    pub(crate) fn show_subscriptions(&self) {
        self.record.set_subscriptions(ChannelKind::ALL.map(|kind| self.subscriptions.of(kind).len()));
    }

    pub(crate) fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        self.record.set_protocol(protocol);
    }

    /// Ends a command that began with reply mode `before`. Returns whether its reply must be
    /// dropped.
    pub(crate) fn drops_reply(&mut self, before: ReplyMode) -> bool {
        self.replies.end_command(before)
    }

    /// Returns whether the client is between MULTI and its EXEC or DISCARD.
    #[inline]
    pub(crate) fn in_multi(&self) -> bool {
        self.multi.is_some()
    }

    /// Returns whether an EXEC of the client is running.
    pub(crate) fn in_exec(&self) -> bool {
        !self.in_multi() && self.record.queued().is_some()
    }

    /// Spoils the transaction, if there is one, because one of its requests was rejected.
    pub(crate) fn mark_multi_failed(&mut self) {
        if let Some(multi) = &mut self.multi {
            // The queue is no longer needed.
            **multi = Multi { spoiled: true, ..Multi::default() };
        }
    }

    /// Ends the transaction, if there is one, and clears the watched keys. For DISCARD and RESET.
    pub(crate) fn leave_multi(&mut self) -> Option<Box<Multi>> {
        self.watched.clear();
        self.record.set_queued(None);
        self.multi.take()
    }
}
