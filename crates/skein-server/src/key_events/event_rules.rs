//! The events of each command, from the states of its keys before and after.
//!
//! ```text
//!   before    after     LPOP, SREM, HDEL …    DEL, EXPIRE, SUNIONSTORE …
//!   absent    present   new, its own event    new, its own event
//!   present   changed   its own event         its own event
//!   present   absent    its own event, del    del
//! ```
//!
//! Source: the calls of `notifyKeyspaceEvent` in Redis 7.0.15.

use std::collections::HashMap;
use std::sync::LazyLock;

use skein_syntax::number::parse_i64;

use super::EventClass::{self, Generic, Hash, List, New, Set, SortedSet, Stream, String};
use super::changes::ChangeLog;
use super::watch::WatchedKey;
use crate::command_table::request_keys::keys_of;
use crate::command_table::{COMMANDS, CommandSpec, is};
use crate::resp::RequestArgs;

/// The events of a command.
#[derive(Debug, Clone, Copy)]
pub(super) enum EventRule {
    /// The command changes no key.
    Reads,
    /// The command does not even look for its keys.
    Never,
    /// The command changes keys without an event of its own.
    Silent,
    /// This event, then `del` if the key is gone.
    Changed(EventClass, &'static str),
    /// The same, even if the command has left the key as it was.
    Touched(EventClass, &'static str),
    /// This event, or `del` instead if the key is gone.
    Replaced(EventClass, &'static str),
    /// The events depend on the request.
    ByRequest(fn(&RequestArgs<'_>, &[WatchedKey<'_>], &mut ChangeLog)),
}

use EventRule::{ByRequest, Changed, Never, Reads, Replaced, Silent, Touched};

/// The rules of all commands that write, and of those that do not look for their keys.
const RULES: &[(&str, EventRule)] = &[
    ("append", Changed(String, "append")),
    ("bitfield", Changed(String, "setbit")),
    ("bitop", Replaced(String, "set")),
    ("blmove", ByRequest(moved_between_ends)),
    ("blmpop", ByRequest(popped_from_lists)),
    ("blpop", Changed(List, "lpop")),
    ("brpop", Changed(List, "rpop")),
    ("brpoplpush", ByRequest(moved_to_front)),
    ("bzmpop", ByRequest(popped_from_sorted_sets)),
    ("bzpopmax", Changed(SortedSet, "zpopmax")),
    ("bzpopmin", Changed(SortedSet, "zpopmin")),
    ("copy", ByRequest(copied)),
    ("decr", Changed(String, "incrby")),
    ("decrby", Changed(String, "incrby")),
    ("del", EventRule::REMOVED),
    ("expire", Replaced(Generic, "expire")),
    ("expireat", Replaced(Generic, "expire")),
    ("geoadd", Changed(SortedSet, "zadd")),
    ("georadius", Replaced(SortedSet, "georadiusstore")),
    ("georadiusbymember", Replaced(SortedSet, "georadiusstore")),
    ("geosearchstore", Replaced(SortedSet, "geosearchstore")),
    ("getdel", EventRule::REMOVED),
    ("getex", ByRequest(got_and_expires)),
    ("getset", Changed(String, "set")),
    ("hdel", Changed(Hash, "hdel")),
    ("hincrby", Changed(Hash, "hincrby")),
    ("hincrbyfloat", Changed(Hash, "hincrbyfloat")),
    ("hmset", Touched(Hash, "hset")),
    ("hset", Touched(Hash, "hset")),
    ("hsetnx", Changed(Hash, "hset")),
    ("incr", Changed(String, "incrby")),
    ("incrby", Changed(String, "incrby")),
    ("incrbyfloat", Changed(String, "incrbyfloat")),
    ("linsert", Changed(List, "linsert")),
    ("lmove", ByRequest(moved_between_ends)),
    ("lmpop", ByRequest(popped_from_lists)),
    ("lpop", Changed(List, "lpop")),
    ("lpush", Changed(List, "lpush")),
    ("lpushx", Changed(List, "lpush")),
    ("lrem", Changed(List, "lrem")),
    ("lset", Touched(List, "lset")),
    ("ltrim", Touched(List, "ltrim")),
    ("migrate", EventRule::REMOVED),
    ("move", ByRequest(moved_to_database)),
    ("mset", ByRequest(set_several)),
    ("msetnx", ByRequest(set_several)),
    ("persist", Changed(Generic, "persist")),
    ("pexpire", Replaced(Generic, "expire")),
    ("pexpireat", Replaced(Generic, "expire")),
    ("pfadd", Changed(String, "pfadd")),
    ("pfdebug", Silent),
    ("pfmerge", ByRequest(merged)),
    ("psetex", ByRequest(set_with_expiry)),
    ("rename", ByRequest(renamed)),
    ("renamenx", ByRequest(renamed)),
    ("restore", ByRequest(restored)),
    ("restore-asking", ByRequest(restored)),
    ("rpop", Changed(List, "rpop")),
    ("rpoplpush", ByRequest(moved_to_front)),
    ("rpush", Changed(List, "rpush")),
    ("rpushx", Changed(List, "rpush")),
    ("sadd", Changed(Set, "sadd")),
    ("sdiffstore", Replaced(Set, "sdiffstore")),
    ("set", ByRequest(set)),
    ("setbit", Changed(String, "setbit")),
    ("setex", ByRequest(set_with_expiry)),
    ("setnx", Changed(String, "set")),
    ("setrange", Changed(String, "setrange")),
    ("sinterstore", Replaced(Set, "sinterstore")),
    ("sk.cas", Changed(String, "set")),
    ("smove", ByRequest(moved_member)),
    ("sort", Replaced(List, "sortstore")),
    ("spop", Changed(Set, "spop")),
    ("srem", Changed(Set, "srem")),
    ("sunionstore", Replaced(Set, "sunionstore")),
    ("unlink", EventRule::REMOVED),
    ("watch", Never),
    ("xack", Silent),
    ("xadd", Changed(Stream, "xadd")),
    ("xautoclaim", Silent),
    ("xclaim", Silent),
    ("xdel", Changed(Stream, "xdel")),
    ("xgroup", ByRequest(changed_group)),
    ("xreadgroup", Silent),
    ("xsetid", Touched(Stream, "xsetid")),
    ("xtrim", Changed(Stream, "xtrim")),
    ("zadd", ByRequest(added_to_sorted_set)),
    ("zdiffstore", Replaced(SortedSet, "zdiffstore")),
    ("zincrby", Changed(SortedSet, "zincr")),
    ("zinterstore", Replaced(SortedSet, "zinterstore")),
    ("zmpop", ByRequest(popped_from_sorted_sets)),
    ("zpopmax", Changed(SortedSet, "zpopmax")),
    ("zpopmin", Changed(SortedSet, "zpopmin")),
    ("zrangestore", Replaced(SortedSet, "zrangestore")),
    ("zrem", Changed(SortedSet, "zrem")),
    ("zremrangebylex", Changed(SortedSet, "zremrangebylex")),
    ("zremrangebyrank", Changed(SortedSet, "zremrangebyrank")),
    ("zremrangebyscore", Changed(SortedSet, "zremrangebyscore")),
    ("zunionstore", Replaced(SortedSet, "zunionstore")),
];

/// Commands that write, and whose keys Redis looks up as those of a read.
const READ_FIRST: &[&str] =
    &["getdel", "getex", "getset", "migrate", "pfmerge", "xack", "xautoclaim", "xclaim"];
const READ_ONE: &[&str] = &["copy", "georadius", "georadiusbymember", "sort"];
const READ_BUT_FIRST: &[&str] = &[
    "bitop",
    "geosearchstore",
    "sdiffstore",
    "sinterstore",
    "sunionstore",
    "zdiffstore",
    "zinterstore",
    "zrangestore",
    "zunionstore",
];

static BY_NUMBER: LazyLock<Vec<EventRule>> = LazyLock::new(|| COMMANDS.iter().map(find_rule).collect());

fn find_rule(command: &CommandSpec) -> EventRule {
    RULES.iter().find(|(name, _)| *name == command.name).map_or(Reads, |(_, rule)| *rule)
}

pub(super) fn rule_of(command: &CommandSpec) -> EventRule {
    BY_NUMBER[usize::from(command.number)]
}

/// Returns the keys whose absence is an event, as often as the command looks for them.
pub(super) fn missed_keys<'a>(command: &CommandSpec, args: &RequestArgs<'a>) -> Vec<&'a [u8]> {
    let named = |names: &[&str]| names.contains(&command.name);
    let range = if command.has_flag("readonly") || named(READ_FIRST) {
        0..usize::MAX
    } else if command.name == "bitfield" {
        // Without these it looks for its key as a command that reads.
        let writes = args.from(2).any(|word| is(word, "SET") || is(word, "INCRBY"));
        0..usize::from(!writes)
    } else if command.name == "set" {
        0..usize::from(args.from(3).any(|word| is(word, "GET")))
    } else if named(READ_ONE) {
        0..1
    } else if named(READ_BUT_FIRST) {
        1..usize::MAX
    } else {
        return Vec::new();
    };
    let keys = keys_of(command, args).map(|keys| [keys.placed, keys.counted].concat());
    keys.into_iter().flatten().skip(range.start).take(range.end - range.start).collect()
}

impl EventRule {
    /// Keys are removed, and nothing else.
    pub(super) const REMOVED: Self = Replaced(Generic, "del");

    /// Notes the events of a command.
    pub(super) fn note(
        self,
        args: Option<&RequestArgs<'_>>,
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

fn changed<'k, 'a>(keys: &'k [WatchedKey<'a>]) -> impl Iterator<Item = &'k WatchedKey<'a>> {
    keys.iter().filter(|key| key.is_live_change())
}

impl WatchedKey<'_> {
    /// Returns whether clients see a change.
    fn is_live_change(&self) -> bool {
        self.has_changed() && (self.existed() || self.exists())
    }

    fn note_new(&self, log: &mut ChangeLog) {
        if !self.existed() && self.exists() {
            log.event(New, "new", self.key);
        }
    }

    fn note_gone(&self, log: &mut ChangeLog) {
        if self.existed() && !self.exists() {
            log.event(Generic, "del", self.key);
        }
    }

    fn note_change(&self, class: EventClass, name: &'static str, log: &mut ChangeLog) {
        self.note_new(log);
        log.event(class, name, self.key);
        self.note_gone(log);
    }

    fn note_replacement(&self, events: &[(EventClass, &'static str)], log: &mut ChangeLog) {
        self.note_new(log);
        if self.exists() {
            for (class, name) in events {
                log.event(*class, name, self.key);
            }
        }
        self.note_gone(log);
    }
}

/// Returns the key of this name, if the command has changed it.
fn changed_key<'k, 'a>(keys: &'k [WatchedKey<'a>], name: &[u8]) -> Option<&'k WatchedKey<'a>> {
    changed(keys).find(|key| key.key == name)
}

fn set(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    let expires = args.from(3).any(|word| ["EX", "PX", "EXAT", "PXAT"].iter().any(|unit| is(word, unit)));
    if expires {
        set_with_expiry(args, keys, log);
    } else {
        changed(keys).for_each(|key| key.note_change(String, "set", log));
    }
}

fn set_with_expiry(_: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    changed(keys).for_each(|key| key.note_replacement(&[(String, "set"), (Generic, "expire")], log));
}

fn got_and_expires(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    let persists = args.from(2).any(|word| is(word, "PERSIST"));
    let name = if persists { "persist" } else { "expire" };
    changed(keys).for_each(|key| key.note_replacement(&[(Generic, name)], log));
}

/// Notes an event for each pair of MSET, also if pairs have the same key.
fn set_several(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
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

fn copied(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    if let Some(to) = changed_key(keys, args.get(2)) {
        // Redis removes a key that is replaced, without an event.
        log.event(New, "new", to.key);
        log.event(Generic, "copy_to", to.key);
    }
}

/// The key in the other database is the last argument (`stored_request`).
fn moved_to_database(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    if args.len() > 3 && changed_key(keys, args.get(1)).is_some() {
        log.event(New, "new", args.get(3));
        log.event(Generic, "move_from", args.get(1));
        log.event(Generic, "move_to", args.get(3));
    }
}

fn restored(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    match changed_key(keys, args.get(1)) {
        Some(key) if key.exists() => {
            log.event(New, "new", key.key);
            log.event(Generic, "restore", key.key);
        }
        Some(key) => key.note_gone(log),
        None => {}
    }
}

fn merged(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    if let Some(to) = keys.iter().find(|key| key.key == args.get(1) && key.exists()) {
        to.note_change(String, "pfadd", log);
    }
}

fn renamed(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    if changed_key(keys, args.get(1)).is_some() {
        log.event(New, "new", args.get(2));
        log.event(Generic, "rename_from", args.get(1));
        log.event(Generic, "rename_to", args.get(2));
    }
}

fn moved_member(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    if let Some(from) = changed_key(keys, args.get(1)) {
        from.note_change(Set, "srem", log);
    }
    if let Some(to) = changed_key(keys, args.get(2)).filter(|_| args.get(1) != args.get(2)) {
        to.note_change(Set, "sadd", log);
    }
}

fn moved_to_front(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    moved(args, keys, ["rpop", "lpush"], log);
}

fn moved_between_ends(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    let pop = if is(args.get(3), "LEFT") { "lpop" } else { "rpop" };
    let push = if is(args.get(4), "LEFT") { "lpush" } else { "rpush" };
    moved(args, keys, [pop, push], log);
}

/// Notes the events of a moved element: Redis tells of the push first.
fn moved(
    args: &RequestArgs<'_>,
    keys: &[WatchedKey<'_>],
    [pop, push]: [&'static str; 2],
    log: &mut ChangeLog,
) {
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

fn popped_from_lists(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    popped(args, keys, List, [("LEFT", "lpop"), ("RIGHT", "rpop")], log);
}

fn popped_from_sorted_sets(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    popped(args, keys, SortedSet, [("MIN", "zpopmin"), ("MAX", "zpopmax")], log);
}

/// Notes the event that belongs to the word after the keys.
fn popped(
    args: &RequestArgs<'_>,
    keys: &[WatchedKey<'_>],
    class: EventClass,
    names: [(&str, &'static str); 2],
    log: &mut ChangeLog,
) {
    // Blocking commands have their timeout before the number of keys.
    let count_at =
        1 + usize::from(args.get(0).first().is_some_and(|letter| letter.eq_ignore_ascii_case(&b'b')));
    let count = parse_i64(args.get(count_at)).and_then(|count| usize::try_from(count).ok());
    let word = count.and_then(|count| args.from(count_at).nth(count.saturating_add(1)));
    let name = names.into_iter().find(|(known, _)| word.is_some_and(|word| is(word, known)));
    if let Some((_, name)) = name {
        changed(keys).for_each(|key| key.note_change(class, name, log));
    }
}

fn changed_group(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
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

fn added_to_sorted_set(args: &RequestArgs<'_>, keys: &[WatchedKey<'_>], log: &mut ChangeLog) {
    const OPTIONS: [&str; 6] = ["NX", "XX", "GT", "LT", "CH", "INCR"];
    let mut options = args.from(2).take_while(|word| OPTIONS.iter().any(|option| is(word, option)));
    let name = if options.any(|word| is(word, "INCR")) { "zincr" } else { "zadd" };
    changed(keys).for_each(|key| key.note_change(SortedSet, name, log));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_table::find;

    /// A command that writes keys must have a rule, or it would change them without an event.
    #[test]
    fn every_command_that_writes_keys_has_a_rule() {
        for command in COMMANDS.iter().filter(|command| command.has_flag("write")) {
            let has_keys = command.keys.0 != 0 || command.has_flag("movablekeys");
            let has_rule = !matches!(rule_of(command), Reads | Never);
            assert_eq!(has_rule, has_keys, "{}", command.name);
        }
        for name in RULES
            .iter()
            .map(|(name, _)| name)
            .chain([READ_FIRST, READ_ONE, READ_BUT_FIRST].into_iter().flatten())
        {
            assert!(find(name.as_bytes()).is_some(), "there is no command {name}");
        }
    }
}
