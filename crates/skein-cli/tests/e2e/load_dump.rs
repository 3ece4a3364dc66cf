//! `skein load` and `skein dump`: every format must preserve its input, through a server and
//! through a folder.

use std::fmt::Write as _;
use std::process::Stdio;

use skein_disk::{DiskOptions, DiskStore, Values};

use rustix::process::Signal;

use crate::common::{
    E2eRandom, SkeinServe, assert_refused, disk_trie, interrupt, run, run_with_input, skein, stdout_of,
};
use skeindb::client::Reply;

/// Returns rows with awkward bytes, as TSV, in the order of their keys.
fn awkward_rows() -> Vec<u8> {
    let mut random = E2eRandom::new(7);
    let mut rows = std::collections::BTreeMap::new();
    for row in 0..300u64 {
        let bytes = |random: &mut E2eRandom, longest: u64| -> Vec<u8> {
            (0..random.below(longest)).map(|_| b"\t\n\r\\\",\0\xff ab"[random.below(11) as usize]).collect()
        };
        let key = bytes(&mut random, 20);
        let fields = if row % 3 == 0 { 4 } else { 1 };
        let mut fields: Vec<Vec<u8>> = (0..fields).map(|_| bytes(&mut random, 40)).collect();
        let columns = fields.len() == 4;
        if columns {
            // Columns are returned in the order of their names, so the names differ.
            fields[0] = b"first".to_vec();
            fields[2] = b"second".to_vec();
        }
        if row % 5 == 0 {
            // In the year 5138.
            fields.push(format!("{}", 99_999_999_999_000 + row).into_bytes());
            fields.extend((!columns).then(Vec::new));
        }
        rows.insert(key, fields);
    }
    let mut text = Vec::new();
    for (key, fields) in rows {
        text.extend(escape(&key));
        for field in fields {
            text.push(b'\t');
            text.extend(escape(&field));
        }
        text.push(b'\n');
    }
    text
}

fn escape(field: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for &byte in field {
        match byte {
            b'\t' => text.extend(b"\\t"),
            b'\n' => text.extend(b"\\n"),
            b'\r' => text.extend(b"\\r"),
            b'\\' => text.extend(b"\\\\"),
            _ => text.push(byte),
        }
    }
    text
}

#[test]
fn every_format_preserves_its_input() {
    let rows = awkward_rows();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // `--data` opens a folder of the memory engine only.
    let is_memory = disk_trie().is_none();
    if is_memory {
        stdout_of(run_with_input(["load", "-", "--format", "tsv", "--data", &path("first")], &rows));
    } else {
        let server = SkeinServe::start(path("first").as_ref(), &[]);
        stdout_of(run_with_input(["load", "-", "--format", "tsv", "--to", &server.address], &rows));
        server.stop();
    }
    for format in ["tsv", "csv", "hex"] {
        let server = SkeinServe::start(path("first").as_ref(), &[]);
        let over_network = stdout_of(run(["dump", "--from", &server.address, "--format", format]));
        server.stop();
        if is_memory {
            let from_folder = stdout_of(run(["dump", "--data", &path("first"), "--format", format]));
            assert!(over_network == from_folder, "{format}: server and folder differ");
        }

        let server = SkeinServe::start(path(format).as_ref(), &[]);
        let load = ["load", "-", "--format", format, "--to", &server.address, "--batch", "7"];
        stdout_of(run_with_input(load, &over_network));
        let back = stdout_of(run(["dump", "--from", &server.address]));
        assert!(back == rows, "{format}: the rows changed on their way");
        server.stop();
    }
}

#[test]
fn bounds_and_limits() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let keys = "a\nab\nabc\nb\nc\n";
    stdout_of(run_with_input(["load", "-", "--to", &server.address, "--value", "key"], keys.as_bytes()));
    let dump = |options: &[&str]| -> String {
        let from = ["dump", "--from", server.address.as_str(), "--format", "lines"];
        String::from_utf8(stdout_of(run(from.iter().chain(options)))).unwrap().replace('\n', " ")
    };
    assert_eq!(dump(&[]), "a ab abc b c ");
    assert_eq!(dump(&["--prefix", "ab"]), "ab abc ");
    assert_eq!(dump(&["--min", "(a", "--max", "[b"]), "ab abc b ");
    assert_eq!(dump(&["--min", "-", "--max", "(b"]), "a ab abc ");
    assert_eq!(dump(&["--min", "[abc", "--max", "+", "--limit", "2"]), "abc b ");
    assert_eq!(dump(&["--limit", "0"]), "");
    let tsv = stdout_of(run(["dump", "--from", &server.address, "--limit", "1"]));
    assert_eq!(tsv, b"a\ta\n");
    assert_refused(&run(["dump", "--from", &server.address, "--min", "a"]), 2, &["--min a", "[key"]);
    server.stop();
}

#[test]
fn of_two_records_of_a_key_the_last_wins() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let text: String = (0..5000).map(|n| format!("{}\t{n}\n", n % 10)).collect::<Vec<_>>().concat();
    let load = ["load", "-", "--format", "tsv", "--batch", "3", "--data", data];
    stdout_of(run_with_input(load, text.as_bytes()));
    let expected: String = (0..10).map(|key| format!("{key}\t{}\n", 4990 + key)).collect::<Vec<_>>().concat();
    assert_eq!(String::from_utf8(stdout_of(run(["dump", "--data", data]))).unwrap(), expected);
}

#[test]
fn bad_lines_are_named_and_the_others_are_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let long = "k".repeat(65_536);
    let text = format!("a\t1\nno value\n{long}\t2\nb\\x\t3\nc\t4\n");
    for target in ["server", "folder"] {
        let data = folder.path().join("other");
        let place = if target == "server" {
            ["--to", server.address.as_str()]
        } else {
            ["--data", data.to_str().unwrap()]
        };
        let load = ["load", "-", "--format", "tsv"].into_iter().chain(place);
        let output = run_with_input(load, text.as_bytes());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{target}: {errors}");
        assert!(output.stdout.starts_with(b"5 records read, 2 loaded, 3 refused"), "{target}");
        for reason in
            ["line 2: a key without a value", "line 4: unknown escape \\x", "line 3: ", "65536", "65535"]
        {
            assert!(errors.contains(reason), "{target}: {reason:?} is not in: {errors}");
        }
    }
    let kept = server.client().call(&[b"MGET", b"a", b"c"]).unwrap();
    assert_eq!(kept, Reply::Array(vec![Reply::Bulk(b"1".to_vec()), Reply::Bulk(b"4".to_vec())]));
    server.stop();
}

#[test]
fn many_bad_lines_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let load = ["load", "-", "--format", "hex", "--show-refused", "2", "--data", data.to_str().unwrap()];
    let output = run_with_input(load, "zz\tzz\n".repeat(50).as_bytes());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.lines().filter(|line| line.starts_with("line ")).count(), 2, "{errors}");
    assert!(errors.contains("and 48 more"), "{errors}");
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn lines_cannot_hold_newlines_and_dump_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    stdout_of(run_with_input(["load", "-", "--format", "tsv", "--data", data], b"a\\nb\t1\nc\t2\n"));
    let output = run(["dump", "--data", data, "--format", "lines"]);
    assert_refused(&output, 4, &["1 key with a newline", "--format hex"]);
    assert_eq!(output.stdout, b"c\n");
}

#[test]
fn large_values_pass_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let text: String =
        (0..40).map(|n| format!("k{n:02}\t{}\n", "v".repeat(200_000 + n))).collect::<Vec<_>>().concat();
    stdout_of(run_with_input(["load", "-", "--format", "tsv", "--to", &server.address], text.as_bytes()));
    assert!(stdout_of(run(["dump", "--from", &server.address])) == text.as_bytes(), "the values changed");
    server.stop();
}

/// Returns commands for small and large sets, sorted sets, hashes, lists and streams, with and
/// without an expiry time.
fn collections() -> Vec<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let mut commands: Vec<Vec<String>> = vec![
        words(&["SET", "a", "1"]),
        words(&["ZADD", "set/small", "-inf", "least", "0.1", "a\tb", "1e300", "", "2", "x\ny", "2", "zset"]),
        words(&["ZADD", "set/timed", "1", "m"]),
        words(&["PEXPIREAT", "set/timed", "99999999999000"]),
        words(&["HSET", "hash/small", "name", "value"]),
        words(&["SADD", "plain/small", "", "a\tb", "x\ny", "set"]),
        words(&["SADD", "plain/timed", "m"]),
        words(&["PEXPIREAT", "plain/timed", "99999999999002"]),
        words(&["RPUSH", "list/small", "z", "", "a\tb", "x\ny", "\0", "z", "list", ""]),
        words(&["RPUSH", "list/timed", "z", "a"]),
        words(&["PEXPIREAT", "list/timed", "99999999999003"]),
    ];
    commands.extend(
        (1..=1500).map(|n| words(&["XADD", "stream/large", &format!("7-{n}"), "f", "a\tb", "", "\n"])),
    );
    for command in [
        &["XGROUP", "CREATE", "stream/large", "many", "0"][..],
        &["XREADGROUP", "GROUP", "many", "a\tb", "COUNT", "1200", "STREAMS", "stream/large", ">"],
        &["XREADGROUP", "GROUP", "many", "", "COUNT", "10", "STREAMS", "stream/large", ">"],
        &["XGROUP", "CREATE", "stream/large", "", "7-1400", "ENTRIESREAD", "1400"],
        &["XDEL", "stream/large", "7-3", "7-1500"],
        &["XADD", "stream/timed", "1-1", "f", "v"],
        &["PEXPIREAT", "stream/timed", "99999999999004"],
        &["XGROUP", "CREATE", "stream/empty", "group", "$", "MKSTREAM"],
    ] {
        commands.push(words(command));
    }
    for first in (0..3000).step_by(500) {
        let mut command = words(&["RPUSH", "list/large"]);
        command.extend((first..first + 500).map(|n| format!("element {}", n * 7919 % 1000)));
        commands.push(command);
    }
    for first in (0..2500).step_by(500) {
        let pairs = |pair: fn(u32) -> [String; 2]| (first..first + 500).flat_map(pair);
        let large = |name: &str, key: &str| words(&[name, key]);
        let mut command = large("ZADD", "set/large");
        command.extend(pairs(|n| [format!("{}", f64::from(n * 7919 % 2500) / 8.0), format!("member {n}")]));
        commands.push(command);
        let mut command = large("SADD", "plain/large");
        command.extend((first..first + 500).map(|n| format!("member {n}")));
        commands.push(command);
        let mut command = large("HSET", "hash/large");
        command.extend(pairs(|n| [format!("field {n}"), format!("value {n}")]));
        commands.push(command);
    }
    commands.push(words(&["PEXPIREAT", "hash/large", "99999999999001"]));
    commands
}

/// Asserts that a server answers as if it had all of them.
fn assert_collections(server: &SkeinServe, before: &SkeinServe) {
    let questions: [&[&str]; 24] = [
        &["ZRANGE", "set/small", "0", "-1", "WITHSCORES"],
        &["ZRANGE", "set/timed", "0", "-1", "WITHSCORES"],
        &["ZRANGE", "set/large", "0", "-1", "WITHSCORES"],
        &["HGETALL", "hash/small"],
        &["HGETALL", "hash/large"],
        &["PEXPIRETIME", "set/timed"],
        &["PEXPIRETIME", "hash/large"],
        &["PEXPIRETIME", "set/large"],
        &["SMEMBERS", "plain/small"],
        &["SMEMBERS", "plain/timed"],
        &["SMEMBERS", "plain/large"],
        &["PEXPIRETIME", "plain/timed"],
        &["LRANGE", "list/small", "0", "-1"],
        &["LRANGE", "list/timed", "0", "-1"],
        &["LRANGE", "list/large", "0", "-1"],
        &["LLEN", "list/large"],
        &["PEXPIRETIME", "list/timed"],
        &["XINFO", "STREAM", "stream/large", "FULL", "COUNT", "0"],
        &["XINFO", "STREAM", "stream/empty", "FULL", "COUNT", "0"],
        &["XINFO", "STREAM", "stream/timed", "FULL", "COUNT", "0"],
        &["PEXPIRETIME", "stream/timed"],
        &["XPENDING", "stream/large", "many"],
        &["XINFO", "GROUPS", "stream/large"],
        &["DBSIZE"],
    ];
    let (mut now, mut then) = (server.client(), before.client());
    for question in questions {
        let question: Vec<&[u8]> = question.iter().map(|word| word.as_bytes()).collect();
        let answer = now.call(&question).unwrap();
        assert!(!matches!(answer, Reply::Error(_)), "{answer}");
        assert!(answer == then.call(&question).unwrap(), "{:?} differs", question[..2].to_vec());
    }
}

#[test]
fn collections_pass_both_ways() {
    if disk_trie().is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let server = SkeinServe::start(path("first").as_ref(), &[]);
    let mut client = server.client();
    for command in collections() {
        let command: Vec<&[u8]> = command.iter().map(String::as_bytes).collect();
        assert!(!matches!(client.call(&command).unwrap(), Reply::Error(_)));
    }
    let keys = stdout_of(run(["dump", "--from", &server.address, "--format", "lines"]));
    assert_eq!(
        String::from_utf8_lossy(&keys).replace('\n', " "),
        "a hash/large hash/small list/large list/small list/timed plain/large plain/small plain/timed set/large \
         set/small set/timed stream/empty stream/large stream/timed "
    );
    let first = stdout_of(run(["dump", "--from", &server.address, "--limit", "2"]));
    assert_eq!(first.split(|byte| *byte == b'\n').count(), 1 + 3 + 1, "a value, 2,500 fields, and the end");
    for format in ["tsv", "csv", "hex"] {
        let dump = stdout_of(run(["dump", "--from", &server.address, "--format", format]));
        let to_folder = ["load", "-", "--format", format, "--data", &path(format)];
        stdout_of(run_with_input(to_folder, &dump));
        let from_folder = stdout_of(run(["dump", "--data", &path(format), "--format", format]));
        assert!(from_folder == dump, "{format}: server and folder differ");

        let again = SkeinServe::start(path(&format!("{format} again")).as_ref(), &[]);
        let to_server = ["load", "-", "--format", format, "--to", &again.address];
        stdout_of(run_with_input(to_server, &dump));
        assert_collections(&again, &server);
        again.stop();
    }
    server.stop();
}

/// A list that is longer than a reply may be is read in pieces that fit.
#[test]
fn a_list_longer_than_a_reply_is_dumped() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &["--max-reply", "4k"]);
    let mut text = String::from("before\tv\n");
    for first in (0..3000).step_by(1000) {
        let elements: Vec<String> =
            (first..first + 1000).map(|n| format!("{}\t\t", n * 7919 % 1000)).collect();
        text += &["list\t", &elements.concat(), "list:99999999999000\n"].concat();
    }
    stdout_of(run_with_input(["load", "-", "--format", "tsv", "--to", &server.address], text.as_bytes()));
    let dump = run(["dump", "--from", &server.address]);
    assert!(String::from_utf8_lossy(&dump.stderr).contains("too long for one reply"), "{dump:?}");
    assert!(stdout_of(dump) == text.as_bytes(), "the list changed");
    server.stop();
}

/// A stream that is longer than a reply may be is read in pieces that fit, its pending entries, too.
#[test]
fn a_stream_longer_than_a_reply_is_dumped() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &["--max-reply", "8k"]);
    let pending = (1..=1200).fold(String::new(), |mut text, n| {
        write!(text, "\tpending\t{n}-1\tdelivery-time\t{}\tdelivery-count\t{n}", 9000 - n).unwrap();
        text
    });
    let groups =
        format!("groups\t1\tgroup\tg\tlast-delivered-id\t1200-1\tconsumer\tc\tseen-time\t77{pending}");
    let entries: Vec<String> = (1..=2000).map(|n| format!("\t{n}-1\t1\tf\t{n:0700}")).collect();
    let mut text = format!("s\t{groups}\tstream:99999999999000\n");
    for entries in entries.chunks(1000) {
        writeln!(text, "s{}\tstream:99999999999000", entries.concat()).unwrap();
    }
    text += "s\tlength\t2000\tlast-generated-id\t3000-0\tmax-deleted-entry-id\t2-2\tentries-added\t2001\tstream:99999999999000\n";
    stdout_of(run_with_input(["load", "-", "--format", "tsv", "--to", &server.address], text.as_bytes()));
    let dump = run(["dump", "--from", &server.address]);
    assert!(String::from_utf8_lossy(&dump.stderr).contains("too long for one reply"), "{dump:?}");
    assert_eq!(String::from_utf8_lossy(&stdout_of(dump)), text);
    // By the snapshot, it is the same.
    server.stop();
    let server = SkeinServe::start(folder.path(), &[]);
    assert_eq!(String::from_utf8_lossy(&stdout_of(run(["dump", "--from", &server.address]))), text);
    server.stop();
}

/// The first record of a stream replaces the key; records of entries alone are added. Both targets
/// reject the same records.
#[test]
fn records_of_streams_are_loaded_or_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let (data, first) = (folder.path().join("data"), folder.path().join("first"));
    let (data, server) = (data.to_str().unwrap(), SkeinServe::start(&first, &[]));
    let text = "s\tv\ns\tgroups\t0\tstream\ns\t5-5\t1\ta\tb\t6-0\t1\ta\tb\tstream\n\
                s\t6-0\t1\ta\tb\tstream\n\
                s\tlength\t2\tlast-generated-id\t1-1\tmax-deleted-entry-id\t0-0\tentries-added\t2\tstream\n\
                alone\t1-1\t2\ta\tb\tc\td\tstream\n\
                twice\tgroups\t2\tgroup\tg\tlast-delivered-id\t0-0\tgroup\tg\tlast-delivered-id\t0-0\tstream\n\
                t\tv\nt\t1-1\t1\ta\tb\tstream\n";
    let expected = "alone\tgroups\t0\tstream\nalone\t1-1\t2\ta\tb\tc\td\tstream\n\
                    alone\tlength\t1\tlast-generated-id\t1-1\tmax-deleted-entry-id\t0-0\tentries-added\t1\tstream\n\
                    s\tgroups\t0\tstream\ns\t5-5\t1\ta\tb\t6-0\t1\ta\tb\tstream\n\
                    s\tlength\t2\tlast-generated-id\t6-0\tmax-deleted-entry-id\t0-0\tentries-added\t2\tstream\n\
                    t\tv\n";
    for target in [["--to", server.address.as_str()], ["--data", data]] {
        if target[0] == "--data" && disk_trie().is_some() {
            continue;
        }
        for _ in 0..2 {
            let load = ["load", "-", "--format", "tsv"].into_iter().chain(target);
            let output = run_with_input(load, text.as_bytes());
            let errors = String::from_utf8_lossy(&output.stderr);
            let mut lines: Vec<&str> = errors.lines().filter_map(|line| line.split(':').next()).collect();
            // A folder has several writers.
            lines.sort_unstable();
            // Of both loads the second one finds `alone`.
            let alone = lines.contains(&"line 6");
            let expected: Vec<&str> = ["line 4", "line 5", "line 6", "line 7", "line 9"]
                .into_iter()
                .filter(|line| alone || *line != "line 6")
                .collect();
            assert_eq!(lines, expected, "{errors}");
            assert_eq!(output.status.code(), Some(4));
            if target[0] == "--data" {
                assert!(errors.contains("a part of the stream of the key `s`"), "{errors}");
            }
        }
        let source = if target[0] == "--to" { ["--from", target[1]] } else { target };
        let dump = stdout_of(run(["dump"].into_iter().chain(source)));
        assert_eq!(String::from_utf8_lossy(&dump), expected);
    }
    server.stop();
}

/// A list is appended to, as RPUSH does. So it is doubled if it is loaded twice.
#[test]
fn a_loaded_list_is_appended() {
    let folder = tempfile::tempdir().unwrap();
    let (data, first) = (folder.path().join("data"), folder.path().join("first"));
    let (data, server) = (data.to_str().unwrap(), SkeinServe::start(&first, &[]));
    let text = "list\tb\t\ta\t\tlist\nlist\tb\t\tlist:99999999999000\n";
    for target in [["--to", server.address.as_str()], ["--data", data]] {
        let load = ["load", "-", "--format", "tsv"].into_iter().chain(target);
        stdout_of(run_with_input(load.clone(), text.as_bytes()));
        stdout_of(run_with_input(load, b"list\tc\t\tlist\nnone\t1\n"));
    }
    let expected = "list\tb\t\ta\t\tb\t\tc\t\tlist:99999999999000\nnone\t1\n";
    for source in [["--from", server.address.as_str()], ["--data", data]] {
        let dump = ["dump"].into_iter().chain(source);
        assert_eq!(String::from_utf8_lossy(&stdout_of(run(dump))), expected);
        let load = ["load", "-", "--format", "tsv"];
        let target = if source[0] == "--from" { ["--to", source[1]] } else { source };
        let output = run_with_input(load.into_iter().chain(target), b"none\tx\t\tlist\n");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(4) && errors.starts_with("line 1: "), "{errors}");
    }
    server.stop();
}

/// A record that is no set is refused with its line, and the rest is loaded.
#[test]
fn the_disk_engine_loads_collections() {
    let folder = tempfile::tempdir().unwrap();
    let options = DiskOptions { values: Values::Rows, ..DiskOptions::default() };
    DiskStore::open(folder.path(), options).unwrap().close().unwrap();
    let text = "a\t1\nb\tm\t1.5\tzset\nc\tm\tx\tzset\nd\tm\t\tn\t\tset:99999999999000\ne\t2\nf\tn\t\tm\t\t\t\tm\t\tlist:9999999999999\n\
        g\tgroups\t1\tgroup\tg\tlast-delivered-id\t1-1\tentries-read\t1\tconsumer\tc\tseen-time\t5\tpending\t1-1\tdelivery-time\t4\tdelivery-count\t3\tstream\n\
        g\t1-1\t1\ta\tb\tstream\n\
        g\tlength\t1\tlast-generated-id\t2-2\tmax-deleted-entry-id\t1-0\tentries-added\t9\tstream\n";
    let load = ["load", "-", "--format", "tsv", "--data", folder.path().to_str().unwrap()];
    let output = run_with_input(load, text.as_bytes());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{errors}");
    let reason = "line 3: the score \"x\" is not a number";
    assert!(errors.contains(reason), "{reason:?} is not in: {errors}");
    assert!(output.stdout.starts_with(b"9 records read, 8 loaded, 1 refused"));
    let dump = ["dump", "--format", "tsv", "--data", folder.path().to_str().unwrap()];
    let expected = text.replace("c\tm\tx\tzset\n", "");
    assert_eq!(String::from_utf8_lossy(&stdout_of(run(dump))), expected);
}

/// Incident: `dump -o` truncated an existing file before the first row, and a failed dump left half
/// a file under the final name. Consequence: a backup that failed destroyed the previous one. Fix:
/// rows are written under a temporary name, and replacing a file requires `--force`.
#[test]
fn a_dump_replaces_no_file_and_leaves_no_half_one() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("all.tsv"));
    let (data, name) = (data.to_str().unwrap(), file.to_str().unwrap());
    stdout_of(run_with_input(["load", "-", "--data", data], b"a\nb\nc\n"));
    std::fs::write(&file, "precious").unwrap();
    assert_refused(&run(["dump", "--data", data, "-o", name]), 1, &[name, "already exists", "--force"]);
    // There is no server to dump.
    assert_eq!(run(["dump", "--from", "127.0.0.1:1", "-o", name, "--force"]).status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    let dumped = run(["dump", "--data", data, "-o", name, "--force"]);
    assert!(String::from_utf8_lossy(&dumped.stderr).contains("3 keys written in "), "{dumped:?}");
    stdout_of(dumped);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "#skein-dump 1 tsv\na\t1\nb\t2\nc\t3\n");
    let quiet = run(["dump", "--data", data, "-o", name, "--force", "--quiet"]);
    assert!(quiet.stderr.is_empty(), "{quiet:?}");
    stdout_of(quiet);
    assert_eq!(folder.path().read_dir().unwrap().count(), 2, "nothing else is left");
    assert_refused(&run(["dump", "--data", data, "--force"]), 2, &["--output"]);
    // A path that is not a regular file is written in place.
    stdout_of(run(["dump", "--data", data, "-o", "/dev/null"]));
}

/// Nobody had tried Ctrl-C during a dump onto an existing file. The unfinished file must be
/// removed, the old one kept, and the message must report the progress. The source holds the dump
/// until the signal has arrived.
#[test]
fn an_interrupted_dump_leaves_the_old_file() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [data, target] = folders.each_ref().map(tempfile::TempDir::path);
    let server = SkeinServe::start(data, &[]);
    let sets: Vec<[Vec<u8>; 3]> =
        (0..5000).map(|n| [b"SET".to_vec(), format!("{n}").into_bytes(), b"v".to_vec()]).collect();
    server.client().pipeline(&sets).unwrap();
    let file = target.join("all.tsv");
    std::fs::write(&file, "precious").unwrap();
    let files = || target.read_dir().unwrap().count();

    server.signal(Signal::STOP);
    let name = file.to_str().unwrap();
    let mut command = skein(["dump", "--from", &server.address, "-o", name, "--force"]);
    let dump = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    interrupt(dump.id());
    assert_eq!(files(), 2, "it writes to another file first");
    server.signal(Signal::CONT);
    let output = dump.wait_with_output().unwrap();
    assert_refused(&output, 1, &["interrupted after ", " of 5,000 keys", "no output file was made"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    assert_eq!(files(), 1, "the file that was begun is gone");
    server.stop();
}
