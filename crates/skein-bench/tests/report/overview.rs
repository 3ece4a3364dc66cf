//! The drawing for the README: which bars it has, and that it is an SVG by itself.

use skein_bench::report;
use skein_bench::result::{AxisPoint, Better, ClaimAnswer, ResultLine};

use crate::sample::{SampleBuilder, run};

fn at(pipeline: f64) -> AxisPoint {
    AxisPoint::number("pipeline", pipeline)
}

/// A run of `server`: ours takes 2 us for a GET at pipeline 16, Redis 5 us, and nobody did a SET.
fn server() -> Vec<ResultLine> {
    let mut builder = SampleBuilder::new(run("server", "", "", "", &["skein", "redis"]));
    let measure = ("GET, CPU", "us/req", Better::Less);
    for (contender, rounds) in [("skein", [2.0, 1.9, 9.0]), ("redis", [5.0, 5.0, 5.1])] {
        builder.cell(measure, contender, Some(at(16.0)), rounds.to_vec(), Vec::new());
    }
    builder.end(ClaimAnswer::Holds, "")
}

/// A run of `store`: ours loads half as fast as LMDB.
fn store() -> Vec<ResultLine> {
    let mut builder = SampleBuilder::new(run("store", "", "", "", &["skein", "lmdb"]));
    let measure = ("load", "krows/s", Better::More);
    for (contender, rate) in [("skein", 100.0), ("lmdb", 200.0)] {
        builder.cell(measure, contender, None, vec![rate], Vec::new());
    }
    builder.end(ClaimAnswer::Holds, "")
}

#[test]
fn the_overview_shows_gains_and_losses_as_ratios_of_medians() {
    let lines: Vec<ResultLine> = server().into_iter().chain(store()).collect();
    for dark in [false, true] {
        let svg = report::overview(&lines, dark).expect("both runs have bars");
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>"), "{svg}");
        let open = svg.matches("<rect").count();
        assert_eq!(open, 1 + 2, "the background and two bars: {svg}");
        assert!(svg.contains(">2.5×<") && svg.contains(">0.5×<"), "{svg}");
        assert!(!svg.contains("SET"), "a row without figures is left out: {svg}");
    }
}

#[test]
fn results_without_a_rival_have_no_overview() {
    assert_eq!(report::overview(&[], false), None);
    let alone: Vec<ResultLine> = server()
        .into_iter()
        .filter(|line| !matches!(line, ResultLine::Cell(cell) if cell.contender == "redis"))
        .collect();
    assert_eq!(report::overview(&alone, false), None);
}
