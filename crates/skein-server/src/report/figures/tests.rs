//! The table of the metrics in `docs/monitoring.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;

const PAGE: &str = include_str!("../../../../../docs/monitoring.md");
const BEGIN: &str = "<!-- figures -->\n";
const END: &str = "<!-- end of the figures -->\n";

/// Set to make the table anew.
const WRITE: &str = "SKEIN_WRITE_DOCS";

fn table() -> String {
    let mut text =
        "| metric | kind, unit | field of INFO | meaning |\n| --- | --- | --- | --- |\n".to_owned();
    for figure in FIGURES.iter().filter(|figure| !figure.metric.is_empty()) {
        let (suffix, unit) = match figure.unit {
            FigureUnit::None => ("", ""),
            FigureUnit::Bytes => ("_bytes", ", bytes"),
            FigureUnit::Seconds => ("_seconds", ", seconds"),
        };
        let (total, kind) = match figure.kind {
            FigureKind::Gauge => ("", "gauge"),
            FigureKind::Counter => ("_total", "counter"),
        };
        let field = if figure.info.1.is_empty() { " ".to_owned() } else { format!(" `{}` ", figure.info.1) };
        let (metric, help) = (figure.metric, figure.help);
        writeln!(text, "| `skein_{metric}{suffix}{total}` | {kind}{unit} |{field}| {help} |").unwrap();
    }
    text
}

/// Incident: a metric was five files, and the page told of some by "as in INFO memory".
/// Consequence: a reader had to look for field and unit. Fix: the table follows from the rows.
#[test]
fn the_table_of_the_page_is_that_of_the_rows() {
    let (before, rest) = PAGE.split_once(BEGIN).expect("the beginning of the table");
    let (_, after) = rest.split_once(END).expect("the end of the table");
    let page = [before, BEGIN, &table(), END, after].concat();
    if std::env::var_os(WRITE).is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/monitoring.md");
        std::fs::write(file, page).expect("the page is written");
        return;
    }
    let differs = PAGE.lines().zip(page.lines()).find(|(present, expected)| present != expected);
    assert!(
        PAGE == page,
        "docs/monitoring.md differs from the rows of the figures: {differs:#?}\n\
         make its table anew: {WRITE}=1 cargo test -p skein-server --lib figures"
    );
}

#[test]
fn names_are_unique_and_every_row_is_told() {
    let told = |name: fn(&Figure) -> &'static str| {
        let names: Vec<&str> = FIGURES.iter().map(name).filter(|name| !name.is_empty()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    };
    told(|figure| figure.info.1);
    told(|figure| figure.metric);
    for figure in FIGURES {
        assert!(!figure.metric.is_empty() || !figure.info.1.is_empty(), "{}", figure.help);
        assert!(!figure.help.is_empty(), "{} {}", figure.metric, figure.info.1);
    }
}
