//! The chart for a README: our rate as a multiple of each rival's, in one standalone SVG.
//!
//! ```text
//!   results of `server` and `store` ──► bars: ours / rival, medians of all rounds ──► SVG
//! ```
//!
//! Every bar starts at 0, and a line marks 1, the rival's own rate. So a shorter bar shows a loss.
//! The charts of the page (`html/chart`) take their colours from the page; this drawing has its
//! own, light or dark.

use maud::{Markup, PreEscaped, html};

use super::figures::Figures;
use super::view::{MeasureView, ResultsView, RunView};
use crate::result::{Better, ResultLine};

/// The width of the drawing, in its own units.
const WIDTH: u32 = 860;
/// The left end of the bars; the labels of rows and bars are left of it.
const LEFT: u32 = 380;
/// The space for a bar's figure, right of the longest bar.
const RIGHT: u32 = 70;
/// The height of a bar with the gap below it, of the gap between rows, and of a panel's heading.
const BAR: u32 = 20;
const GAP: u32 = 10;
const HEADING: u32 = 40;

/// The colours of the background, the text, the lines, and each rival's bars.
struct OverviewColours {
    page: &'static str,
    letters: &'static str,
    quiet: &'static str,
    bars: [&'static str; 2],
}

const LIGHT: OverviewColours =
    OverviewColours { page: "#ffffff", letters: "#1f2328", quiet: "#8a929b", bars: ["#0e69c3", "#7fb3e6"] };
const DARK: OverviewColours =
    OverviewColours { page: "#0d1117", letters: "#e6edf3", quiet: "#7d8590", bars: ["#378dff", "#1f4f8f"] };

/// A part of the chart: one experiment's measures, compared with some rivals.
struct OverviewPanel {
    heading: &'static str,
    experiment: &'static str,
    /// The contender in the results, and its name in the chart.
    rivals: [(&'static str, &'static str); 2],
    rows: &'static [OverviewRow],
}

struct OverviewRow {
    label: &'static str,
    measure: &'static str,
    /// The point's label, for measures with an axis.
    point: Option<&'static str>,
}

const PANELS: [OverviewPanel; 2] = [
    OverviewPanel {
        heading: "Server, its log on disk: requests per second of CPU time, as a multiple of",
        experiment: "server",
        rivals: [("redis-everysec", "Redis with appendfsync everysec"), ("redis", "Redis without a log")],
        rows: &[
            OverviewRow { label: "GET, one at a time", measure: "GET, CPU", point: Some("1") },
            OverviewRow { label: "SET, one at a time", measure: "SET, CPU", point: Some("1") },
            OverviewRow { label: "GET, pipeline of 16", measure: "GET, CPU", point: Some("16") },
            OverviewRow { label: "SET, pipeline of 16", measure: "SET, CPU", point: Some("16") },
            OverviewRow { label: "MGET, pipeline of 16", measure: "MGET of 10, CPU", point: Some("16") },
        ],
    },
    OverviewPanel {
        heading: "Library, one thread: rows per second, as a multiple of",
        experiment: "store",
        rivals: [("lmdb", "LMDB"), ("rocksdb", "RocksDB")],
        rows: &[
            OverviewRow { label: "load in batches of 1,000", measure: "load", point: None },
            OverviewRow { label: "random reads", measure: "get", point: None },
        ],
    },
];

/// The name of ours in the results of both experiments.
const OURS: &str = crate::rival::server::OURS;

/// A bar: the rival, and our rate as a multiple of its rate.
struct RateRatio {
    rival: usize,
    ratio: f64,
}

/// A row with its bars.
struct RowBars<'p> {
    row: &'p OverviewRow,
    bars: Vec<RateRatio>,
}

/// A panel with its rows.
struct PanelRows<'p> {
    panel: &'p OverviewPanel,
    rows: Vec<RowBars<'p>>,
}

impl RowBars<'_> {
    /// Returns the height, with the gap below.
    fn height(&self) -> u32 {
        self.bars.len() as u32 * BAR + GAP
    }
}

impl PanelRows<'_> {
    /// Returns the height, with the heading.
    fn height(&self) -> u32 {
        HEADING + self.rows.iter().map(RowBars::height).sum::<u32>()
    }
}

/// Returns the chart as a standalone SVG, or `None` if the results have neither a run of `server`
/// nor one of `store`.
pub fn overview(lines: &[ResultLine], dark: bool) -> Option<String> {
    let view = ResultsView::of(lines);
    let panels: Vec<PanelRows<'_>> = PANELS
        .iter()
        .filter_map(|panel| {
            let run = view.runs.iter().rev().find(|run| run.run.experiment == panel.experiment)?;
            let rows: Vec<_> = panel.rows.iter().filter_map(|row| bars_of(panel, row, run)).collect();
            (!rows.is_empty()).then_some(PanelRows { panel, rows })
        })
        .collect();
    let bars = panels.iter().flat_map(|panel| &panel.rows).flat_map(|row| &row.bars);
    let greatest = bars.map(|bar| bar.ratio);
    let greatest = greatest.fold(1.0, f64::max);
    (!panels.is_empty()).then(|| draw(&panels, greatest, if dark { &DARK } else { &LIGHT }))
}

/// Returns the bars of a row, or `None` if no rival was measured.
fn bars_of<'p>(panel: &OverviewPanel, row: &'p OverviewRow, run: &RunView<'_>) -> Option<RowBars<'p>> {
    let measure = run.measures.iter().find(|measure| measure.name == row.measure)?;
    let ours = median(measure, OURS, row.point)?;
    let bars: Vec<RateRatio> = panel
        .rivals
        .iter()
        .enumerate()
        .filter_map(|(rival, (name, _))| {
            let theirs = median(measure, name, row.point)?;
            // Less time per request is a higher rate.
            let ratio = if measure.better == Better::Less { theirs / ours } else { ours / theirs };
            ratio.is_finite().then_some(RateRatio { rival, ratio })
        })
        .collect();
    (!bars.is_empty()).then_some(RowBars { row, bars })
}

fn median(measure: &MeasureView<'_>, contender: &str, point: Option<&str>) -> Option<f64> {
    let at = measure.points.iter().find(|at| at.map(|at| &*at.label) == point)?;
    Some(Figures::of(measure.cell(contender, *at)?)?.summary.median)
}

fn draw(panels: &[PanelRows<'_>], greatest: f64, colours: &OverviewColours) -> String {
    let height = GAP + panels.iter().map(PanelRows::height).sum::<u32>();
    let scale = f64::from(WIDTH - LEFT - RIGHT) / greatest;
    let tops = panels.iter().scan(GAP, |next, panel| {
        let top = *next;
        *next += panel.height();
        Some(top)
    });
    let drawn = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {height}")) role="img"
            font-family="system-ui, sans-serif" font-size="14" {
            title { "SkeinDB's rate as a multiple of each rival's" }
            rect width=(WIDTH) height=(height) fill=(colours.page) {}
            @for (panel, top) in panels.iter().zip(tops) { (panel_at(panel, top, scale, colours)) }
        }
    };
    drawn.into_string()
}

fn panel_at(shown: &PanelRows<'_>, top: u32, scale: f64, colours: &OverviewColours) -> Markup {
    let PanelRows { panel, rows } = shown;
    let (first, end) = (top + HEADING, top + shown.height());
    let one = format!("{:.1}", f64::from(LEFT) + scale);
    let tops = rows.iter().scan(first, |next, row| {
        let top = *next;
        *next += row.height();
        Some(top)
    });
    html! {
        text x="8" y=(top + 22) font-weight="600" fill=(colours.letters) { (panel.heading) }
        @for (RowBars { row, bars }, top) in rows.iter().zip(tops) {
            text x="8" y=(top + 14) fill=(colours.letters) { (row.label) }
            @for (bar, y) in bars.iter().zip((top..).step_by(BAR as usize)) {
                text x=(LEFT - 8) y=(y + 14) text-anchor="end" font-size="11" fill=(colours.quiet) {
                    (panel.rivals[bar.rival].1)
                }
                rect x=(LEFT) y=(y + 2) width=(format!("{:.1}", bar.ratio * scale)) height=(BAR - 5) rx="2"
                    fill=(colours.bars[bar.rival]) {}
                text x=(format!("{:.1}", f64::from(LEFT) + bar.ratio * scale + 6.0)) y=(y + 14)
                    fill=(colours.letters) { (format!("{:.1}×", bar.ratio)) }
            }
        }
        (line_at_one(&one, first, end - GAP, colours))
    }
}

/// Draws the line at the rival's own rate.
fn line_at_one(x: &str, from: u32, to: u32, colours: &OverviewColours) -> Markup {
    let line = format!(
        "<line x1=\"{x}\" x2=\"{x}\" y1=\"{from}\" y2=\"{to}\" stroke=\"{}\" stroke-dasharray=\"3 \
         3\"/>",
        colours.letters
    );
    PreEscaped(line)
}
