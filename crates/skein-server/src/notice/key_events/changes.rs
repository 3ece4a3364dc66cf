//! The log of changes by requests, until it is published.
//!
//! ```text
//!   begin ─► the command runs ─► end: entries ─► … ─► commit ─► publish
//!                                     └─ undo: removes those that are not kept
//! ```
//!
//! A transaction's changes are told together, at its end. So a client that reads a key after it has
//! changed it in the same transaction begins to track the key after that: `Read`.

use std::collections::BTreeSet;

use super::event_rules::EventRule;
use super::watch::{CommandWatch, KeyStates};
use super::{EventClass, KeyObserver, ObservedLevel, WriteOrder};
use crate::command_table::Command;
use crate::resp::Args;
use skein_data::{EngineKeys, KeyState, name_within};

/// The client of a change that no client has made: a key has expired, or was evicted. Clients that
/// do not hear of their own changes (NOLOOP) hear of these.
const NOBODY: u64 = 0;

/// The changes of some requests, if clients observe keys.
#[derive(Debug, Default)]
pub(crate) struct KeyChanges(Option<Box<ChangeLog>>);

/// The events, in order.
#[derive(Debug)]
pub(crate) struct ChangeLog {
    level: ObservedLevel,
    /// The client that runs the requests.
    client: u64,
    entries: Vec<ChangeEntry>,
    /// The number of entries that cannot be undone.
    kept: usize,
    /// Whether there has been an entry `Changed` or `Flushed`.
    has_changed: bool,
}

#[derive(Debug)]
enum ChangeEntry {
    /// An event to publish.
    Event { class: EventClass, name: &'static str, key: Box<[u8]> },
    /// The key has changed, by this client, or by [`NOBODY`].
    Changed { key: Box<[u8]>, client: u64 },
    /// A request has met a key that has expired. It is removed when this is published.
    Overdue { key: Box<[u8]> },
    /// All keys were removed.
    Flushed,
    /// The client has read these names, and tracks them. It is told only of later changes.
    Read { names: Vec<Box<[u8]>>, most: usize },
}

impl ChangeLog {
    /// Returns whether changes of keys and keys that have expired matter.
    pub(super) fn level(&self) -> ObservedLevel {
        self.level
    }

    pub(super) fn event(&mut self, class: EventClass, name: &'static str, key: &[u8]) {
        if self.level.has(class) {
            self.entries.push(ChangeEntry::Event { class, name, key: key.into() });
        }
    }

    pub(super) fn changed(&mut self, key: &[u8]) {
        if self.level.tracks() {
            self.has_changed = true;
            self.entries.push(ChangeEntry::Changed { key: key.into(), client: self.client });
        }
    }

    /// Notes that a key had expired before a request wrote it. As in Redis, no client has done
    /// that.
    pub(super) fn expired(&mut self, key: &[u8]) {
        if self.level.tracks() {
            self.has_changed = true;
            self.entries.push(ChangeEntry::Changed { key: key.into(), client: NOBODY });
        }
    }

    pub(super) fn overdue(&mut self, key: &[u8]) {
        if self.level.wants_expired() {
            self.entries.push(ChangeEntry::Overdue { key: key.into() });
        }
    }
}

impl KeyChanges {
    /// Returns an empty log for the requests of a client.
    #[inline]
    pub(crate) fn of(observer: &KeyObserver, client: u64) -> Self {
        let level = observer.level();
        let log = || Box::new(ChangeLog { level, client, entries: Vec::new(), kept: 0, has_changed: false });
        Self(level.is_on().then(log))
    }

    /// Returns whether clients observe keys.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Returns whether all changes were published, if clients observe keys.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|log| log.entries.is_empty())
    }

    /// Sets the client that runs the requests from now on.
    pub(crate) fn set_client(&mut self, client: u64) {
        if let Some(log) = &mut self.0 {
            log.client = client;
        }
    }

    /// Looks at the keys of a request before it runs. REQUIRES: the caller may write
    /// (`KeyObserver`, invariant 1), or the request only reads.
    pub(crate) fn begin<'a>(
        &mut self,
        keys: &mut impl KeyStates,
        command: &'static Command,
        args: &Args<'a>,
    ) -> Option<CommandWatch<'a>> {
        let level = self.0.as_ref()?.level;
        CommandWatch::begin(keys, command, args, level)
    }

    /// Looks at keys before they are removed.
    pub(crate) fn begin_removal<'a>(
        &mut self,
        keys: &mut impl KeyStates,
        removed: impl Iterator<Item = &'a [u8]>,
    ) -> Option<CommandWatch<'a>> {
        self.0.as_ref()?;
        Some(CommandWatch::of(EventRule::REMOVED, keys, removed))
    }

    /// Looks again, after the request, and notes the differences.
    pub(crate) fn end(
        &mut self,
        watch: Option<CommandWatch<'_>>,
        keys: &mut impl KeyStates,
        succeeded: bool,
    ) {
        if let (Some(log), Some(watch)) = (&mut self.0, watch) {
            watch.end(keys, log, succeeded);
        }
    }

    /// Notes a read that has found no key.
    pub(crate) fn missed(&mut self, key: &[u8]) {
        if let Some(log) = &mut self.0 {
            log.overdue(key);
            log.event(EventClass::Miss, "keymiss", key);
        }
    }

    /// Notes keys that were evicted. They cannot be undone.
    #[inline]
    pub(crate) fn evicted(&mut self, keys: &[Vec<u8>]) {
        let Some(log) = &mut self.0 else { return };
        let client = std::mem::replace(&mut log.client, NOBODY);
        for key in keys {
            log.changed(key);
            log.event(EventClass::Evicted, "evicted", key);
        }
        (log.client, log.kept) = (client, log.entries.len());
    }

    /// Notes that a client tracks the names that it reads, if its transaction has changed keys
    /// before. Otherwise returns false, and the caller remembers the names itself.
    pub(crate) fn read_later(&mut self, names: &[&[u8]], most: usize) -> bool {
        let Some(log) = self.0.as_mut().filter(|log| log.has_changed) else { return false };
        let names = names.iter().map(|name| Box::from(*name)).collect();
        log.entries.push(ChangeEntry::Read { names, most });
        true
    }

    /// Notes that all keys were removed.
    pub(crate) fn flushed(&mut self) {
        if let Some(log) = &mut self.0 {
            log.has_changed = true;
            log.entries.push(ChangeEntry::Flushed);
        }
    }

    /// Marks the entries so far as those that cannot be undone.
    #[inline]
    pub(crate) fn keep(&mut self) {
        if let Some(log) = &mut self.0 {
            log.kept = log.entries.len();
        }
    }

    /// Removes the entries that can be undone.
    pub(crate) fn undo(&mut self) {
        if let Some(log) = &mut self.0 {
            log.entries.truncate(log.kept);
        }
    }

    /// Removes the writes of a transaction that was undone. Its reads stay, and so do entries that
    /// cannot be undone.
    pub(crate) fn undo_writes(&mut self) {
        if let Some(log) = &mut self.0 {
            let mut kept = log.kept;
            log.entries.retain(|entry| match entry {
                _ if kept > 0 => {
                    kept -= 1;
                    true
                }
                ChangeEntry::Overdue { .. } | ChangeEntry::Read { .. } => true,
                ChangeEntry::Event { class, .. } => *class == EventClass::Miss,
                ChangeEntry::Changed { .. } | ChangeEntry::Flushed => false,
            });
        }
    }

    /// Publishes all entries. REQUIRES: the caller has the right to write.
    pub(crate) fn publish_in_order(&mut self, keys: &mut EngineKeys, observer: &KeyObserver) {
        if let Some(log) = &mut self.0
            && !log.entries.is_empty()
        {
            log.publish(keys, observer);
        }
    }

    /// Publishes all entries. Acquires the right to write, unless the caller has it.
    #[inline]
    pub(crate) fn publish(
        &mut self,
        keys: &mut EngineKeys,
        observer: &KeyObserver,
        order: Option<&WriteOrder<'_>>,
    ) {
        if let Some(log) = &mut self.0
            && !log.entries.is_empty()
        {
            let _own = order.is_none().then(|| observer.order());
            log.publish(keys, observer);
        }
    }
}

impl ChangeLog {
    #[cold]
    fn publish(&mut self, keys: &mut EngineKeys, observer: &KeyObserver) {
        (self.kept, self.has_changed) = (0, false);
        let mut untold = UntoldChanges { client: self.client, ..UntoldChanges::default() };
        for entry in std::mem::take(&mut self.entries) {
            match entry {
                ChangeEntry::Event { class, name, key } => observer.notify(self.level, class, name, &key),
                ChangeEntry::Changed { key, client } => untold.add(key, client, observer),
                ChangeEntry::Overdue { key } => {
                    if remove_expired(keys, &key) {
                        observer.notify(self.level, EventClass::Expired, "expired", &key);
                        untold.add(key, NOBODY, observer);
                    }
                }
                ChangeEntry::Flushed => {
                    untold.tell(observer);
                    observer.tracking.invalidate_all();
                }
                ChangeEntry::Read { names, most } => {
                    untold.reads.extend(names);
                    untold.most = most;
                }
            }
        }
        untold.tell(observer);
    }
}

/// Changes that are to be told together, and names that the client has read after them.
#[derive(Default)]
struct UntoldChanges {
    changed: Vec<(Box<[u8]>, u64)>,
    client: u64,
    reads: BTreeSet<Box<[u8]>>,
    most: usize,
}

impl UntoldChanges {
    /// Adds a change. If it is later than a read of the key, the client must hear of it.
    fn add(&mut self, key: Box<[u8]>, client: u64, observer: &KeyObserver) {
        if self.reads.contains(name_within(&key)) {
            self.tell(observer);
        }
        self.changed.push((key, client));
    }

    /// Tells the changes, then remembers the reads.
    fn tell(&mut self, observer: &KeyObserver) {
        observer.tracking.invalidate(std::mem::take(&mut self.changed));
        let reads = std::mem::take(&mut self.reads);
        if !reads.is_empty() {
            observer.tracking.remember(reads.iter().map(|name| &**name), self.client, self.most);
        }
    }
}

/// Removes a key if it has expired. Returns whether it was removed. A thread of the engine removes
/// it later if this fails.
fn remove_expired(keys: &mut EngineKeys, key: &[u8]) -> bool {
    if keys.key_state(key) != KeyState::Expired {
        return false;
    }
    let (removed, ticket) = keys.write(|writer| writer.remove_expired(key));
    if ticket.epoch > 0 {
        keys.engine().request_durable(ticket);
    }
    matches!(removed, Ok(Ok(true)))
}

/// Returns whether a request can change keys, or read absent ones, so that clients may observe it.
pub(super) fn concerns_keys(command: &Command) -> bool {
    command.names_keys() && !matches!(command.event, EventRule::Never)
}
