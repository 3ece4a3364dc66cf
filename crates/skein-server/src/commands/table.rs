//! The table of commands: what each is called, what it takes, where its keys are, who runs it.

use super::Handler::{General, Read, ReadOneOrMany, Write};
use super::{Command, Handler, connection, hash, hashes, keys, scan, server, skein, strings};

const NONE: (i32, i32, i32) = (0, 0, 0);
const ONE: (i32, i32, i32) = (1, 1, 1);
const ALL: (i32, i32, i32) = (1, -1, 1);

const CONNECTION: &[&str] = &["noscript", "loading", "stale", "fast", "no_auth", "allow_busy"];
const ANY_TIME: &[&str] = &["loading", "stale", "fast"];
const ALSO_LOADING: &[&str] = &["loading", "stale"];
const READ: &[&str] = &["readonly"];
const READ_FAST: &[&str] = &["readonly", "fast"];
const WRITE: &[&str] = &["write"];
const WRITE_FAST: &[&str] = &["write", "fast"];
const WRITE_GROWS: &[&str] = &["write", "denyoom"];
const WRITE_GROWS_FAST: &[&str] = &["write", "denyoom", "fast"];
const SAVE: &[&str] = &["admin", "noscript", "no_async_loading", "no_multi"];
const BGSAVE: &[&str] = &["admin", "noscript", "no_async_loading"];
const SHUTDOWN: &[&str] = &["admin", "noscript", "loading", "stale", "no_multi", "allow_busy"];

const fn row(
    name: &'static str,
    arity: i32,
    flags: &'static [&'static str],
    keys: (i32, i32, i32),
    group: &'static str,
    handler: Handler,
    summary: &'static str,
) -> Command {
    Command { name, arity, flags, keys, group, summary, handler }
}

/// Every command, by family; a line each, however long.
#[rustfmt::skip]
pub(crate) static COMMANDS: [Command; 49] = [
    // The hottest two first: they share a cache line.
    row("get", 2, READ_FAST, ONE, "string", Read(strings::get), "Gets the value of a key"),
    row("set", -3, WRITE_GROWS, ONE, "string", Write(strings::set), "Sets a key to a value"),
    row("append", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::append), "Appends to the value of a key"),
    row("decr", 2, WRITE_GROWS_FAST, ONE, "string", Write(strings::decr), "Takes one from an integer"),
    row("decrby", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::decr_by), "Takes a number from an integer"),
    row("getdel", 2, WRITE_FAST, ONE, "string", Write(strings::get_del), "Gets the value of a key and removes the key"),
    row("incr", 2, WRITE_GROWS_FAST, ONE, "string", Write(strings::incr), "Adds one to an integer"),
    row("incrby", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::incr_by), "Adds a number to an integer"),
    row("mget", -2, READ_FAST, ALL, "string", General(strings::mget), "Gets the values of keys, as of one moment"),
    row("mset", -3, WRITE_GROWS, (1, -1, 2), "string", General(strings::mset), "Sets keys to values, all or none"),
    row("setnx", 3, WRITE_GROWS_FAST, ONE, "string", Write(strings::set_nx), "Sets a key unless it is there"),
    row("strlen", 2, READ_FAST, ONE, "string", Read(strings::strlen), "Length of the value of a key"),
    row("hdel", -3, WRITE_FAST, ONE, "hash", Write(hashes::hdel), "Removes columns"),
    row("hexists", 3, READ_FAST, ONE, "hash", Read(hashes::hexists), "Whether a column is there"),
    row("hget", 3, READ_FAST, ONE, "hash", Read(hashes::hget), "Gets a column"),
    row("hgetall", 2, READ, ONE, "hash", Read(hashes::hgetall), "Gets all columns, by name"),
    row("hincrby", 4, WRITE_GROWS_FAST, ONE, "hash", Write(hashes::hincr_by), "Adds a number to an integer in a column"),
    row("hlen", 2, READ_FAST, ONE, "hash", Read(hashes::hlen), "How many columns"),
    row("hmget", -3, READ_FAST, ONE, "hash", Read(hashes::hmget), "Gets columns"),
    row("hset", -4, WRITE_GROWS_FAST, ONE, "hash", Write(hashes::hset), "Sets columns, all or none"),
    row("del", -2, WRITE, ALL, "generic", Write(keys::del), "Removes keys"),
    row("exists", -2, READ_FAST, ALL, "generic", ReadOneOrMany(keys::exists_one, keys::exists), "How many of the keys are there"),
    row("scan", -2, READ, NONE, "generic", General(scan::scan), "Goes through the keys in order, some at a time"),
    row("type", 2, READ_FAST, ONE, "generic", Read(keys::kind), "What a key holds: string, hash or none"),
    row("auth", -2, CONNECTION, NONE, "connection", General(connection::auth), "Gives the password"),
    row("client", -2, &[], NONE, "connection", General(connection::client), "About this connection"),
    row("echo", 2, ANY_TIME, NONE, "connection", General(connection::echo), "Gives its argument back"),
    row("hello", -1, CONNECTION, NONE, "connection", General(connection::hello), "Chooses the version of the protocol"),
    row("ping", -1, &["fast"], NONE, "connection", General(connection::ping), "Answers PONG"),
    row("quit", -1, CONNECTION, NONE, "connection", General(connection::quit), "Closes the connection"),
    row("select", 2, ANY_TIME, NONE, "connection", General(connection::select), "Chooses database 0, the only one"),
    row("bgsave", -1, BGSAVE, NONE, "server", General(server::bgsave), "Starts a checkpoint"),
    row("command", -1, ALSO_LOADING, NONE, "server", General(server::command), "About the commands"),
    row("dbsize", 1, READ_FAST, NONE, "server", General(server::dbsize), "How many keys"),
    row("flushall", -1, WRITE, NONE, "server", General(server::flushall), "Removes all keys"),
    row("info", -1, ALSO_LOADING, NONE, "server", General(server::info), "The server in numbers"),
    row("save", 1, SAVE, NONE, "server", General(server::save), "Writes a checkpoint"),
    row("shutdown", -1, SHUTDOWN, NONE, "server", General(server::shutdown), "Stops the server; nothing is lost"),
    row("sk.cas", 4, WRITE_GROWS_FAST, ONE, "skein", Write(skein::cas), "Sets a key if its version is as given"),
    row("sk.count", 3, READ, NONE, "skein", General(skein::count), "How many keys lie between bounds"),
    row("sk.delrange", 3, WRITE, NONE, "skein", General(skein::del_range), "Removes the keys between bounds"),
    row("sk.first", 1, READ_FAST, NONE, "skein", General(skein::first), "The first key and what it holds"),
    row("sk.getv", 2, READ_FAST, ONE, "skein", Read(skein::getv), "What a key holds, and its version"),
    row("sk.last", 1, READ_FAST, NONE, "skein", General(skein::last), "The last key and what it holds"),
    row("sk.memory", 1, READ, NONE, "skein", General(skein::memory), "Memory by part"),
    row("sk.next", 2, READ_FAST, ONE, "skein", General(skein::next), "The key after this one and what it holds"),
    row("sk.prefix", -2, READ, NONE, "skein", General(skein::prefix), "The keys with a prefix, in order, and what they hold"),
    row("sk.prev", 2, READ_FAST, ONE, "skein", General(skein::prev), "The key before this one and what it holds"),
    row("sk.range", -3, READ, NONE, "skein", General(skein::range), "The keys between bounds, in order, and what they hold"),
];

/// Place + 1 in [`COMMANDS`] by [`hash`], linear probing; 0 is free.
pub(crate) static SLOTS: [u8; 256] = {
    let mut slots = [0; 256];
    let mut i = 0;
    while i < COMMANDS.len() {
        let mut slot = hash(COMMANDS[i].name.as_bytes());
        while slots[slot] != 0 {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = i as u8 + 1;
        i += 1;
    }
    slots
};

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    #[test]
    fn every_command_is_found_in_any_case() {
        for (i, command) in COMMANDS.iter().enumerate() {
            assert_eq!(find(command.name.as_bytes()), Some(i));
            assert_eq!(find(command.name.to_uppercase().as_bytes()), Some(i));
            assert_eq!(command.name, command.name.to_lowercase());
        }
        for name in ["", "g", "gets", "sk", "sk.", "\0", "GE\0"] {
            assert_eq!(find(name.as_bytes()), None, "{name:?}");
        }
    }

    #[test]
    fn batched_commands_have_a_key() {
        for command in &COMMANDS {
            if !matches!(command.handler, General(_)) {
                assert!(command.keys.0 == 1 && command.arity.abs() >= 2, "{}", command.name);
            }
        }
    }
}
