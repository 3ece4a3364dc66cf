//! The events of commands that have different events for different requests:
//! `EventRule::ByRequest`.

use std::collections::HashMap;

use skein_syntax::number::parse_i64;

use super::EventClass::{self, Generic, List, New, Set, SortedSet, Stream, String};
use super::changes::ChangeLog;
use super::event_rules::changed;
use super::watch::WatchedKey;
use crate::command_table::{COMMANDS, find, is};
use crate::resp::Args;

/// Returns the key of this name, if the command has changed it.
fn changed_key<'k, 'a>(keys: &'k [WatchedKey<'a>], name: &[u8]) -> Option<&'k WatchedKey<'a>> {
    changed(keys).find(|key| key.key == name)
}

pub(crate) fn set(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    let expires = args.from(3).any(|word| ["EX", "PX", "EXAT", "PXAT"].iter().any(|unit| is(word, unit)));
    if expires {
        set_with_expiry(args, keys, log);
    } else {
        changed(keys).for_each(|key| key.note_change(String, "set", log));
    }
}

pub(crate) fn set_with_expiry(_: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    changed(keys).for_each(|key| key.note_replacement(&[(String, "set"), (Generic, "expire")], log));
}

pub(crate) fn got_and_expires(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    let persists = args.from(2).any(|word| is(word, "PERSIST"));
    let name = if persists { "persist" } else { "expire" };
    changed(keys).for_each(|key| key.note_replacement(&[(Generic, name)], log));
}

/// Notes an event for each pair of MSET, also if pairs have the same key.
pub(crate) fn set_several(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    let mut new: HashMap<&[u8], &WatchedKey<'_>> = changed(keys).map(|key| (key.key, key)).collect();
    if new.is_empty() {
        return;
    }
    for name in args.from(1).step_by(2) {
        if let Some(key) = new.remove(name) {
            key.note_new(log);
        }
        log.event(String, "set", name);
    }
}

pub(crate) fn copied(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    if let Some(to) = changed_key(keys, args.get(2)) {
        // Redis removes a key that is replaced, without an event.
        log.event(New, "new", to.key);
        log.event(Generic, "copy_to", to.key);
    }
}

/// The key in the other database is the last argument (`stored_request`).
pub(crate) fn moved_to_database(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    if args.len() > 3 && changed_key(keys, args.get(1)).is_some() {
        log.event(New, "new", args.get(3));
        log.event(Generic, "move_from", args.get(1));
        log.event(Generic, "move_to", args.get(3));
    }
}

pub(crate) fn restored(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    match changed_key(keys, args.get(1)) {
        Some(key) if key.exists() => {
            log.event(New, "new", key.key);
            log.event(Generic, "restore", key.key);
        }
        Some(key) => key.note_gone(log),
        None => {}
    }
}

pub(crate) fn merged(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    if let Some(to) = keys.iter().find(|key| key.key == args.get(1) && key.exists()) {
        to.note_change(String, "pfadd", log);
    }
}

pub(crate) fn renamed(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    if changed_key(keys, args.get(1)).is_some() {
        log.event(New, "new", args.get(2));
        log.event(Generic, "rename_from", args.get(1));
        log.event(Generic, "rename_to", args.get(2));
    }
}

pub(crate) fn moved_member(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    if let Some(from) = changed_key(keys, args.get(1)) {
        from.note_change(Set, "srem", log);
    }
    if let Some(to) = changed_key(keys, args.get(2)).filter(|_| args.get(1) != args.get(2)) {
        to.note_change(Set, "sadd", log);
    }
}

pub(crate) fn moved_to_front(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    moved(args, keys, ["rpop", "lpush"], log);
}

pub(crate) fn moved_between_ends(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    let pop = if is(args.get(3), "LEFT") { "lpop" } else { "rpop" };
    let push = if is(args.get(4), "LEFT") { "lpush" } else { "rpush" };
    moved(args, keys, [pop, push], log);
}

/// Notes the events of a moved element: Redis tells of the push first.
fn moved(args: &Args, keys: &[WatchedKey<'_>], [pop, push]: [&'static str; 2], log: &mut ChangeLog) {
    let (from, to) = (args.get(1), args.get(2));
    if from == to {
        // A list of one element is as it was.
        if keys.iter().any(WatchedKey::existed) {
            log.event(List, push, to);
            log.event(List, pop, from);
        }
        return;
    }
    let (Some(from), Some(to)) = (changed_key(keys, from), changed_key(keys, to)) else { return };
    to.note_change(List, push, log);
    from.note_change(List, pop, log);
}

pub(crate) fn popped_from_lists(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    popped(args, keys, List, [("LEFT", "lpop"), ("RIGHT", "rpop")], log);
}

pub(crate) fn popped_from_sorted_sets(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    popped(args, keys, SortedSet, [("MIN", "zpopmin"), ("MAX", "zpopmax")], log);
}

/// Notes the event that belongs to the word after the keys.
fn popped(
    args: &Args,
    keys: &[WatchedKey<'_>],
    class: EventClass,
    names: [(&str, &'static str); 2],
    log: &mut ChangeLog,
) {
    let Some(command) = find(args.get(0)) else { return };
    let count_at = COMMANDS[command].key_count;
    let count = parse_i64(args.get(count_at)).and_then(|count| usize::try_from(count).ok());
    let word = count.and_then(|count| args.from(count_at).nth(count.saturating_add(1)));
    let name = names.into_iter().find(|(known, _)| word.is_some_and(|word| is(word, known)));
    if let Some((_, name)) = name {
        changed(keys).for_each(|key| key.note_change(class, name, log));
    }
}

pub(crate) fn changed_group(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    let names = [
        ("CREATE", "xgroup-create"),
        ("SETID", "xgroup-setid"),
        ("DESTROY", "xgroup-destroy"),
        ("CREATECONSUMER", "xgroup-createconsumer"),
        ("DELCONSUMER", "xgroup-delconsumer"),
    ];
    if let Some((_, name)) = names.into_iter().find(|(known, _)| is(args.get(1), known)) {
        changed(keys).for_each(|key| key.note_change(Stream, name, log));
    }
}

pub(crate) fn added_to_sorted_set(args: &Args, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    const OPTIONS: [&str; 6] = ["NX", "XX", "GT", "LT", "CH", "INCR"];
    let mut options = args.from(2).take_while(|word| OPTIONS.iter().any(|option| is(word, option)));
    let name = if options.any(|word| is(word, "INCR")) { "zincr" } else { "zadd" };
    changed(keys).for_each(|key| key.note_change(SortedSet, name, log));
}
