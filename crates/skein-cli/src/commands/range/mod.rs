//! `skein range`: writes the keys of a server or a cluster in order. `source` reads the keys, and
//! `record` converts each into text.

use std::ffi::OsString;
use std::ops::ControlFlow;

use skeindb::ScanDirection;
use skeindb::cluster::ClusterEntry;

use super::dump::{DumpOutput, target_file};
use crate::bounds::{self, OwnedBounds};
use crate::exit::{Exit, Failure};
use crate::format::Format;

mod record;
pub mod source;

use source::SourceArgs;

const EXAMPLES: &str = "\
Examples:
  skein range --prefix goose: --limit 10
      the first ten keys under a prefix
  skein range '[a' '(b' --values
      keys from a, included, to b, excluded, and their values
  skein range --cluster 10.0.0.1:7000 --rev
      all keys of a Redis cluster that has the module skein, from the last

Keys are written as `skein dump --format lines` writes them: one per line. --values writes the records of --format tsv, without expiry times. Exit \
code 4 says that keys were left out: keys with a newline, which lines cannot hold (use `skein dump --format hex`), or \
streams and values of modules with --values: a range has only the entries of a stream, and `skein dump` writes all of it.

A range is not a snapshot: it has every key that was there all the time, exactly once, and some of those that were inserted or \
removed meanwhile. That also holds for a cluster while slots migrate and primaries fail over. If a part of it cannot be read for \
30 s, the range ends with an error that names the part.";

/// The bounds of a range, as arguments.
#[derive(clap::Args)]
pub struct BoundArgs {
    /// The smallest key: `[key` includes it, `(key` excludes it, `-` for no bound.
    #[arg(allow_hyphen_values = true, requires = "max")]
    min: Option<OsString>,
    /// The greatest key: `[key` includes it, `(key` excludes it, `+` for no bound.
    #[arg(allow_hyphen_values = true)]
    max: Option<OsString>,
    /// Only keys with this prefix.
    #[arg(long, conflicts_with = "min")]
    prefix: Option<OsString>,
}

impl BoundArgs {
    /// Returns the range between the bounds.
    pub fn range(&self) -> Result<OwnedBounds, Failure> {
        bounds::range(["MIN", "MAX"], self.min.as_ref(), self.max.as_ref(), self.prefix.as_ref())
            .map_err(Failure::usage)
    }
}

/// Write the keys of a server or of a whole cluster, in order.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RangeCommandArgs {
    #[command(flatten)]
    bounds: BoundArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// From the greatest key to the smallest.
    #[arg(long)]
    rev: bool,
    /// The greatest number of keys to write.
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    limit: u64,
    /// Also write the values.
    #[arg(long)]
    values: bool,
}

/// Runs `skein range`.
pub fn run(args: &RangeCommandArgs) -> Result<Exit, Failure> {
    let range = args.bounds.range()?;
    let format = if args.values { Format::Tsv } else { Format::Lines };
    let mut output = DumpOutput::new(target_file::DumpTarget::open(None, false)?, format, args.limit, false)?;
    let direction = if args.rev { ScanDirection::Backward } else { ScanDirection::Forward };
    let mut keys = args.source.connect()?.range(range, direction, args.values, args.limit)?;
    while let Some(entry) = keys.next()? {
        if write(entry, &mut output).is_break() {
            break;
        }
    }
    output.finish().map(|(exit, _)| exit)
}

fn write(entry: ClusterEntry, output: &mut DumpOutput) -> ControlFlow<()> {
    match entry.held.map(record::body) {
        None => output.key(&entry.key),
        Some(Ok(body)) => output.body(&entry.key, &body),
        Some(Err(kind)) => output.refuse(&kind),
    }
}
