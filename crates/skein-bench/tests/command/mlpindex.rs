//! `skein bench` on MlpIndex, and on the skip list of its paper: every figure at a tiny size.

use serde_json::Value;

use crate::bench::{results, run_all_of, tiny, verdicts};

/// Runs one experiment at a tiny size, and returns its results.
fn ran(name: &str, options: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let output = tiny(folder.path(), &[name], options);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    results(folder.path())
}

/// Returns how many verdicts contain this text.
fn said(verdicts: &[&Value], part: &str) -> usize {
    verdicts.iter().filter(|verdict| verdict["why"].as_str().expect("text").contains(part)).count()
}

/// Asserts that verdicts have an answer, except those that need a contender that this build lacks.
fn assert_answered(verdicts: &[&Value], but_for: &[&str]) {
    for verdict in verdicts {
        let why = verdict["why"].as_str().expect("text");
        let excused = but_for.iter().any(|part| why.contains(part));
        assert!(excused || verdict["answer"] != "cannot_be_tested", "{verdict}");
    }
}

#[test]
fn figures_of_mlpindex_and_the_skip_list_have_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    assert!(run_all_of(folder.path(), "mlpindex-", "none of these is a server's") >= 6);
    let folder = tempfile::tempdir().unwrap();
    assert!(run_all_of(folder.path(), "skiplist-", "none of these is a server's") >= 1);
}

#[test]
fn each_target_of_mlpindex_is_answered_on_each_key_set() {
    let lines = ran("mlpindex-targets", &[]);
    let verdicts = verdicts(&lines);
    assert_eq!(verdicts.len(), 4 * (9 + 2), "{verdicts:?}");
    assert_answered(&verdicts, &["congee"]);
    assert_eq!(said(&verdicts, "MlpIndex / btree-u64"), 4 * 5, "{verdicts:?}");
    assert_eq!(said(&verdicts, "of them the"), 0, "keys and values lie in the table: {verdicts:?}");
    assert_eq!(said(&verdicts, "most over a doubling"), 4, "it is weighed while it grows: {verdicts:?}");
}

#[test]
fn operations_of_mlpindex_are_told_in_reads_of_memory() {
    let lines = ran("mlpindex-table2", &[]);
    let verdicts = verdicts(&lines);
    assert_eq!((verdicts.len(), said(&verdicts, "in reads of memory")), (6, 6), "{verdicts:?}");
    assert_answered(&verdicts, &[]);
    let steps: Vec<_> = lines
        .iter()
        .filter(|line| line["measure"] == "lookup, in reads of memory" && line["at"]["label"] == "mlp-a")
        .map(|line| line["contender"].as_str().expect("text"))
        .collect();
    assert_eq!(steps, ["skein-mlp", "mlp - levels", "mlp - prefetch"]);
}

#[test]
fn ranges_are_read_with_and_without_reading_ahead() {
    let lines = ran("skiplist-iterator", &[]);
    let verdicts = verdicts(&lines);
    assert_eq!(verdicts.len(), 6, "{verdicts:?}");
    assert_answered(&verdicts, &["crossbeam-skiplist"]);
    assert_eq!(said(&verdicts, "two threads on rand-8"), 1, "{verdicts:?}");
}

#[test]
fn mlpindex_takes_no_part_where_keys_are_long() {
    let lines = ran("lookup", &["--keys", "url", "--only", "skein-mlp,btree-u64,btreemap"]);
    for name in ["skein-mlp", "btree-u64"] {
        let absent =
            lines[0]["absent"].as_array().expect("a list").iter().find(|absent| absent["name"] == name);
        let why = absent.unwrap_or_else(|| panic!("{name} is not named"))["why"].as_str().expect("text");
        assert!(why.contains("accepts keys of 8 bytes only"), "{why}");
    }
}
