//! Dumps that name their format, loads that report their progress, and hints for newcomers from
//! Redis.

use std::io::Write as _;
use std::process::Stdio;

use crate::common::{PATIENCE, assert_partial, interrupt, run, run_with_input, skein};
use crate::outcome::{assert_refused, stdout_of};

/// Incident: `skein dump -o x; skein load x` loaded whole lines as keys, and said "10 loaded".
/// Consequence: a restored backup had none of the keys. Fix: the file names its format.
#[test]
fn a_dump_is_loaded_without_naming_its_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text = b"a\t1\nb\ttwo,2\nc\tx\ty\n";
    stdout_of(run_with_input(["load", "-", "--format", "tsv", "--data", &path("first")], text));
    for format in ["tsv", "csv", "hex"] {
        let (file, data) = (path(&format!("file-{format}")), path(&format!("data-{format}")));
        stdout_of(run(["dump", "--data", &path("first"), "--format", format, "-o", &file]));
        let said = stdout_of(run(["load", &file, "--data", &data]));
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.starts_with("3 records read, 3 loaded, 0 refused"), "{format}: {said}");
        assert_eq!(stdout_of(run(["dump", "--data", &data])), text, "{format}");
        // The same format may be named, and another one is refused.
        stdout_of(run(["load", &file, "--format", format, "--data", &data]));
        assert_refused(
            &run(["load", &file, "--format", "lines", "--data", &data]),
            2,
            &["first line", "leave --format out"],
        );
        assert_refused(&run(["load", &file, "--header", "--data", &data]), 2, &["--header", "dump of skein"]);
        // A redirection into a file has the line, too; a pipe has not.
        let output = std::fs::File::create(path("redirected")).unwrap();
        let dump = skein(["dump", "--data", &path("first"), "--format", format]).stdout(output).status();
        assert!(dump.unwrap().success());
        assert_eq!(std::fs::read(path("redirected")).unwrap(), std::fs::read(&file).unwrap());
        let piped = stdout_of(run(["dump", "--data", &path("first"), "--format", format]));
        let written = std::fs::read(&file).unwrap();
        assert_eq!(written, [format!("#skein-dump 1 {format}\n").as_bytes(), &piped].concat());
    }
    // Joined and sorted dumps, and rows behind other ones.
    let head = "#skein-dump 1 tsv\n";
    for (rows, format) in [
        (format!("{head}a\t1\n{head}b\ttwo,2\nc\tx\ty\n"), None),
        (format!("a\t1\n{head}b\ttwo,2\nc\tx\ty\n"), Some("tsv")),
    ] {
        let data = tempfile::tempdir_in(folder.path()).unwrap();
        let data = data.path().join("d");
        let mut load = vec!["load", "-", "--data", data.to_str().unwrap()];
        load.extend(format.into_iter().flat_map(|format| ["--format", format]));
        stdout_of(run_with_input(load, rows.as_bytes()));
        assert_eq!(stdout_of(run(["dump", "--data", data.to_str().unwrap()])), text);
    }
    let appended = std::fs::OpenOptions::new().append(true).open(path("redirected")).unwrap();
    std::fs::write(path("redirected"), "before\n").unwrap();
    assert!(skein(["dump", "--data", &path("first")]).stdout(appended).status().unwrap().success());
    assert_eq!(std::fs::read(path("redirected")).unwrap(), [b"before\n", &text[..]].concat());
    // Keys alone have no such line.
    stdout_of(run(["dump", "--data", &path("first"), "--format", "lines", "-o", &path("lines")]));
    assert_eq!(std::fs::read_to_string(path("lines")).unwrap(), "a\nb\nc\n");
    std::fs::write(path("later"), "#skein-dump 2 tsv\n").unwrap();
    assert_refused(
        &run(["load", &path("later"), "--data", &path("d")]),
        2,
        &["#skein-dump 2 tsv", "version 1"],
    );
}

/// The output of a pipe that is kept has no first line, so `load` asks instead of guessing.
#[test]
fn text_with_tabs_needs_a_format() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let refused = run_with_input(["load", "-", "--data", data], b"a\t1\nb\t2\n");
    assert_refused(&refused, 2, &["the first line has a tab", "--format tsv"]);
    assert!(!folder.path().join("data").exists(), "nothing was made");
    let long_key = format!("{}\t1\n", "k".repeat(60_000));
    let refused = run_with_input(["load", "-", "--data", data], long_key.as_bytes());
    assert_refused(&refused, 2, &["the first line has a tab"]);
    let keys = run_with_input(["load", "-", "--format", "lines", "--data", data], b"a\t1\nb\t2\n");
    assert!(String::from_utf8_lossy(&stdout_of(keys)).starts_with("2 records read, 2 loaded"));
}

/// Incident: a packed dump, a file of a data folder and random bytes were loaded as keys, and
/// `load` said "20 loaded". Consequence: a server was filled with rubbish, and a backup seemed
/// restored. Fix: a file that does not begin like text needs `--format`.
#[test]
fn what_is_no_text_needs_a_format() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let packed: &[&[u8]] = &[b"\x1f\x8b\x08abc\n", b"\x28\xb5\x2f\xfdabc\n", b"\xfd7zXZ\0\n", b"BZh91AY\n"];
    for bytes in packed {
        assert_refused(&run_with_input(["load", "-", "--data", data], bytes), 2, &["packed", "cat FILE |"]);
    }
    // A tab among such bytes makes no table of the file.
    for (bytes, at) in [
        (&b"a\nb\0\n"[..], "byte 3 is 0x00"),
        (b"a\x1b[0m\n", "byte 1 is 0x1b"),
        (b"a\t\0\n", "byte 2 is 0x00"),
    ] {
        let refused = run_with_input(["load", "-", "--data", data], bytes);
        assert_refused(&refused, 2, &["no text", at, "--format lines"]);
        assert!(!folder.path().join("data").exists(), "nothing was made");
    }
    let first = folder.path().join("first");
    stdout_of(run_with_input(["load", "-", "--data", first.to_str().unwrap()], "käse\r\n".as_bytes()));
    for file in ["identity", "log/log.roster"] {
        let file = first.join(file);
        assert_refused(&run(["load", file.to_str().unwrap(), "--data", data]), 2, &["no text"]);
    }
    let asked = run_with_input(["load", "-", "--format", "lines", "--data", data], b"a\nb\0\n");
    assert!(String::from_utf8_lossy(&stdout_of(asked)).starts_with("2 records read, 2 loaded"));
}

/// Incident: an editor put a byte order mark before a dump, and `load` loaded its lines as keys. A
/// copy that was cut off gave a key a part of its value. Consequence: neither was noticed. Fix: the
/// mark is skipped, and a last line without an end is refused.
#[test]
fn a_dump_with_a_byte_order_mark_is_read_and_a_short_one_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    for (format, rows, cut) in [
        ("tsv", "a\t1\nb\t22\n", "b\t2"),
        ("csv", "a,1\nb,22\n", "b,2"),
        ("hex", "61\t31\n62\t3232\n", "62\t32"),
    ] {
        let marked = format!("\u{feff}#skein-dump 1 {format}\n{rows}");
        let loaded = run_with_input(["load", "-", "--data", data], marked.as_bytes());
        assert!(
            String::from_utf8_lossy(&stdout_of(loaded)).starts_with("2 records read, 2 loaded"),
            "{format}"
        );
        assert_eq!(stdout_of(run(["dump", "--data", data])), b"a\t1\nb\t22\n");
        let short = format!("#skein-dump 1 {format}\n{cut}");
        let refused = run_with_input(["load", "-", "--data", data], short.as_bytes());
        assert_partial(&refused, &["line 2: ", "was cut off"]);
        assert_eq!(stdout_of(run(["dump", "--data", data])), b"a\t1\nb\t22\n");
        // Text of other programs may end without a newline.
        stdout_of(run_with_input(["load", "-", "--format", format, "--data", data], cut.as_bytes()));
    }
}

/// Ctrl-C ends a load behind the records that were accepted, and says how far it came: also while
/// it waits for input.
#[test]
fn an_interrupted_load_says_how_far_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let mut load = skein(["load", "-", "--data", data]);
    let mut load = load.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = load.stdin.take().unwrap();
    let text = (0..1000).map(|number| number.to_string()).collect::<Vec<_>>().join("\n") + "\n";
    input.write_all(text.as_bytes()).unwrap();
    input.flush().unwrap();
    let since = std::time::Instant::now();
    while !std::path::Path::new(data).exists() {
        assert!(since.elapsed() < PATIENCE, "the load makes no folder");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    interrupt(load.id());
    // Standard input stays open: the load must not wait for its end.
    let output = load.wait_with_output().unwrap();
    assert_refused(&output, 1, &["interrupted; ", " records read, ", " loaded before"]);
    drop(input);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let words: Vec<&str> = said.split(' ').collect();
    let number_before = |word: &str| {
        let at = words.iter().position(|other| other.trim_end_matches([',', ';']) == word).expect(word);
        words[at - 1].parse::<usize>().expect("a number")
    };
    let loaded = number_before("loaded");
    assert!(loaded <= 1000 && number_before("records") == loaded, "{said}");
    let keys = stdout_of(run(["dump", "--data", data, "--format", "lines"]));
    assert_eq!(keys.split(|byte| *byte == b'\n').count() - 1, loaded, "the folder has what was told");
}

#[test]
fn newcomers_from_redis_get_hints() {
    assert_refused(&run(["serve", "--replicaof", "10.0.0.1", "6379"]), 2, &["--replicaof", "skein copy"]);
    assert_refused(&run(["serve", "--maxmemory", "1g"]), 2, &["--maxmemory", "--max-memory"]);
    // Other commands have no such options, and the hints are not for them.
    assert_refused(&run(["dump", "--port", "6379"]), 2, &["unexpected argument '--port'"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("redis.conf");
    std::fs::write(&file, "# Redis\nbind 127.0.0.1 -::1\nport 6379\nsave 3600 1\n").unwrap();
    let file = file.to_str().unwrap();
    for args in [["serve", "--config", file], ["config", "--check", file]] {
        assert_refused(&run(args), 2, &[":2: ", "redis.conf", "TOML", "--listen", "skein config"]);
    }
    let unknown = run(["dump", "--from", "no.such.host.invalid:6379"]);
    assert_refused(&unknown, 1, &["no.such.host.invalid:6379", "the name of the host is not known"]);
    assert!(!String::from_utf8_lossy(&unknown.stderr).contains("running there"), "{unknown:?}");
}
