//! Collections and streams pass through dumps and loads whole.

use std::fmt::Write as _;

use crate::common::{SkeinServe, disk_trie, run, run_with_input, stdout_of};
use skein_disk::{DiskOptions, DiskStore, Values};
use skeindb::client::Reply;

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

/// A stream that is longer than a reply may be is read in pieces that fit, its pending entries,
/// too.
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
