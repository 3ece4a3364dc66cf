//! `skein bench` on the Cuckoo Trie: every figure at a tiny size.

use serde_json::Value;

use crate::bench::{assert_ran, own_indexes, results, run_all_of, tiny, verdicts};
use crate::common::{built_skein, run};

#[test]
fn every_figure_of_the_cuckoo_trie_runs_and_has_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    assert!(run_all_of(folder.path(), "cuckoo-", "cuckoo-fig13") >= 11);
}

#[test]
fn each_target_of_the_cuckoo_trie_is_answered_on_each_key_set() {
    let folder = tempfile::tempdir().unwrap();
    let paths = folder.path().join("paths.txt");
    let lines: Vec<String> =
        (0..3_000).map(|n| format!("/usr/share/doc/package-{}/copyright", n * 7)).collect();
    std::fs::write(&paths, lines.join("\n")).unwrap();
    let paths = format!("file:{}", paths.display());
    let sets = ["--keys", "rand-8", "--keys", "az1", "--keys", &paths];
    let output = tiny(folder.path(), &["cuckoo-targets"], &sets);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = results(folder.path());
    let verdicts = verdicts(&lines);
    assert_eq!(verdicts.len(), 8 + 7 + 7, "{verdicts:?}");
    for verdict in &verdicts {
        assert_ne!(verdict["answer"], "cannot_be_tested", "{verdict}");
    }
    let said = |part: &str| verdicts.iter().filter(|it| it["why"].as_str().unwrap().contains(part)).count();
    assert_eq!(said("of them the table"), 3, "the table's share is printed: {verdicts:?}");
    assert_eq!(said("in reads of memory"), 1, "a read of memory is beside the lookups: {verdicts:?}");
}

#[test]
fn growth_is_beside_a_table_that_does_not_grow() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results.jsonl");
    // The table with spare room is a step of the Cuckoo Trie's experiments, and is included.
    let only = ["--only", "skein-cuckoo-trie"];
    let fixed = ["--count", "60000", "--rounds", "1", "--no-probe", "--out"];
    let out = out.to_str().expect("temporary paths are text");
    let output = run(["bench", "run", "cuckoo-resize"].iter().chain(&only).chain(&fixed).chain(&[out]));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = results(folder.path());
    assert_ran(&lines, &["cuckoo-resize"]);
    let verdicts = verdicts(&lines);
    assert_eq!(verdicts.len(), 5, "{verdicts:?}");
    let moved = &verdicts[0];
    assert!(
        moved["why"].as_str().unwrap().starts_with("entries moved by an insert, most: rand-8: "),
        "{moved}"
    );
    assert_eq!(moved["answer"], "holds", "{moved}");
    for verdict in &verdicts {
        // Whether pauses are short enough depends on the machine. That they get a verdict does not.
        assert_ne!(verdict["answer"], "cannot_be_tested", "{verdict}");
    }
}

#[test]
fn keys_in_their_order_are_asked_of_a_server_on_each_index() {
    built_skein();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("disk");
    let options = ["--keys", "az1", "--keys", "rand-16", "--only", &own_indexes(16).join(","), "--dir"];
    let dir = dir.to_str().expect("temporary paths are text");
    let output = tiny(folder.path(), &["cuckoo-fig13"], &[&options[..], &[dir]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = results(folder.path());
    assert_ran(&lines, &["cuckoo-fig13"]);
    for (letter, index) in ["A", "C", "D", "E", "E through the index", "F"]
        .iter()
        .flat_map(|letter| own_indexes(16).into_iter().map(move |index| (letter, index)))
    {
        for measure in [(*letter).to_owned(), format!("{letter}, CPU")] {
            let of =
                |line: &&Value| line["measure"] == measure.as_str() && line["contender"] == index.as_str();
            let sets: Vec<_> = lines.iter().filter(of).map(|cell| &cell["at"]["label"]).collect();
            assert_eq!(sets, ["az1", "rand-16"], "{measure} of {index}");
        }
    }
    let verdicts = verdicts(&lines);
    let untested: Vec<_> =
        verdicts.iter().filter(|verdict| verdict["answer"] == "cannot_be_tested").collect();
    assert_eq!((verdicts.len(), untested.len()), (4, 1), "Redis was not measured: {verdicts:?}");
}
