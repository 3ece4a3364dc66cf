//! `skein load` and `skein dump`: every format must preserve its input, through a server and
//! through a folder.

mod collections;

use std::process::Stdio;

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
