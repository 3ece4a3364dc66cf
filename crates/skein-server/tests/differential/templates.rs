//! Templates of commands, and the strategies that they describe.
//!
//! ```text
//!   SET <key> <value> NX|XX? EX_<seconds>|KEEPTTL?    a literal word · a word of an alphabet ·
//!                                                     one of several
//!   HSET <key> <field>_<value>+                       words joined by `_` stay together
//! ```
//!
//! A part with `?` is optional; a part with `+` is repeated one to three times. Alphabets are
//! small, so that commands hit the same keys and fields, and contain the numbers at which replies
//! change.

use proptest::prelude::*;
use proptest::sample::select;

use crate::dump::payloads;

pub type CommandWords = Vec<Vec<u8>>;

const ALPHABETS: &[(&str, &[&str])] = &[
    ("key", &["a", "b", "c", "user:1", ""]),
    ("database", &["0", "1", "2", "1", "15", "16", "-1", "a"]),
    ("field", &["f", "g", "h", "", "1"]),
    ("member", &["m", "n", "o", "", "1"]),
    (
        "value",
        &["v", "10", "", "-1", "3.5", "hello world", "0", "9223372036854775807", " 1", "1e3", "\0\r\n", LONG],
    ),
    (
        "integer",
        &[
            "1",
            "-1",
            "0",
            "5",
            "100",
            "-100",
            "9223372036854775807",
            "-9223372036854775808",
            "a",
            "",
            "1.5",
            "+1",
            "01",
        ],
    ),
    ("float", &["1", "0.5", "-3", "1e3", "0.1", "a", "", "inf", "nan", "3.0e-2", "100000000", " 1"]),
    // Beyond about 500 MiB both servers reject the offset. Offsets between that and these would
    // fill the memory of each server.
    ("offset", &["0", "1", "5", "-1", "40", "536870912", "a", "-9223372036854775808"]),
    ("bit", &["0", "7", "8", "100", "-1", "4294967296", "a"]),
    ("01", &["1", "0", "2", "a"]),
    ("bitfield", &["BITFIELD", "BITFIELD_RO"]),
    ("field", &["i8", "u8", "i64", "u63", "u1", "i5", "i1", "u64", "x"]),
    ("field-bit", &["0", "#1", "7", "100", "#3", "3", "-1", "#-1", "a"]),
    // Right and wrong ones that Redis changes by whole commands only.
    (
        "hyperloglog",
        &[
            "HYLL\u{1}\0\0\0\0\0\0\0\0\0\0\0\u{7f}\u{7f}??",
            "HYLL\u{1}\0\0\0\u{5}\0\0\0\0\0\0\0\u{7f}\u{7f}?>\0",
            "HYLL\u{1}\0\0\0\0\0\0\0\0\0\0\0\u{7f}\u{7f}????",
            "HYLL\u{1}\0\0\0\0\0\0\0\0\0\0\0",
            "HYLL\u{2}\0\0\0\0\0\0\0\0\0\0\0\u{7f}\u{7f}??",
            "HYLL\0\0\0\0\0\0\0\0\0\0\0\0",
            "HYLL",
        ],
    ),
    ("longitude", &["13.361389", "15.087269", "-122.27652", "0", "180", "-180", "181", "a", "1e-7"]),
    ("latitude", &["38.115556", "37.502669", "85.05112878", "-84.9", "0", "86", "a", "-1e-7"]),
    ("radius", &["200", "1", "0", "1e7", "5000", "-1", "a", "inf", "0.001", "700.5"]),
    ("unit", &["m", "km", "ft", "mi", "KM", "parsec"]),
    ("georadius", &["GEORADIUS", "GEORADIUS_RO"]),
    ("georadiusbymember", &["GEORADIUSBYMEMBER", "GEORADIUSBYMEMBER_RO"]),
    (
        "index",
        &["0", "-1", "1", "2", "-2", "100", "-100", "a", "9223372036854775807", "-9223372036854775808"],
    ),
    // Far in the future, so the time of a sequence does not matter, and a millisecond between the
    // two servers does not either.
    ("seconds", &["1000000", "2000000", "0", "-1", "a", "9223372036854775807", "9223372036854776"]),
    ("millis", &["1000000000", "2000000000", "0", "-1", "a", "9223372036854775807"]),
    ("unix", &["4000000000", "5000000000", "1", "0", "-1", "a", "9223372036854775807"]),
    ("unix-millis", &["4000000000000", "5000000000000", "1", "0", "-1", "a", "9223372036854775807"]),
    (
        "score",
        &["1", "2", "3", "-1", "0", "2.5", "inf", "-inf", "+inf", "nan", "a", "1e300", "0.1", "-0", ""],
    ),
    ("score-bound", &["-inf", "+inf", "1", "(1", "2", "(2.5", "3", "(-inf", "a", "(", "nan"]),
    ("lex-bound", &["-", "+", "[m", "(m", "[n", "(o", "[", "(", "m", ""]),
    ("count", &["1", "2", "-1", "-3", "0", "10", "a", "-9223372036854775808"]),
    // Redis 7.0 cannot negate the least rank, and does not reject it.
    ("match", &["1", "2", "-1", "-2", "5", "0", "a", "9223372036854775807"]),
    (
        "stream-id",
        &[
            "0",
            "1-1",
            "1-2",
            "1",
            "2-0",
            "2-1",
            "3-5",
            "5",
            "9-9",
            "x",
            "18446744073709551615-18446744073709551615",
        ],
    ),
    ("new-id", &["1-1", "1-2", "1-*", "2-0", "2-*", "3-5", "5-*", "6", "7-1", "8-*", "9-*", "0-0", "x"]),
    ("stream-bound", &["-", "+", "0", "1", "1-2", "(1-1", "(1", "2", "(3-5", "9-9", "x", "(-"]),
    ("group", &["g", "h", ""]),
    ("consumer", &["c", "d", ""]),
    ("pattern", &["*", "a*", "?", "[ab]", "user:*", "*1", "[^a]", "\\a", "nothing", "", "m*", "f"]),
    // A script that runs the command of its arguments.
    (
        "script",
        &[
            "return redis.call(unpack(ARGV))",
            "return redis.pcall(unpack(ARGV))",
            "redis.setresp(3) return redis.call(unpack(ARGV))",
            "return {redis.pcall(unpack(ARGV)), type(redis.pcall(unpack(ARGV))), #ARGV}",
            "local ok, found = pcall(redis.call, unpack(ARGV)) return {ok, found}",
            "redis.call('set', 'c', 'from a script') return redis.call(unpack(ARGV))",
            "local found = redis.pcall(unpack(ARGV)) return type(found) == 'table' and found.err or tostring(found == false)",
        ],
    ),
    ("eval", &["EVAL", "EVAL_RO"]),
    ("even-key", &[EVEN_KEY]),
    ("odd", &["", "*", "-", "NX", "XX", "LIMIT", "COUNT", "WITHSCORES", "0", "-1", "GET", "(", "\r\n"]),
];

/// A set with one score for all members.
const EVEN_KEY: &str = "even";

/// The least of the future times, in seconds. Those in milliseconds are greater.
const FAR_AWAY: i64 = 4_000_000_000;

const LONG: &str = "a value of more than sixty-four bytes, too long for Redis to keep it in a small hash";

fn word(word: &str) -> BoxedStrategy<Vec<u8>> {
    match word.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        None => Just(word.as_bytes().to_vec()).boxed(),
        Some("payload") => select(payloads()).boxed(),
        Some(name) => {
            let (_, alphabet) = ALPHABETS
                .iter()
                .find(|(known, _)| *known == name)
                .unwrap_or_else(|| panic!("no alphabet <{name}>"));
            select(*alphabet).prop_map(|word| word.as_bytes().to_vec()).boxed()
        }
    }
}

/// Parses words that stay together.
fn group(group: &str) -> BoxedStrategy<CommandWords> {
    group.split('_').map(word).collect::<Vec<_>>().boxed()
}

fn part(part: &str) -> BoxedStrategy<CommandWords> {
    let (choices, times) = match part.as_bytes().last() {
        Some(b'?') => (&part[..part.len() - 1], 0..=1),
        Some(b'+') if part.len() > 1 => (&part[..part.len() - 1], 1..=3),
        _ => (part, 1..=1),
    };
    let one = prop::strategy::Union::new(choices.split('|').map(group));
    prop::collection::vec(one, times).prop_map(|groups| groups.concat()).boxed()
}

/// Returns the commands of a template.
fn template(text: &str) -> BoxedStrategy<CommandWords> {
    text.split(' ').map(part).collect::<Vec<_>>().prop_map(|parts| parts.concat()).boxed()
}

/// Returns the commands of a family.
pub fn family(templates: &str) -> BoxedStrategy<CommandWords> {
    prop::strategy::Union::new(templates.lines().map(str::trim).filter(|line| !line.is_empty()).map(template))
        .boxed()
}

/// Returns whether a command may write a key that has already expired. With these alphabets only
/// SET does: other commands with a past time delete the key, and future times are far away.
pub fn writes_expired(words: &[Vec<u8>]) -> bool {
    let is = |word: &[u8], name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    let passed = |time: &[u8]| {
        let time = std::str::from_utf8(time).ok().and_then(|time| time.parse::<i64>().ok());
        time.is_some_and(|time| time < FAR_AWAY)
    };
    is(&words[0], "SET")
        && words.windows(2).any(|pair| (is(&pair[0], "EXAT") || is(&pair[0], "PXAT")) && passed(&pair[1]))
}

#[test]
fn only_set_writes_what_has_expired() {
    let writes = |line: &str| {
        writes_expired(&line.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>())
    };
    assert!(writes("SET a v EXAT 1") && writes("set a v NX GET pxat 1"));
    for line in ["SET a 1", "SET EXAT", "SET a v EXAT 4000000000", "GETEX a EXAT 1", "DBSIZE"] {
        assert!(!writes(line), "{line}");
    }
}

/// A defect of a few commands, which makes their arity or arguments wrong.
#[derive(Debug, Clone)]
pub enum SequenceDefect {
    Nothing,
    /// Removes the last word.
    Shorter,
    /// Adds a word.
    Longer(Vec<u8>),
    /// Replaces the word at this index, modulo the number of words.
    Other(usize, Vec<u8>),
}

/// Returns whether the client of a command may wait.
fn is_blocking(name: &[u8]) -> bool {
    ["BL", "BR", "BZ"].iter().any(|start| name.starts_with(start.as_bytes()))
}

pub fn sequence_defect() -> impl Strategy<Value = SequenceDefect> {
    prop_oneof![
        20 => Just(SequenceDefect::Nothing),
        1 => Just(SequenceDefect::Shorter),
        1 => word("<odd>").prop_map(SequenceDefect::Longer),
        1 => (1usize..6, word("<odd>")).prop_map(|(at, word)| SequenceDefect::Other(at, word)),
    ]
}

impl SequenceDefect {
    /// Applies the defect. Keeps the name of the command.
    pub fn apply(&self, words: &mut CommandWords) {
        self.change(words);
        // Incident: a defect made the id of XADD `*`, the time. Consequence: CI failed if the two
        // servers were asked in different milliseconds. Fix: no id of XADD is the time.
        if words[0] == b"XADD" {
            words.iter_mut().filter(|word| *word == b"*").for_each(|word| *word = b"1-*".to_vec());
        }
        let cursor = match words[0].to_ascii_uppercase().as_slice() {
            b"SCAN" => words.get_mut(1),
            b"HSCAN" | b"ZSCAN" => words.get_mut(2),
            _ => None,
        };
        // The result of an unknown cursor is undefined, in Redis too.
        if let Some(cursor) = cursor.filter(|cursor| *cursor == b"-1") {
            *cursor = b"0".to_vec();
        }
    }

    fn change(&self, words: &mut CommandWords) {
        // With another timeout, such a command may wait for ever.
        if is_blocking(&words[0]) {
            return;
        }
        let even = words.get(1).is_some_and(|key| key == EVEN_KEY.as_bytes());
        match self {
            Self::Shorter if words.len() > 1 => drop(words.pop()),
            // On purpose: these commands accept one word more than in Redis 7.0.
            Self::Longer(_) if [&b"ZRANK"[..], b"ZREVRANK"].contains(&words[0].as_slice()) => {}
            Self::Longer(word) => words.push(word.clone()),
            // The members of this key must keep equal scores.
            Self::Other(..) if even => {}
            Self::Other(at, word) if words.len() > 1 => {
                let at = 1 + at % (words.len() - 1);
                words[at].clone_from(word);
            }
            Self::Nothing | Self::Shorter | Self::Other(..) => {}
        }
    }
}
