//! Key specifications: where the keys of a request are, and how the command uses them.
//!
//! ```text
//!   ZUNIONSTORE dest 2 a b     key(1, "OW update")              ─► dest
//!                              counted_keys(2, "RO access")     ─► a b
//! ```
//!
//! A row has them (`Command::key` and its relatives). Everything else follows: first key, last key
//! and step, the keys of a request (`request_keys`), the rights that they need
//! (`acl::required_access`), and the absent keys that count as missed (`key_events::missed_keys`).
//!
//! Flags are words of Redis: `RO`, `RW`, `OW` or `RM` (reads, reads and writes, overwrites,
//! removes); `access`, `insert`, `update`, `delete` (the use or change of the value);
//! `variable_flags` (the row says how they depend on the request); `incomplete`; `not_key` (a
//! channel).

use skein_syntax::number::parse_i64;

use super::is;
use super::words::has_word;
use crate::resp::Args;

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

/// How a command looks its keys up, for the event of an absent key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyLookup {
    /// As a reader the keys that it only reads, `RO`.
    ByAccess,
    /// As a reader all keys but those that it overwrites, `OW`: Redis looks for them before it
    /// writes.
    AsReader,
    /// Without a notice.
    Unnoticed,
}

/// The keys that a request may read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyReach {
    /// Those that it names.
    Named,
    /// Any key: it may find all of them. A key that it names is a bound.
    Every,
    /// Those between arguments 1 and 2.
    Between,
    /// Those with a prefix, argument 1.
    Prefixed,
}

/// Returns the keys from the beginning to `last`: [`KeyFind::Range`].
pub(crate) const fn range(last: i32, step: i32, limit: i32) -> KeyFind {
    KeyFind::Range { last, step, limit }
}

/// The most specifications of a command.
const SPECS_MAX: usize = 3;

/// The specifications of a command, in Redis's order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeySpecs {
    specs: [KeySpec; SPECS_MAX],
    len: usize,
}

impl KeySpecs {
    pub(crate) const NONE: Self = Self {
        specs: [KeySpec { flags: "", begin: KeyBegin::Unknown, find: KeyFind::Unknown }; SPECS_MAX],
        len: 0,
    };

    pub(super) const fn with(mut self, spec: KeySpec) -> Self {
        self.specs[self.len] = spec;
        self.len += 1;
        self
    }

    pub(crate) const fn as_slice(&self) -> &[KeySpec] {
        self.specs.split_at(self.len).0
    }

    /// Returns first key, last key (negative: counted from the end) and step; all 0 if no keys are
    /// at fixed positions. As in Redis, the ranges that follow each other count as one.
    pub(crate) const fn positions(&self) -> (i32, i32, i32) {
        let (mut found, mut at) = ((0, 0, 0), 0);
        while at < self.len {
            if let Some((first, last, step)) = self.specs[at].fixed() {
                if found.0 == 0 {
                    found = (first, last, step);
                } else if found.1 == first - 1 && step == 1 {
                    found.1 = last;
                }
            }
            at += 1;
        }
        found
    }

    /// Returns the position of the argument that counts the keys after it; 0 without such an
    /// argument.
    pub(super) const fn count_at(&self) -> usize {
        let mut at = 0;
        while at < self.len {
            if let (KeyBegin::Index(index), KeyFind::Counted { .. }) =
                (self.specs[at].begin, self.specs[at].find)
            {
                return index.unsigned_abs() as usize;
            }
            at += 1;
        }
        0
    }

    /// Returns whether not all keys are at fixed positions.
    pub(super) const fn are_movable(&self) -> bool {
        let mut at = 0;
        while at < self.len {
            if self.specs[at].fixed().is_none() && !self.specs[at].has("not_key") {
                return true;
            }
            at += 1;
        }
        false
    }

    /// Returns whether the command may write a key.
    pub(super) const fn write(&self) -> bool {
        self.len > 0 && !self.specs[0].has("RO")
    }
}

impl KeySpec {
    /// Returns the positions of the keys, or `None` if they cannot be found so.
    pub(crate) fn positions(&self, request: &Args) -> Option<Vec<usize>> {
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

    /// Returns whether the keys are searched behind a word.
    pub(super) const fn is_searched(&self) -> bool {
        matches!(self.begin, KeyBegin::Keyword(..))
    }

    const fn has(&self, flag: &str) -> bool {
        has_word(self.flags, flag)
    }

    /// Returns first key, last key and step, if they are at fixed positions and no channels.
    const fn fixed(&self) -> Option<(i32, i32, i32)> {
        match (self.begin, self.find) {
            (KeyBegin::Index(first), KeyFind::Range { last, step, .. }) if !self.has("not_key") => {
                Some((first, if last < 0 { last } else { first + last }, step))
            }
            _ => None,
        }
    }
}

fn argument<'a>(at: i64, request: &Args<'a>) -> Option<&'a [u8]> {
    let at = usize::try_from(at).ok().filter(|at| *at < request.len())?;
    Some(request.get(at))
}

/// Returns the position after a word.
fn after_keyword(word: &str, from: i32, request: &Args) -> Option<usize> {
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
    use crate::command_table::{COMMANDS, find, request_keys::keys_of};
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
        let mut keys = Vec::new();
        for spec in COMMANDS[find(args.get(0))?].key_specs.as_slice() {
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

    /// The keys of requests, for which some rows name a function, are those of the specifications.
    #[test]
    fn requests_and_specifications_agree() {
        let tails = ["2 b 1 c", "a 2 b c", "a b c d", "x 2 b c", "1 a x y"];
        for command in COMMANDS.iter().filter(|command| command.subcommands.is_empty()) {
            for tail in tails {
                let list = request(&format!("{} {tail}", command.name));
                let args = list.args().expect("a request");
                let specs = command.key_specs.as_slice();
                let counts = specs.iter().any(|spec| matches!(spec.find, KeyFind::Counted { .. }));
                let Some(keys) = keys_of(command, &args) else { continue };
                let by_request = keys.all();
                let by_specs: Vec<&[u8]> = specs
                    .iter()
                    .filter(|spec| !spec.has("not_key"))
                    .filter_map(|spec| spec.positions(&args))
                    .flatten()
                    .map(|at| args.get(at))
                    .collect();
                let name = command.name;
                assert!(counts || by_request == by_specs, "{name} {tail}: {by_request:?} {by_specs:?}");
            }
        }
    }
}
