//! `skein bench` on Wormhole: every figure at a tiny size.

use serde_json::Value;

use crate::bench::{assert_ran, own_indexes, results, run_all_of, tiny, verdicts};
use crate::common::built_skein;

#[test]
fn every_figure_of_wormhole_runs_and_has_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    assert!(run_all_of(folder.path(), "wormhole-", "wormhole-fig12") >= 9);
}

#[test]
fn each_target_of_wormhole_is_answered_on_each_key_set() {
    let folder = tempfile::tempdir().unwrap();
    let paths = folder.path().join("paths.txt");
    let lines: Vec<String> =
        (0..3_000).map(|n| format!("/usr/share/doc/package-{}/copyright", n * 7)).collect();
    std::fs::write(&paths, lines.join("\n")).unwrap();
    let paths = format!("file:{}", paths.display());
    let sets = ["--keys", "rand-8", "--keys", "az1", "--keys", &paths];
    let output = tiny(folder.path(), &["wormhole-targets"], &sets);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = results(folder.path());
    let verdicts = verdicts(&lines);
    assert_eq!(verdicts.len(), 7 + 8 + 8, "{verdicts:?}");
    for verdict in &verdicts {
        assert_ne!(verdict["answer"], "cannot_be_tested", "{verdict}");
    }
    let trie =
        |line: &&&Value| line["why"].as_str().is_some_and(|why| why.contains("of them the trie of anchors"));
    assert_eq!(verdicts.iter().filter(trie).count(), 3, "the trie's share is printed: {verdicts:?}");
}

#[test]
fn lookups_in_batches_are_asked_of_a_server_on_each_index() {
    built_skein();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("disk");
    let options = ["--keys", "az1", "--keys", "K10", "--only", &own_indexes(16).join(","), "--dir"];
    let dir = dir.to_str().expect("temporary paths are text");
    let output = tiny(folder.path(), &["wormhole-fig12"], &[&options[..], &[dir]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = results(folder.path());
    assert_ran(&lines, &["wormhole-fig12"]);
    for (measure, index) in
        ["GET", "GET, CPU"].iter().flat_map(|it| own_indexes(16).into_iter().map(move |index| (it, index)))
    {
        let of = |line: &&Value| line["measure"] == **measure && line["contender"] == index.as_str();
        let sets: Vec<_> = lines.iter().filter(of).map(|cell| &cell["at"]["label"]).collect();
        assert_eq!(sets, ["az1", "K10"], "{measure} of {index}");
    }
    let run = &lines[0];
    let about =
        run["contenders"].as_array().expect("a list").iter().map(|it| it["about"].as_str().expect("text"));
    assert!(about.clone().any(|about| about.contains("--index wormhole")), "{run}");
    assert_eq!(run["setting"]["pipeline"], "800");
    let verdict = lines.iter().find(|line| line["kind"] == "verdict").expect("one");
    assert_ne!(verdict["answer"], "cannot_be_tested", "{verdict}");
}
