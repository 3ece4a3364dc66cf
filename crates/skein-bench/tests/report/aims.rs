//! The table of aims: verdicts by aim and key set.

use skein_bench::report;
use skein_bench::result::{AimCell, ClaimAnswer, ClaimVerdict, ResultLine};

use crate::sample;
use crate::wellformed::HtmlDocument;

/// Returns a run with these verdicts: an answer, a row, a column and a figure.
fn judged(verdicts: &[(ClaimAnswer, &str, &str, Option<f64>)]) -> Vec<ResultLine> {
    let run = sample::run("cells", "aims", "ours", "all hold", &["skein-page-tree"]);
    let name = run.run.clone();
    let verdict = |&(answer, row, column, figure): &(ClaimAnswer, &str, &str, Option<f64>)| {
        let (row, column, aim) = (row.to_owned(), column.to_owned(), "≥ 1.2".to_owned());
        let cell = Some(AimCell { row, aim, column, figure });
        ResultLine::Verdict(ClaimVerdict { run: name.clone(), answer, why: "5.32 / 6.10".to_owned(), cell })
    };
    let mut lines = vec![ResultLine::Run(run)];
    lines.extend(verdicts.iter().map(verdict));
    lines
}

#[test]
fn aims_are_a_table_with_a_row_per_operation_and_a_column_per_key_set() {
    let lines = judged(&[
        (ClaimAnswer::DoesNotHold, "lookup / best peer", "rand-8", Some(0.872)),
        (ClaimAnswer::Holds, "lookup / best peer", "file:/home/me/paths.txt", Some(1.3)),
        (ClaimAnswer::CannotBeTested, "scan / best peer", "file:/home/me/paths.txt", None),
    ]);
    let table = report::table(&lines);
    let end = table.split("\n  aims: ").nth(1).expect("there is a table of aims");
    let rows: Vec<Vec<&str>> = end.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(end.starts_with("of 3 cells 1 hold, 1 do not, 1 cannot be tested"), "{end}");
    assert_eq!(rows[1], ["operation", "/", "beside", "aim", "rand-8", "paths.txt"]);
    assert_eq!(rows[2], ["lookup", "/", "best", "peer", "≥", "1.2", "0.872", "✗", "1.30", "✓"]);
    assert_eq!(rows[3], ["scan", "/", "best", "peer", "≥", "1.2", "?"]);
    assert!(
        end.lines().nth(3).is_some_and(|line| line.ends_with("      ?")),
        "the first set is blank: {end}"
    );

    let page = report::html(&lines);
    HtmlDocument::parse(&page);
    for text in ["<h3>Aims</h3>", "class=\"no\" title=\"5.32 / 6.10\">0.872 ✗", "class=\"yes\"", "paths.txt"]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[test]
fn a_run_without_aims_has_no_table_of_them() {
    let lines = sample::lines();
    assert!(!report::table(&lines).contains("aims:"));
    assert!(!report::html(&lines).contains("<h3>Aims</h3>"));
}
