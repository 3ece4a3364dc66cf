//! Sets, sorted or not, and large hashes under kills: acknowledged writes must survive, in the
//! order of the commands, and a set's two sequences, by member and by score, must agree.

use skeindb::client::{Client, Reply};

use super::oracle::{DurabilityPromise, OracleRows, check_bounds, under};
use super::writers::WriterProgress;
/// The pipelined writers of collections, as the number of steps that each sends at once.
pub const DEPTHS: [u64; 2] = [1, 16];

/// A writer's sorted sets that `read` returns whole.
const SETS: [&str; 4] = ["set", "pair", "union", "brief"];

/// A writer's sets that are not sorted.
const PLAIN_SETS: [&str; 2] = ["plain", "moved"];

/// Returns the score of a step. Scores have another order than the steps.
fn scrambled(step: u64) -> u64 {
    step * 7919 % 1009
}

/// Returns the commands of step `step` of the writer `name`, in order. [`check`] knows the result
/// of each.
pub fn step_commands(name: &str, step: u64) -> Vec<Vec<String>> {
    let n = step.to_string();
    let command = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let key = |key: &str| format!("{name}/{key}");
    vec![
        command(&["ZADD", &key("set"), &scrambled(step).to_string(), &format!("member {step:010}")]),
        command(&["ZINCRBY", &key("set"), "1", "count"]),
        command(&["ZADD", &key("set"), &n, &format!("gone {step:010}")]),
        command(&["ZREM", &key("set"), &format!("gone {:010}", step - 1)]),
        command(&["ZADD", &key("pair"), &n, "a", &n, "b"]),
        command(&["ZUNIONSTORE", &key("union"), "2", &key("pair"), &key("pair")]),
        command(&["HSET", &key("hash"), &format!("field {step:010}"), &n, "last", &n]),
        command(&["HDEL", &key("hash"), &format!("gone {:010}", step - 1)]),
        command(&["HSET", &key("hash"), &format!("gone {step:010}"), &n]),
        command(&["SADD", &key("plain"), &format!("member {step:010}"), &format!("twin {step:010}")]),
        command(&["SMOVE", &key("plain"), &key("moved"), &format!("twin {step:010}")]),
        command(&["SREM", &key("plain"), &format!("gone {:010}", step - 1)]),
        command(&["SADD", &key("plain"), &format!("gone {step:010}")]),
        command(&["DEL", &key("brief")]),
        command(&["ZADD", &key("brief"), &n, "x", &n, "y", &n, "z"]),
    ]
}

/// Returns the writers' data as rows: each member and each field by itself.
pub fn read(client: &mut Client, name: &str) -> OracleRows {
    let mut rows = OracleRows::new();
    for writer in 0..DEPTHS.len() {
        let own = format!("{name}/c{writer}");
        for set in SETS {
            let key = format!("{own}/{set}");
            for (member, score) in pairs(client, &["ZRANGE", &key, "0", "-1", "WITHSCORES"]) {
                rows.insert(format!("{key}/{member}"), score);
            }
        }
        for set in PLAIN_SETS {
            let key = format!("{own}/{set}");
            for member in texts(client, &["SMEMBERS", &key]) {
                rows.insert(format!("{key}/{member}"), String::new());
            }
        }
        for (field, value) in pairs(client, &["HGETALL", &format!("{own}/hash")]) {
            rows.insert(format!("{own}/hash/{field}"), value);
        }
    }
    rows
}

fn ask(client: &mut Client, command: &[&str]) -> Reply {
    let command: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
    client.call(&command).expect("the server answers")
}

fn text(reply: Reply) -> String {
    match reply {
        Reply::Bulk(bytes) => String::from_utf8(bytes).expect("we wrote text"),
        other => panic!("{other} in place of a string"),
    }
}

fn texts(client: &mut Client, command: &[&str]) -> Vec<String> {
    ask(client, command).into_array().expect("a list").into_iter().map(text).collect()
}

fn pairs(client: &mut Client, command: &[&str]) -> Vec<(String, String)> {
    let mut items = texts(client, command).into_iter();
    std::iter::from_fn(|| Some((items.next()?, items.next()?))).collect()
}

/// Checks the remaining data of a round. Returns the number of whole steps.
pub fn check(
    client: &mut Client,
    rows: &OracleRows,
    name: &str,
    progress: &[WriterProgress],
    promise: DurabilityPromise,
) -> u64 {
    let mut steps = 0;
    for (writer, &progress) in progress.iter().enumerate() {
        let own = format!("{name}/c{writer}");
        for set in SETS {
            check_orders(client, &format!("{own}/{set}"));
        }
        for set in PLAIN_SETS {
            check_plain_set(client, &format!("{own}/{set}"));
        }
        let fields = pairs(client, &["HGETALL", &format!("{own}/hash")]).len();
        let count = i64::try_from(fields).expect("it fits");
        assert_eq!(ask(client, &["HLEN", &format!("{own}/hash")]), Reply::Integer(count));
        steps += check_steps(rows, &own, progress, promise);
    }
    steps
}

/// Checks that a set's members by score, by rank, by bytes, and one by one are the same.
fn check_orders(client: &mut Client, key: &str) {
    let by_score = pairs(client, &["ZRANGE", key, "-inf", "+inf", "BYSCORE", "WITHSCORES"]);
    let sorted = by_score.iter().map(|(member, score)| (score.parse::<u64>().expect("a number"), member));
    assert!(sorted.is_sorted(), "{key}: the order by score is none");
    assert_eq!(by_score, pairs(client, &["ZRANGE", key, "0", "-1", "WITHSCORES"]), "{key}: by rank");
    let count = i64::try_from(by_score.len()).expect("it fits");
    assert_eq!(ask(client, &["ZCARD", key]), Reply::Integer(count), "{key}: ZCARD");
    // A few hundred at a time, so that the replies fit into the buffers of the connection.
    for (piece, members) in by_score.chunks(200).enumerate() {
        let asked: Vec<[&str; 3]> = members
            .iter()
            .flat_map(|(member, _)| [["ZSCORE", key, member], ["ZRANK", key, member]])
            .collect();
        let replies = client.pipeline(&asked).expect("the server answers");
        for (at, ((member, score), reply)) in members.iter().zip(replies.chunks_exact(2)).enumerate() {
            let rank = i64::try_from(piece * 200 + at).expect("it fits");
            let expected = [Reply::Bulk(score.clone().into_bytes()), Reply::Integer(rank)];
            assert_eq!(reply, expected, "{key}: score and rank of {member}");
        }
    }
    let mut by_bytes = by_score;
    by_bytes.sort_unstable();
    assert_eq!(scan(client, key), by_bytes, "{key}: ZSCAN");
}

/// Checks that a set's members by rank, by bytes, and their number are the same.
fn check_plain_set(client: &mut Client, key: &str) {
    let members = texts(client, &["SMEMBERS", key]);
    let count = i64::try_from(members.len()).expect("it fits");
    assert_eq!(ask(client, &["SCARD", key]), Reply::Integer(count), "{key}: SCARD");
    let (mut cursor, mut found) = ("0".to_owned(), Vec::new());
    loop {
        let (next, items) =
            ask(client, &["SSCAN", key, &cursor, "COUNT", "500"]).into_page().expect("a page");
        found.extend(items.into_iter().map(|item| text(Reply::Bulk(item))));
        cursor = text(Reply::Bulk(next));
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(found, members, "{key}: SSCAN");
}

/// Returns the result of ZSCAN, sorted. It reads the members, not the score index.
fn scan(client: &mut Client, key: &str) -> Vec<(String, String)> {
    let (mut cursor, mut found) = ("0".to_owned(), Vec::new());
    loop {
        let page = ask(client, &["ZSCAN", key, &cursor, "COUNT", "500"]);
        let (next, items) = page.into_page().expect("a page");
        let mut items = items.into_iter().map(|item| text(Reply::Bulk(item)));
        found.extend(std::iter::from_fn(|| Some((items.next()?, items.next()?))));
        cursor = text(Reply::Bulk(next));
        if cursor == "0" {
            found.sort_unstable();
            return found;
        }
    }
}

/// Checks that a prefix of a writer's commands, in the order of sending, survived. Returns the
/// number of whole steps.
fn check_steps(rows: &OracleRows, own: &str, progress: WriterProgress, promise: DurabilityPromise) -> u64 {
    let number = |key: &str| -> Option<u64> {
        rows.get(&format!("{own}/{key}")).map(|text| text.parse().expect("we wrote numbers"))
    };
    let same = |keys: &[&str]| {
        let numbers: Vec<_> = keys.iter().map(|key| number(key)).collect();
        assert!(numbers.iter().all(|number| *number == numbers[0]), "{own}: half a command: {numbers:?}");
        numbers[0]
    };
    let members = numbered(rows, &format!("{own}/set/member "));
    for (expected, (step, score)) in (1..).zip(&members) {
        assert_eq!((*step, score.parse()), (expected, Ok(scrambled(expected))), "{own}: a hole");
    }
    let fields = numbered(rows, &format!("{own}/hash/field "));
    assert!((1..).zip(&fields).all(|(expected, (step, _))| *step == expected), "{own}: a hole in the fields");
    let gone =
        |prefix: &str| -> Vec<u64> { numbered(rows, prefix).into_iter().map(|(step, _)| step).collect() };
    let in_set = gone(&format!("{own}/set/gone "));
    let (set_removed, set_added) =
        (in_set.first().copied().unwrap_or(0), in_set.last().copied().unwrap_or(0));
    assert!(in_set.len() <= 2 && set_added - set_removed <= 1, "{own}: members are back: {in_set:?}");
    let with_fields = number("hash/last").unwrap_or(0);
    assert_eq!(with_fields, fields.len() as u64, "{own}: half an HSET");
    let in_hash = gone(&format!("{own}/hash/gone "));
    assert!(in_hash.len() <= 1, "{own}: fields are back: {in_hash:?}");
    // A missing value is right if the previous command's value was removed and the next was not yet
    // written.
    let alone = |there: Option<u64>, before: u64| {
        there.map_or((before, before.saturating_sub(1)), |step| (step, step))
    };
    let (hash_removed, hash_added) = alone(in_hash.first().copied(), with_fields);
    let union = same(&["union/a", "union/b"]).unwrap_or(0) / 2;
    let plain = gone(&format!("{own}/plain/member "));
    let moved = gone(&format!("{own}/moved/twin "));
    let twins = [moved.clone(), gone(&format!("{own}/plain/twin "))].concat();
    for steps in [&plain, &moved, &twins] {
        assert!(
            (1..=steps.len() as u64).eq(steps.iter().copied()),
            "{own}: a hole in a set, or half a move: {steps:?}"
        );
    }
    assert_eq!(plain.len(), twins.len(), "{own}: half an SADD");
    let in_plain = gone(&format!("{own}/plain/gone "));
    assert!(in_plain.len() <= 1, "{own}: members are back: {in_plain:?}");
    let (plain_removed, plain_added) = alone(in_plain.first().copied(), moved.len() as u64);
    let brief = same(&["brief/x", "brief/y", "brief/z"]);
    let (removed, made) = alone(brief, plain_added);
    let reached = [
        members.len() as u64,
        number("set/count").unwrap_or(0),
        set_added,
        set_removed,
        same(&["pair/a", "pair/b"]).unwrap_or(0),
        union,
        with_fields,
        hash_removed,
        hash_added,
        plain.len() as u64,
        moved.len() as u64,
        plain_removed,
        plain_added,
        removed,
        made,
    ];
    assert!(reached.is_sorted_by(|a, b| a >= b), "{own}: a hole in the order of the commands: {reached:?}");
    assert!(reached[0] - made <= 1, "{own}: a hole in the order of the steps: {reached:?}");
    assert_eq!(reached.len(), step_commands(own, 1).len());
    check_bounds(&format!("commands of {own}"), reached.iter().sum(), progress, promise);
    made
}

/// Returns the rows under a prefix with keys that end in numbers: the numbers and the values.
fn numbered<'r>(rows: &'r OracleRows, prefix: &str) -> Vec<(u64, &'r String)> {
    let number = |key: &str| key[prefix.len()..].parse().expect("it ends in a number");
    under(rows, prefix).map(|(key, value)| (number(key), value)).collect()
}
