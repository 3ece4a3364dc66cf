//! `skein bench`: a tiny run, its results, its report, and what it refuses.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::common::{assert_refused, run, stdout_of};

/// Runs experiments with a thousand keys; results go to `folder`.
fn tiny(folder: &Path, names: &[&str], options: &[&str]) -> Output {
    let out = folder.join("results.jsonl");
    let out = out.to_str().expect("temporary paths are text");
    let fixed = ["--count", "1000", "--rounds", "2", "--no-probe", "--out", out];
    run(["bench", "run"].iter().chain(names).chain(&fixed).chain(options))
}

fn results(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("results.jsonl")).expect("a run has written them");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object per line")).collect()
}

#[test]
fn every_experiment_on_indexes_runs_and_says_what_it_found() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["lookup", "scan-100", "ycsb", "mix", "growth", "masstree-fig8", "masstree-fig9", "masstree-fig10", "masstree-fig11", "masstree-sec6.4"];
    let output = tiny(folder.path(), &names, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = results(folder.path());
    let of_kind = |kind: &str| lines.iter().filter(move |line| line["kind"] == kind);
    assert_eq!(of_kind("run").count(), names.len());
    assert_eq!(of_kind("verdict").count(), names.len());
    for name in names {
        assert!(table.contains(name), "{name} is not in the table");
        let run = of_kind("run").find(|run| run["experiment"] == name).expect("each has a run");
        let cells = of_kind("cell").filter(|cell| cell["run"] == run["run"]).count();
        assert!(cells > 0, "{name} has no figures");
    }
    for cell in of_kind("cell") {
        let rounds = cell["rounds"].as_array().expect("a list");
        assert!(!rounds.is_empty() && rounds.iter().all(|figure| figure.as_f64().is_some_and(f64::is_finite)), "{cell}");
    }
}

#[test]
fn results_become_a_page_and_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        tiny(folder.path(), &["scan-100"], &["--keys", "decimal"]);
    }
    let path = |name: &str| folder.path().join(name).to_str().expect("temporary paths are text").to_owned();
    let shown = stdout_of(run(["bench", "report", &path("results.jsonl"), "--html", &path("page.html")]));
    assert!(String::from_utf8_lossy(&shown).contains("scan of 100"));
    let page = fs::read_to_string(path("page.html")).expect("written");
    assert!(page.contains("<svg") && page.contains("scan of 100") && !page.contains("http://"), "{page}");
    let same = run(["bench", "compare", &path("results.jsonl"), &path("results.jsonl"), "--fail-if-worse"]);
    assert_eq!(same.status.code(), Some(0), "a file does not differ from itself");
}

#[test]
fn a_users_own_keys_are_a_key_set() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys.txt");
    fs::write(&keys, (0..2_000).map(|n| format!("user/{}/mail\n", n * 7)).collect::<String>()).unwrap();
    let set = format!("file:{}", keys.display());
    let output = tiny(folder.path(), &["lookup"], &["--keys", &set, "--only", "skein-masstree"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let measured = results(folder.path());
    assert!(measured.iter().any(|line| line["kind"] == "cell" && line["at"]["label"] == *set));
}

#[test]
fn lists_name_what_there_is() {
    let list = String::from_utf8(stdout_of(run(["bench", "list"]))).expect("text");
    assert!(list.contains("masstree-fig8") && list.contains("claim:"), "{list}");
    let names = String::from_utf8(stdout_of(run(["bench", "list", "--names"]))).expect("text");
    assert!(names.lines().any(|name| name == "scan-100"));
    let sets = String::from_utf8(stdout_of(run(["bench", "keysets"]))).expect("text");
    assert!(sets.contains("az1") && sets.contains("file"), "{sets}");
    let one = String::from_utf8(stdout_of(run(["bench", "keysets", "decimal", "--count", "5000"]))).expect("text");
    assert!(one.contains("decimal"), "{one}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none.jsonl");
    let missing = missing.to_str().expect("temporary paths are text");
    assert_refused(&tiny(folder.path(), &["masstree-fig99"], &[]), 2, &["masstree-fig99", "skein bench list"]);
    assert_refused(&tiny(folder.path(), &["lookup"], &["--only", "nobody"]), 2, &["nobody", "skein-masstree"]);
    assert_refused(&tiny(folder.path(), &["lookup"], &["--keys", "rand-9"]), 1, &["rand-9", "rand-8"]);
    assert_refused(&tiny(folder.path(), &["lookup"], &["--keys", "file:/nowhere/keys"]), 1, &["/nowhere/keys"]);
    let huge = ["bench", "run", "lookup", "--count", "40000000000", "--no-probe", "--out", missing];
    assert_refused(&run(huge), 1, &["40000000000"]);
    let large = ["bench", "run", "lookup", "--count", "2000000000", "--no-probe", "--out", missing];
    assert_refused(&run(large), 1, &["GiB", "would fit"]);
    assert_refused(&run(["bench", "report", "/nowhere/results.jsonl"]), 1, &["/nowhere/results.jsonl"]);
    assert_refused(&run(["bench", "compare", "/nowhere/a", "/nowhere/b"]), 1, &["/nowhere/a"]);
}
