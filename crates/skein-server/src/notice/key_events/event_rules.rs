//! The events of each command, from the states of its keys before and after. The row of a command
//! has its rule.
//!
//! ```text
//!   before    after     LPOP, SREM, HDEL …    DEL, EXPIRE, SUNIONSTORE …
//!   absent    present   new, its own event    new, its own event
//!   present   changed   its own event         its own event
//!   present   absent    its own event, del    del
//! ```
//!
//! Source: the calls of `notifyKeyspaceEvent` in Redis 7.0.15.

use super::EventClass::{self, Generic, New};
use super::changes::ChangeLog;
use super::watch::WatchedKey;
use crate::command_table::request_keys::keys_of;
use crate::command_table::{Command, KeyLookup, has_word};
use crate::resp::Args;

/// The events of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EventRule {
    /// The command changes no key.
    Reads,
    /// The command does not even look for its keys.
    Never,
    /// The command changes keys without an event of its own.
    Silent,
    /// This event, then `del` if the command has removed the key.
    Changed(EventClass, &'static str),
    /// The same, even if the command has left the key as it was.
    Touched(EventClass, &'static str),
    /// This event, or `del` instead if the command has removed the key.
    Replaced(EventClass, &'static str),
    /// The events depend on the request.
    ByRequest(fn(&Args, &[WatchedKey<'_>], &mut ChangeLog)),
}

use EventRule::{ByRequest, Changed, Never, Reads, Replaced, Silent, Touched};

/// Returns each key with an event for its absence, as often as the command looks for the key.
pub(super) fn missed_keys<'a>(command: &Command, args: &Args<'a>) -> Vec<&'a [u8]> {
    let is_missed = |flags: &str| match command.lookup {
        KeyLookup::ByAccess => has_word(flags, "RO"),
        KeyLookup::AsReader => !has_word(flags, "OW"),
        KeyLookup::Unnoticed => false,
    };
    let Some([first, others]) = command.key_uses(args).map(|uses| uses.map(is_missed)) else {
        return Vec::new();
    };
    let Some(keys) = keys_of(command, args) else { return Vec::new() };
    let all = keys.placed.into_iter().chain(keys.counted).enumerate();
    all.filter(|(at, _)| if *at == 0 { first } else { others }).map(|(_, key)| key).collect()
}

impl EventRule {
    /// Keys are removed, and nothing else.
    pub(crate) const REMOVED: Self = Replaced(Generic, "del");

    /// Notes the events of a command.
    pub(super) fn note(
        self,
        args: Option<&Args>,
        keys: &[WatchedKey<'_>],
        succeeded: bool,
        log: &mut ChangeLog,
    ) {
        match (self, args) {
            (Changed(class, name), _) => {
                changed(keys).for_each(|key| key.note_change(class, name, log));
            }
            (Touched(class, name), _) => {
                let touched = |key: &&WatchedKey<'_>| succeeded && key.exists() || key.is_live_change();
                keys.iter().filter(touched).for_each(|key| key.note_change(class, name, log));
            }
            (Replaced(class, name), _) => {
                changed(keys).for_each(|key| key.note_replacement(&[(class, name)], log));
            }
            (ByRequest(note), Some(args)) if succeeded || changed(keys).next().is_some() => {
                note(args, keys, log);
            }
            (ByRequest(_) | Silent | Reads | Never, _) => {}
        }
    }
}

pub(super) fn changed<'k, 'a>(keys: &'k [WatchedKey<'a>]) -> impl Iterator<Item = &'k WatchedKey<'a>> {
    keys.iter().filter(|key| key.is_live_change())
}

impl WatchedKey<'_> {
    /// Returns whether clients see a change.
    fn is_live_change(&self) -> bool {
        self.has_changed() && (self.existed() || self.exists())
    }

    pub(super) fn note_new(&self, log: &mut ChangeLog) {
        if !self.existed() && self.exists() {
            log.event(New, "new", self.key);
        }
    }

    pub(super) fn note_gone(&self, log: &mut ChangeLog) {
        if self.existed() && !self.exists() {
            log.event(Generic, "del", self.key);
        }
    }

    pub(super) fn note_change(&self, class: EventClass, name: &'static str, log: &mut ChangeLog) {
        self.note_new(log);
        log.event(class, name, self.key);
        self.note_gone(log);
    }

    pub(super) fn note_replacement(&self, events: &[(EventClass, &'static str)], log: &mut ChangeLog) {
        self.note_new(log);
        if self.exists() {
            for (class, name) in events {
                log.event(*class, name, self.key);
            }
        }
        self.note_gone(log);
    }
}
