//! The comparison of the states of keys before and after a command.

use std::collections::HashSet;

use super::EventClass;
use super::changes::{ChangeLog, concerns_keys};
use super::event_rules::{EventRule, missed_keys, rule_of};
use crate::command_table::CommandSpec;
use crate::command_table::request_keys::keys_of;
use crate::resp::RequestArgs;
use skein_data::{EngineKeys, EngineWriter, KeyState};

/// More keys than this are compared by their hashes to find those that are named twice.
const FEW: usize = 8;

/// Keys whose states can be read.
pub(crate) trait KeyStates {
    fn state(&mut self, key: &[u8]) -> KeyState;
}

impl KeyStates for EngineKeys<'_> {
    fn state(&mut self, key: &[u8]) -> KeyState {
        self.key_state(key)
    }
}

impl KeyStates for EngineWriter<'_, '_> {
    fn state(&mut self, key: &[u8]) -> KeyState {
        self.key_state(key)
    }
}

/// A key of a request, and its state before and after.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchedKey<'a> {
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
    request: Option<(&'static CommandSpec, RequestArgs<'a>)>,
    /// Each key once, in the order of the request.
    keys: Vec<WatchedKey<'a>>,
}

impl<'a> CommandWatch<'a> {
    /// Looks at the keys of a request. Returns `None` if it cannot concern anybody.
    pub(super) fn begin(
        keys: &mut impl KeyStates,
        command: &'static CommandSpec,
        args: &RequestArgs<'a>,
    ) -> Option<Self> {
        if !concerns_keys(command) {
            return None;
        }
        let named = keys_of(command, args)?.all();
        let watch = Self::of(rule_of(command), keys, named.into_iter());
        Some(Self { request: Some((command, *args)), ..watch })
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
        Self { rule, request: None, keys: found }
    }

    /// Looks at the keys again, and notes what has happened to them, in Redis's order: keys that
    /// had expired, reads of absent keys, and the changes of the command.
    pub(super) fn end(mut self, keys: &mut impl KeyStates, log: &mut ChangeLog, succeeded: bool) {
        let reads = matches!(self.rule, EventRule::Reads);
        for watched in &mut self.keys {
            // Others may write beside a read, and their changes are not the reader's.
            watched.after = if reads { watched.before } else { keys.state(watched.key) };
            if watched.has_changed() {
                log.changed(watched.key);
            }
        }
        self.note_expired(log);
        if succeeded && log.level().has(EventClass::Miss) {
            self.note_misses(log);
        }
        let args = self.request.as_ref().map(|(_, args)| args);
        self.rule.note(args, &self.keys, succeeded, log);
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
