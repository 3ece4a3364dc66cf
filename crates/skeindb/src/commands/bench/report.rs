//! `skein bench report`: tables and charts of results.

use std::path::PathBuf;

use skein_bench::report;

use crate::exit::{Exit, Failure};

/// Make a report of results: a table here, and a page with charts.
#[derive(clap::Args)]
pub struct Args {
    /// Results files.
    #[arg(default_value = super::RESULTS, value_name = "FILE")]
    results: Vec<PathBuf>,
    /// The page to write; it needs nothing beside itself.
    #[arg(long, default_value = "skein-bench.html", value_name = "FILE")]
    html: PathBuf,
}

/// Runs `skein bench report`.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let lines = super::read_all(&args.results)?;
    if lines.is_empty() {
        return Err(Failure::new("there are no results yet; `skein bench run NAME` makes some"));
    }
    super::write_file(&args.html, &report::html(&lines))?;
    super::show(&format!("{}\nThe page with charts is {}.\n", report::table(&lines), args.html.display()))
}
