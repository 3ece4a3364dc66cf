//! The comparison of the states of keys before and after a command.

use std::collections::HashSet;

use super::changes::{ChangeLog, concerns_keys};
use super::event_rules::{EventRule, missed_keys};
use super::stream_watch::StreamWatch;
use super::{EventClass, ObservedLevel};
use crate::command_table::Command;
use crate::command_table::request_keys::keys_of;
use crate::resp::Args;
use skein_data::{EngineKeys, EngineWriter, Error, KeyState};

/// More keys than this are compared by their hashes to find those that are named twice.
const FEW: usize = 8;

/// Keys with readable states.
pub(crate) trait KeyStates {
    fn state(&mut self, key: &[u8]) -> KeyState;

    /// Returns the number of entries of a stream; 0 if the key holds none.
    fn stream_len(&mut self, key: &[u8]) -> u64;

    /// Returns whether a group of a stream has a consumer.
    fn has_consumer(&mut self, key: &[u8], group: &[u8], consumer: &[u8]) -> bool;
}

impl KeyStates for EngineKeys<'_> {
    fn state(&mut self, key: &[u8]) -> KeyState {
        self.key_state(key)
    }

    fn stream_len(&mut self, key: &[u8]) -> u64 {
        self.get_with(key, |row| row.ok()??.stream(|stream| stream.len()).ok()?).unwrap_or(0)
    }

    fn has_consumer(&mut self, key: &[u8], group: &[u8], consumer: &[u8]) -> bool {
        self.get_with(key, |row| {
            let found = row.ok()??.stream(|stream| stream.has_consumer(group, consumer));
            found.ok()??.ok()
        })
        .unwrap_or(false)
    }
}

/// A change that changes nothing is no write.
impl KeyStates for EngineWriter<'_, '_> {
    fn state(&mut self, key: &[u8]) -> KeyState {
        self.key_state(key)
    }

    fn stream_len(&mut self, key: &[u8]) -> u64 {
        let len = self.change_stream(key, false, |stream| Ok::<_, Error>(stream.len()));
        len.ok().flatten().unwrap_or(0)
    }

    fn has_consumer(&mut self, key: &[u8], group: &[u8], consumer: &[u8]) -> bool {
        let has =
            self.change_stream(key, false, |stream| Ok::<_, Error>(stream.has_consumer(group, consumer)?));
        has.ok().flatten().unwrap_or(false)
    }
}

/// A key of a request, and its state before and after.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WatchedKey<'a> {
    pub key: &'a [u8],
    pub before: KeyState,
    pub after: KeyState,
}

impl WatchedKey<'_> {
    pub(super) fn has_changed(&self) -> bool {
        self.before.differs(self.after)
    }

    pub(super) fn existed(&self) -> bool {
        self.before.is_present()
    }

    /// Returns whether there is a row now. A key that was set with a time in the past has expired
    /// at once.
    pub(super) fn exists(&self) -> bool {
        self.after.is_present() || self.after == KeyState::Expired && self.before != KeyState::Expired
    }
}

/// The keys of a request that runs.
pub(crate) struct CommandWatch<'a> {
    rule: EventRule,
    request: Option<(&'static Command, Args<'a>)>,
    /// Each key once, in the order of the request.
    keys: Vec<WatchedKey<'a>>,
    /// Present if clients observe streams, and the command changes more than its events tell.
    streams: Option<StreamWatch<'a>>,
}

impl<'a> CommandWatch<'a> {
    /// Looks at the keys of a request. Returns `None` if no client can observe it.
    pub(super) fn begin(
        keys: &mut impl KeyStates,
        command: &'static Command,
        args: &Args<'a>,
        level: ObservedLevel,
    ) -> Option<Self> {
        if !concerns_keys(command) {
            return None;
        }
        let named = keys_of(command, args)?.all();
        let watch = Self::of(command.event, keys, named.into_iter());
        let streams =
            level.has(EventClass::Stream).then(|| StreamWatch::begin(command, args, keys, &watch.keys));
        Some(Self { request: Some((command, *args)), streams: streams.flatten(), ..watch })
    }

    /// Looks at some keys.
    pub(super) fn of(
        rule: EventRule,
        keys: &mut impl KeyStates,
        named: impl Iterator<Item = &'a [u8]>,
    ) -> Self {
        let mut found: Vec<WatchedKey<'a>> = Vec::new();
        let mut seen: HashSet<&[u8]> = HashSet::new();
        for key in named {
            let is_new = if found.len() < FEW {
                found.iter().all(|other| other.key != key)
            } else {
                if seen.is_empty() {
                    seen.extend(found.iter().map(|other| other.key));
                }
                seen.insert(key)
            };
            if is_new {
                found.push(WatchedKey { key, before: keys.state(key), after: KeyState::Absent });
            }
        }
        Self { rule, request: None, keys: found, streams: None }
    }

    /// Looks at the keys again, and notes the events in Redis's order: keys that had expired, reads
    /// of absent keys, and the changes of the command.
    pub(super) fn end(mut self, keys: &mut impl KeyStates, log: &mut ChangeLog, succeeded: bool) {
        let reads = matches!(self.rule, EventRule::Reads);
        for watched in &mut self.keys {
            // Others may write beside a read, and their changes are not the reader's.
            watched.after = if reads { watched.before } else { keys.state(watched.key) };
            if watched.has_changed() {
                let had_expired = watched.before == KeyState::Expired;
                if had_expired {
                    log.expired(watched.key);
                }
                if !(had_expired && watched.after == KeyState::Absent) {
                    log.changed(watched.key);
                }
            }
        }
        self.note_expired(log);
        if succeeded && log.level().has(EventClass::Miss) {
            self.note_misses(log);
        }
        let args = self.request.as_ref().map(|(_, args)| args);
        self.rule.note(args, &self.keys, succeeded, log);
        if let Some(streams) = self.streams {
            streams.end(keys, &self.keys, log);
        }
    }

    fn note_misses(&self, log: &mut ChangeLog) {
        let Some((command, args)) = &self.request else { return };
        let absent = self.keys.iter().filter(|watched| !watched.existed());
        let absent: HashSet<&[u8]> = absent.map(|watched| watched.key).collect();
        let missed = missed_keys(command, args).into_iter().filter(|key| absent.contains(key));
        missed.for_each(|key| log.event(EventClass::Miss, "keymiss", key));
    }

    fn note_expired(&self, log: &mut ChangeLog) {
        for watched in self.keys.iter().filter(|watched| watched.before == KeyState::Expired) {
            if watched.after == KeyState::Expired {
                log.overdue(watched.key);
            } else {
                log.event(EventClass::Expired, "expired", watched.key);
            }
        }
    }
}
