//! `skein bench run cells` at a tiny size: each cell has a verdict and a place in the table.

use crate::bench::{assert_ran, results, tiny, verdicts};

#[test]
fn each_cell_of_the_page_tree_has_a_verdict_and_is_in_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let output = tiny(folder.path(), &["cells"], &["--keys", "rand-8", "--keys", "url"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = results(folder.path());
    assert_ran(&lines, &["cells"]);
    let one_core = std::thread::available_parallelism().map_or(1, usize::from) == 1;
    let verdicts = verdicts(&lines);
    assert_eq!(verdicts.len(), (25 + 2) + (23 + 2), "{verdicts:?}");
    for verdict in &verdicts {
        let row = verdict["cell"]["row"].as_str().expect("each has a place in the table");
        let excused = row.ends_with("absl-btree") || one_core && row.ends_with("processes");
        assert!(excused || verdict["answer"] != "cannot_be_tested", "{verdict}");
    }
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, cells) = table.split_once("\n  aims: of 52 cells ").expect("the table of aims");
    let titles = cells.lines().nth(1).expect("titles");
    assert!(titles.trim_end().ends_with("url") && titles.contains("rand-8"), "{cells}");
    assert!(cells.lines().any(|line| line.contains("lookup, dependent / best peer")), "{cells}");
}
