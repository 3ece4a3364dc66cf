//! Reports of whole results files: their structure, and their tolerance of odd files. The sample's
//! reports are left in the target folder as `tmp/report.html` and `tmp/report.txt`, for inspection.

mod aims;
mod odd;
mod overview;
mod sample;
mod wellformed;

use skein_bench::report;
use skein_bench::result::ResultLine;
use wellformed::HtmlDocument;

/// Returns the number of drawings that the page must have: one per measure, one per measure with
/// quantiles, one per probed machine.
fn drawings(lines: &[ResultLine]) -> usize {
    let mut wanted = std::collections::BTreeSet::new();
    for line in lines {
        match line {
            ResultLine::Cell(cell) => {
                wanted.insert((cell.run.clone(), cell.measure.clone(), false));
                if !cell.quantiles.is_empty() {
                    wanted.insert((cell.run.clone(), cell.measure.clone(), true));
                }
            }
            ResultLine::Run(_) | ResultLine::Note(_) | ResultLine::Verdict(_) => {}
        }
    }
    wanted.len() + 1
}

#[test]
fn a_page_has_a_drawing_per_measure_and_stands_alone() {
    let lines = sample::lines();
    let page = report::html(&lines);
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/report.html"), &page).expect("the page is written");
    let document = HtmlDocument::parse(&page);
    assert_eq!(document.count("svg"), drawings(&lines));
    assert_eq!(document.count("script"), 0);
    assert!(document.links.iter().all(|link| link.starts_with('#')), "{:?}", document.links);
    assert!(!page.contains("url(") && !page.contains("@import"));
    for text in [
        "Example 9000",
        "c = 0.052",
        "librocksdb-dev",
        "2025-11-21 10:10 UTC",
        "cannot be tested",
        "busy with other",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // A report must show contenders that were not measured at a point.
    assert_eq!(page.matches("not measured</text>").count(), 3);
}

#[test]
fn a_table_has_a_row_per_cell_with_the_ratio_to_the_first() {
    let lines = sample::lines();
    let table = report::table(&lines);
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/report.txt"), &table)
        .expect("the table is written");
    let rows = |name: &str| table.lines().filter(|line| line.contains(name)).count();
    assert_eq!(rows("skein-masstree  "), 9 + 8 + 6);
    assert!(
        table.lines().filter(|line| line.contains(" skein-masstree  ")).all(|line| line.ends_with("1.00×"))
    );
    for text in [
        "verdict   holds: lookup",
        "without   HOT: no package",
        "note      the machine",
        "again     skein bench run lookup",
    ] {
        assert!(table.contains(text), "{text}\n{table}");
    }
    assert!(table.lines().all(|line| !line.ends_with(' ')));
}

#[test]
fn empty_results_are_reported() {
    assert!(report::table(&[]).contains("no run"));
    let page = report::html(&[]);
    HtmlDocument::parse(&page);
    assert!(page.contains("no run"));
    assert_eq!(report::compare(&[], &[]).to_string(), "No cell is in both files.");
}
