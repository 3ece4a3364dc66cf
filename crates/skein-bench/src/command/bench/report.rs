//! `skein bench report`: makes tables and charts of results.

use std::path::{Path, PathBuf};

use skein_bench::report;
use skein_bench::result::ResultLine;

use skein_terminal::exit::{Exit, Failure};

/// Make a report of results: a table here, and a page with charts.
#[derive(clap::Args)]
pub struct BenchReportArgs {
    /// Results files.
    #[arg(default_value = super::RESULTS, value_name = "FILE")]
    results: Vec<PathBuf>,
    /// The page to write; it is self-contained.
    #[arg(long, default_value = "skein-bench.html", value_name = "FILE")]
    html: PathBuf,
    /// Also write overview-light.svg and overview-dark.svg into this folder: SkeinDB beside Redis,
    /// LMDB and RocksDB, from results of `server` and `store`.
    #[arg(long, value_name = "FOLDER")]
    overview: Option<PathBuf>,
}

/// Runs `skein bench report`.
pub fn run(args: &BenchReportArgs) -> Result<Exit, Failure> {
    let lines = super::read_all(&args.results)?;
    if lines.is_empty() {
        return Err(Failure::new("there are no results yet; `skein bench run NAME` makes some"));
    }
    super::write_file(&args.html, &report::html(&lines))?;
    if let Some(folder) = &args.overview {
        write_overview(folder, &lines)?;
    }
    super::show(&format!("{}\nThe page with charts is {}.\n", report::table(&lines), args.html.display()))
}

/// Writes the drawings for light and for dark pages.
fn write_overview(folder: &Path, lines: &[ResultLine]) -> Result<(), Failure> {
    for (name, dark) in [("overview-light.svg", false), ("overview-dark.svg", true)] {
        let drawing = report::overview(lines, dark).ok_or_else(|| {
            Failure::new(
                "the results hold no figures of ours beside a rival for --overview; \
                 `skein bench run server store` makes them, with a build that has the feature `rivals`",
            )
        })?;
        super::write_file(&folder.join(name), &drawing)?;
    }
    Ok(())
}
