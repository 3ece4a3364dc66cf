//! Key specifications: where the keys of a request are, and what the command does with them, for
//! COMMAND INFO and COMMAND GETKEYSANDFLAGS.
//!
//! ```text
//!   ZUNIONSTORE dest 2 a b     at(1) range(0, 1, 0)      OW update    ─► dest
//!                              at(2) counted(0, 1, 1)    RO access    ─► a b
//! ```
//!
//! The table has all commands of Redis 7.0, also those that this server does not have. Other commands
//! have one specification, made of the positions in their rows. Rights and handlers use
//! `request_keys` instead, which needs no search by name.
//!
//! Source: the reply of `COMMAND` of redis-server 7.0.15, without its notes.

use skein_syntax::number::parse_i64;

use super::{CommandSpec, is};
use crate::resp::RequestArgs;

/// Where the search for keys begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyBegin {
    /// At this argument.
    Index(i32),
    /// After this word, which is searched from this argument on; from the end if negative.
    Keyword(&'static str, i32),
    Unknown,
}

/// Which arguments are keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyFind {
    /// From the beginning to `last` (counted from it, or from the end of the request if negative),
    /// each `step`th. If `limit` is greater than 1, only that part of the rest.
    Range {
        last: i32,
        step: i32,
        limit: i32,
    },
    /// As many as a number says. The positions are counted from the beginning.
    Counted {
        number: i32,
        first: i32,
        step: i32,
    },
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeySpec {
    /// Separated by spaces.
    pub flags: &'static str,
    pub begin: KeyBegin,
    pub find: KeyFind,
}

const fn spec(flags: &'static str, begin: KeyBegin, find: KeyFind) -> KeySpec {
    KeySpec { flags, begin, find }
}

const fn at(index: i32) -> KeyBegin {
    KeyBegin::Index(index)
}

const fn range(last: i32, step: i32, limit: i32) -> KeyFind {
    KeyFind::Range { last, step, limit }
}

const fn counted(number: i32, first: i32, step: i32) -> KeyFind {
    KeyFind::Counted { number, first, step }
}

/// Specifications, and the names of the commands and subcommands that have them.
#[rustfmt::skip]
const SPECS: &[(&[KeySpec], &str)] = &[
    (&[spec("RW insert", at(1), range(0, 1, 0))],
      "append hsetnx linsert lpush lpushx pfadd rpush rpushx sadd"),
    (&[spec("RO access", at(1), range(0, 1, 0))],
      "bitcount bitfield_ro bitpos dump expiretime geodist geohash geopos georadius_ro \
       georadiusbymember_ro geosearch get getbit getrange hget hgetall hkeys hmget \
       hrandfield hscan hvals lindex lpos lrange pexpiretime pttl smembers smismember \
       srandmember sscan substr ttl xpending xrange xrevrange zcount zlexcount zmscore \
       zrandmember zrange zrangebylex zrangebyscore zrank zrevrange zrevrangebylex \
       zrevrangebyscore zrevrank zscan zscore"),
    (&[spec("RW access update variable_flags", at(1), range(0, 1, 0))],
      "bitfield set"),
    (&[spec("OW update", at(2), range(0, 1, 0)),
       spec("RO access", at(3), range(-1, 1, 0))],
      "bitop"),
    (&[spec("RW access delete", at(1), range(0, 1, 0)),
       spec("RW insert", at(2), range(0, 1, 0))],
      "blmove brpoplpush lmove rpoplpush smove"),
    (&[spec("RW access delete", at(2), counted(0, 1, 1))],
      "blmpop bzmpop"),
    (&[spec("RW access delete", at(1), range(-2, 1, 0))],
      "blpop brpop bzpopmax bzpopmin"),
    (&[spec("RO access", at(1), range(0, 1, 0)),
       spec("OW update", at(2), range(0, 1, 0))],
      "copy"),
    (&[spec("RW access update", at(1), range(0, 1, 0))],
      "decr decrby getex getset hincrby hincrbyfloat incr incrby incrbyfloat move setbit \
       zincrby"),
    (&[spec("RM delete", at(1), range(-1, 1, 0))],
      "del unlink"),
    (&[spec("RW access update", at(2), counted(0, 1, 1))],
      "eval evalsha fcall"),
    (&[spec("RO access", at(2), counted(0, 1, 1))],
      "eval_ro evalsha_ro fcall_ro"),
    (&[spec("RO", at(1), range(-1, 1, 0))],
      "exists touch watch"),
    (&[spec("RW update", at(1), range(0, 1, 0))],
      "expire expireat geoadd hmset hset lset persist pexpire pexpireat setrange xack xadd \
       xclaim xsetid zadd"),
    (&[spec("RO access", at(1), range(0, 1, 0)),
       spec("OW update", KeyBegin::Keyword("STORE", 6), range(0, 1, 0)),
       spec("OW update", KeyBegin::Keyword("STOREDIST", 6), range(0, 1, 0))],
      "georadius"),
    (&[spec("RO access", at(1), range(0, 1, 0)),
       spec("OW update", KeyBegin::Keyword("STORE", 5), range(0, 1, 0)),
       spec("OW update", KeyBegin::Keyword("STOREDIST", 5), range(0, 1, 0))],
      "georadiusbymember"),
    (&[spec("OW update", at(1), range(0, 1, 0)),
       spec("RO access", at(2), range(0, 1, 0))],
      "geosearchstore zrangestore"),
    (&[spec("RW access delete", at(1), range(0, 1, 0))],
      "getdel lpop rpop spop zpopmax zpopmin"),
    (&[spec("RW delete", at(1), range(0, 1, 0))],
      "hdel lrem ltrim srem xautoclaim xdel xtrim zrem zremrangebylex zremrangebyrank \
       zremrangebyscore"),
    (&[spec("RO", at(1), range(0, 1, 0))],
      "hexists hlen hstrlen llen scard sismember strlen type xlen zcard"),
    (&[spec("RO access", at(1), range(1, 1, 0))],
      "lcs"),
    (&[spec("RW access delete", at(1), counted(0, 1, 1))],
      "lmpop zmpop"),
    (&[spec("RO", at(2), range(0, 1, 0))],
      "memory|usage object|encoding object|freq object|idletime object|refcount"),
    (&[spec("RO access", at(1), range(-1, 1, 0))],
      "mget sdiff sinter sunion"),
    (&[spec("RW access delete", at(3), range(0, 1, 0)),
       spec("RW access delete incomplete", KeyBegin::Keyword("KEYS", -2), range(-1, 1, 0))],
      "migrate"),
    (&[spec("OW update", at(1), range(-1, 2, 0))],
      "mset"),
    (&[spec("OW insert", at(1), range(-1, 2, 0))],
      "msetnx"),
    (&[spec("RW access", at(1), range(-1, 1, 0))],
      "pfcount"),
    (&[spec("RW access", at(2), range(0, 1, 0))],
      "pfdebug"),
    (&[spec("RW access insert", at(1), range(0, 1, 0)),
       spec("RO access", at(2), range(-1, 1, 0))],
      "pfmerge"),
    (&[spec("OW update", at(1), range(0, 1, 0))],
      "psetex restore restore-asking setex"),
    (&[spec("RW access delete", at(1), range(0, 1, 0)),
       spec("OW update", at(2), range(0, 1, 0))],
      "rename"),
    (&[spec("RW access delete", at(1), range(0, 1, 0)),
       spec("OW insert", at(2), range(0, 1, 0))],
      "renamenx"),
    (&[spec("OW update", at(1), range(0, 1, 0)),
       spec("RO access", at(2), range(-1, 1, 0))],
      "sdiffstore sunionstore"),
    (&[spec("OW insert", at(1), range(0, 1, 0))],
      "setnx"),
    (&[spec("RO access", at(1), counted(0, 1, 1))],
      "sintercard zdiff zinter zintercard zunion"),
    (&[spec("RW update", at(1), range(0, 1, 0)),
       spec("RO access", at(2), range(-1, 1, 0))],
      "sinterstore"),
    (&[spec("RO access", at(1), range(0, 1, 0)),
       spec("RO access", KeyBegin::Unknown, KeyFind::Unknown),
       spec("OW update", KeyBegin::Unknown, KeyFind::Unknown)],
      "sort"),
    (&[spec("RO access", at(1), range(0, 1, 0)),
       spec("RO access", KeyBegin::Unknown, KeyFind::Unknown)],
      "sort_ro"),
    (&[spec("not_key", at(1), range(0, 1, 0))],
      "spublish"),
    (&[spec("not_key", at(1), range(-1, 1, 0))],
      "ssubscribe sunsubscribe"),
    (&[spec("RW insert", at(2), range(0, 1, 0))],
      "xgroup|create xgroup|createconsumer"),
    (&[spec("RW delete", at(2), range(0, 1, 0))],
      "xgroup|delconsumer xgroup|destroy"),
    (&[spec("RW update", at(2), range(0, 1, 0))],
      "xgroup|setid"),
    (&[spec("RO access", at(2), range(0, 1, 0))],
      "xinfo|consumers xinfo|groups xinfo|stream"),
    (&[spec("RO access", KeyBegin::Keyword("STREAMS", 1), range(-1, 1, 2))],
      "xread"),
    (&[spec("RO access", KeyBegin::Keyword("STREAMS", 4), range(-1, 1, 2))],
      "xreadgroup"),
    (&[spec("OW update", at(1), range(0, 1, 0)),
       spec("RO access", at(2), counted(0, 1, 1))],
      "zdiffstore zinterstore zunionstore"),
];

/// Whether a list of words has this one.
pub(crate) fn names(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|other| other == name)
}

/// Returns the specifications of a command or a subcommand of Redis.
fn of_redis(name: &str) -> Option<&'static [KeySpec]> {
    SPECS.iter().find(|(_, list)| names(list, name)).map(|(specs, _)| *specs)
}

/// Returns the specifications of a subcommand.
pub(crate) fn of_subcommand(full_name: &str) -> &'static [KeySpec] {
    of_redis(full_name).unwrap_or_default()
}

/// Returns the specifications of a command.
pub(crate) fn of_command(command: &CommandSpec) -> Vec<KeySpec> {
    if let Some(known) = of_redis(command.name) {
        return known.to_vec();
    }
    let (first, last, step) = command.keys;
    // With subcommands, the keys are those of a subcommand.
    if first == 0 || !command.subcommands.is_empty() {
        return Vec::new();
    }
    let flags = if command.has_flag("readonly") { "RO access" } else { "RW access update" };
    vec![spec(flags, at(first), range(if last < 0 { last } else { last - first }, step, 0))]
}

impl KeySpec {
    /// Returns the positions of the keys, or `None` if they cannot be found so.
    pub(crate) fn positions(&self, request: &RequestArgs<'_>) -> Option<Vec<usize>> {
        let len = i64::try_from(request.len()).ok()?;
        let begin = match self.begin {
            KeyBegin::Index(index) => i64::from(index),
            KeyBegin::Keyword(word, from) => i64::try_from(after_keyword(word, from, request)?).ok()?,
            KeyBegin::Unknown => return None,
        };
        let (first, last, step) = match self.find {
            KeyFind::Range { last, step, limit } => {
                let last = match (i64::from(last), i64::from(limit)) {
                    (last @ 0.., _) => begin + last,
                    (last, ..2) => len + last,
                    (last, limit) => begin + (len - begin) / limit + last,
                };
                (begin, last, step)
            }
            KeyFind::Counted { number, first, step } => {
                let number = begin + i64::from(number);
                let count = parse_i64(argument(number, request)?)?;
                let first = begin + i64::from(first);
                (first, first.checked_add(count.checked_sub(1)?.checked_mul(i64::from(step))?)?, step)
            }
            KeyFind::Unknown => return None,
        };
        if last >= len || first > last {
            return None;
        }
        let step = usize::try_from(step).ok()?.max(1);
        Some((usize::try_from(first).ok()?..=usize::try_from(last).ok()?).step_by(step).collect())
    }

    /// Returns whether the arguments are keys, and not channels.
    #[cfg(test)]
    fn is_of_keys(&self) -> bool {
        !names(self.flags, "not_key")
    }
}

fn argument<'a>(at: i64, request: &RequestArgs<'a>) -> Option<&'a [u8]> {
    let at = usize::try_from(at).ok().filter(|at| *at < request.len())?;
    Some(request.get(at))
}

/// Returns the position after a word.
fn after_keyword(word: &str, from: i32, request: &RequestArgs<'_>) -> Option<usize> {
    let (len, at) = (request.len(), from.unsigned_abs() as usize);
    let found = if from >= 0 {
        (at..len).find(|at| is(request.get(*at), word))
    } else {
        (1..=len.checked_sub(at)?).rev().find(|at| is(request.get(*at), word))
    };
    found.map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_table::{COMMANDS, request_keys::keys_of};
    use crate::resp::ArgList;

    fn request(words: &str) -> ArgList {
        let mut list = ArgList::default();
        assert!(words.split(' ').all(|word| list.push(word.as_bytes())));
        list
    }

    /// Returns the keys that the specifications of a command find.
    fn found(words: &str) -> Option<Vec<String>> {
        let list = request(words);
        let args = list.args().expect("a request");
        let name = String::from_utf8_lossy(args.get(0)).to_lowercase();
        let mut keys = Vec::new();
        for spec in of_redis(&name)? {
            if let Some(positions) = spec.positions(&args) {
                keys.extend(positions.iter().map(|at| String::from_utf8_lossy(args.get(*at)).into_owned()));
            }
        }
        Some(keys)
    }

    #[test]
    fn finds_keys_of_every_form() {
        for (words, keys) in [
            ("GET k", "k"),
            ("MSET a 1 b 2", "a b"),
            ("BLPOP a b 0", "a b"),
            ("ZUNIONSTORE d 2 a b WEIGHTS 1 2", "d a b"),
            ("EVAL s 1 k v", "k"),
            ("EVAL s 0 v", ""),
            ("EVAL s -1 v", ""),
            ("EVAL s 9223372036854775807 v", ""),
            ("EVAL s 3 k v", ""),
            ("XREAD COUNT 1 STREAMS a b 0 0", "a b"),
            ("XREADGROUP GROUP g c STREAMS a 0", "a"),
            ("XREAD COUNT 1", ""),
            ("MIGRATE h p k 0 1", "k"),
            ("SORT k STORE d", "k"),
            ("LCS a b", "a b"),
        ] {
            assert_eq!(found(words).expect(words).join(" "), keys, "{words}");
        }
        assert_eq!(found("SK.GET k"), None);
    }

    /// The two descriptions of keys agree.
    #[test]
    fn rows_and_specifications_agree() {
        let tails = ["2 b 1 c", "a 2 b c", "a b c d", "x 2 b c", "1 a x y"];
        for command in COMMANDS.iter().filter(|command| command.subcommands.is_empty()) {
            for tail in tails {
                let list = request(&format!("{} {tail}", command.name));
                let args = list.args().expect("a request");
                let specs = of_command(command);
                let counts = specs.iter().any(|spec| matches!(spec.find, KeyFind::Counted { .. }));
                let Some(keys) = keys_of(command, &args) else { continue };
                let by_rows = keys.all();
                let by_specs: Vec<&[u8]> = specs
                    .iter()
                    .filter(|spec| spec.is_of_keys())
                    .filter_map(|spec| spec.positions(&args))
                    .flatten()
                    .map(|at| args.get(at))
                    .collect();
                let name = command.name;
                assert!(counts || by_rows == by_specs, "{name} {tail}: {by_rows:?} {by_specs:?}");
            }
        }
    }
}
