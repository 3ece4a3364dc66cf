//! The `skein` command over a cluster: `range`, `count`, `dump`, `copy` and `load`.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};

use skein_syntax::slots::slot_of_key;

#[path = "../../../skeindb/tests/cluster/fake/mod.rs"]
#[allow(dead_code, reason = "the tests of the library use the rest")]
mod fake;

use fake::{FakeCluster, FakeValue, NodeFault};

fn skein(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_skein")).args(args).stdin(Stdio::null()).output().expect("skein runs")
}

/// Returns exit code, standard output and standard error.
fn said(args: &[&str]) -> (Option<i32>, String, String) {
    let output = skein(args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn range_and_count_read_all_nodes() {
    let fake = FakeCluster::start(3, 0);
    let keys = fake.fill(100);
    let node = fake.address(1);
    let lines = String::from_utf8(keys.join(&b'\n')).expect("text") + "\n";
    assert_eq!(said(&["range", "--cluster", &node]), (Some(0), lines, String::new()));
    let some = "key:020\nkey:019\n".to_owned();
    let args = ["range", "(key:005", "[key:020", "--cluster", &node, "--rev", "--limit", "2"];
    assert_eq!(said(&args), (Some(0), some, String::new()));
    assert_eq!(said(&["count", "--cluster", &node, "--prefix", "key:09"]).1, "10\n");
    assert_eq!(said(&["count", "-", "(key:010", "--cluster", &node]).1, "10\n");
    let (code, _, errors) = said(&["range", "key", "+", "--cluster", &node]);
    assert!(code == Some(2) && errors.contains("MIN key is not a bound"), "{errors}");
}

#[test]
fn values_are_records_and_other_types_are_counted() {
    let fake = FakeCluster::start(2, 0);
    fake.put(b"a", FakeValue::Text(b"1\t2".to_vec()));
    fake.put(b"b", FakeValue::Hash(BTreeMap::from([(b"f".to_vec(), b"v".to_vec())])));
    let node = fake.address(0);
    let records = "a\t1\\t2\nb\tf\tv\n";
    assert_eq!(
        said(&["range", "--values", "--cluster", &node]),
        (Some(0), records.to_owned(), String::new())
    );
    fake.put(b"c", FakeValue::Stream);
    let (code, out, errors) = said(&["range", "--values", "--cluster", &node]);
    assert_eq!((code, &*out), (Some(4), records), "{errors}");
    assert!(errors.contains("left out: 1 (1 stream)") && errors.contains("skein dump writes"), "{errors}");
    let stream = "c\tgroups\t0\tstream\nc\t1-1\t1\tf\tv\tstream\n\
                  c\tlength\t1\tlast-generated-id\t1-1\tmax-deleted-entry-id\t0-0\tentries-added\t1\tstream\n";
    let whole = (Some(0), [records, stream].concat(), String::new());
    assert_eq!(said(&["dump", "--cluster", &node]), whole);
    // It is loaded in the same parts.
    let (folder, other) = (tempfile::tempdir().unwrap(), FakeCluster::start(2, 0));
    let file = folder.path().join("dump.tsv");
    std::fs::write(&file, stream).unwrap();
    let path = file.to_str().expect("text");
    let (code, out, errors) = said(&["load", path, "--format", "tsv", "--to-cluster", &other.address(1)]);
    assert!(code == Some(0) && out.starts_with("3 records read, 3 loaded"), "{out}{errors}");
    let there = other.world().nodes.iter().any(|node| node.keys.get(&b"c"[..]) == Some(&FakeValue::Stream));
    assert!(there);
}

/// One node's cursor means another field at another node: the hash must be read from its start.
#[test]
fn a_hash_that_moves_while_it_is_dumped_is_whole() {
    let fake = FakeCluster::start(2, 0);
    let fields = (0..9).map(|field| (format!("f{field}").into_bytes(), b"v".to_vec()));
    fake.put(b"hash", FakeValue::Hash(fields.collect()));
    let slot = slot_of_key(b"hash");
    let from = fake.world().owner(slot).unwrap();
    fake.world().open_slot(slot, from, 1 - from);
    let moved = fake.clone();
    let mover = std::thread::spawn(move || {
        while moved.world().calls.get("HSCAN").is_none_or(|calls| *calls < 2) {
            std::thread::yield_now();
        }
        moved.world().move_keys(slot, from, 1 - from);
    });
    let (code, out, errors) = said(&["dump", "--cluster", &fake.address(0)]);
    mover.join().unwrap();
    assert_eq!(code, Some(0), "{errors}");
    for field in 0..9 {
        assert!(out.contains(&format!("\tf{field}\tv")), "f{field} is not in {out}");
    }
}

#[test]
fn mistakes_have_their_exit_codes() {
    let fake = FakeCluster::start(2, 0);
    let node = fake.address(0);
    fake.world().nodes[1].fault = NodeFault::NoModule;
    let (code, _, errors) = said(&["count", "--cluster", &node]);
    assert!(code == Some(1) && errors.contains("libskein.so"), "{errors}");
    let (code, _, errors) = said(&["range", "--cluster", "127.0.0.1:1"]);
    assert!(code == Some(1) && errors.contains("cannot connect to 127.0.0.1:1"), "{errors}");
    for args in [
        &["range", "--cluster", &node, "--from", &node][..],
        &["dump", "--cluster", &node, "--data", "x"],
        &["copy", "--from", &node, "--to-cluster", &node, "--to", &node],
        &["load", "-", "--to-cluster", &node, "--to", &node],
        &["load", "-", "--to-cluster", &node, "--data", "x"],
        &["range", "--cluster", "unix:/run/s"],
        &["range", "--cluster", "127.0.0.1"],
    ] {
        assert_eq!(said(args).0, Some(2), "{args:?}");
    }
    fake.world().password = Some("hunter2".to_owned());
    let (code, _, errors) = said(&["count", "--cluster", &node]);
    assert!(code == Some(1) && errors.contains("--password-file"), "{errors}");
}

/// Ctrl-C must end a command that waits for a node.
#[test]
fn an_interrupt_ends_the_waiting() {
    let fake = FakeCluster::start(2, 0);
    fake.world().nodes[1].fault = NodeFault::Fails("LOADING 43% done".to_owned());
    let mut command = Command::new(env!("CARGO_BIN_EXE_skein"));
    command.args(["range", "--cluster", &fake.address(0)]).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("skein runs");
    // The command catches signals before it requests a page.
    while fake.world().pages == 0 {
        std::thread::yield_now();
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("the signal is sent");
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && errors.contains("interrupted while waiting"), "{errors}");
}

#[test]
fn a_copy_writes_to_the_nodes_of_the_keys() {
    let source = FakeCluster::start(1, 0);
    let keys = source.fill(120);
    source.put(b"stream", FakeValue::Stream);
    let fields = (0..5).map(|field| (format!("f{field}").into_bytes(), b"v".to_vec()));
    source.put(b"hash", FakeValue::Hash(fields.collect()));
    let fake = FakeCluster::start(3, 0);
    let slot = slot_of_key(b"hash");
    let from = fake.world().owner(slot).unwrap();
    fake.world().open_slot(slot, from, (from + 1) % 3);
    let (code, out, errors) = said(&[
        "copy",
        "--from",
        &source.address(0),
        "--to-cluster",
        &fake.address(2),
        "--show-refused",
        "0",
    ]);
    assert!(code == Some(0) && out.starts_with("122 keys copied, 0 refused"), "{out}{errors}");
    let (mut there, source) = (BTreeMap::new(), source.world().nodes[0].keys.clone());
    for node in &fake.world().nodes {
        there.extend(node.keys.clone());
    }
    assert_eq!(there.len(), keys.len() + 2);
    assert!(there.iter().all(|(key, value)| source[key] == *value));
}

#[test]
fn a_load_writes_to_the_nodes_of_the_keys() {
    let (fake, folder) = (FakeCluster::start(3, 0), tempfile::tempdir().unwrap());
    let path = folder.path().join("table.tsv");
    let records: Vec<String> = (0..1_500).map(|number| format!("key:{number:04}\t{number}\n")).collect();
    let mut text = records.concat();
    text.push_str("hash\tf0\tv0\tf1\tv1\nodd\tf0\tv0\tf1\n");
    std::fs::write(&path, text).unwrap();
    let slot = slot_of_key(b"hash");
    let from = fake.world().owner(slot).unwrap();
    fake.world().open_slot(slot, from, (from + 1) % 3);
    let (path, node) = (path.to_str().expect("text"), fake.address(1));
    let (code, out, errors) = said(&["load", path, "--format", "tsv", "--to-cluster", &node]);
    assert!(code == Some(4) && out.starts_with("1502 records read, 1501 loaded, 1 refused"), "{out}{errors}");
    let lines: Vec<String> = (0..1_500).map(|number| format!("key:{number:04}\n")).collect();
    assert_eq!(said(&["range", "--cluster", &node]).1, format!("hash\n{}", lines.concat()));
}

#[test]
fn a_node_is_not_copied_into_its_own_cluster() {
    let fake = FakeCluster::start(3, 0);
    fake.fill(3);
    let (code, _, errors) = said(&["copy", "--from", &fake.address(0), "--to-cluster", &fake.address(2)]);
    assert!(code == Some(2) && errors.contains("is a node of the cluster"), "{errors}");
    assert!(!fake.world().calls.contains_key("DEL"), "nothing was removed");
}

/// A reader that closes early is not a failure; a full disk is one.
#[test]
fn range_writes_as_dump_does() {
    let fake = FakeCluster::start(2, 0);
    fake.fill(900);
    fake.world().page_names = 1000;
    let node = fake.address(0);
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skein"));
        command.args(["range", "--cluster", &node]).stdin(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let mut child = command().stdout(Stdio::piped()).spawn().expect("skein runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command().stdout(full).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && errors.contains("cannot write the output"), "{errors}");
}
