//! `skein dump`: a server's or a data folder's keys and values as text, in order.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::bounds;
use crate::console;
use crate::exit::{Exit, Failure};
use crate::format::{self, Body, Format};
use crate::target::{Target, TargetArgs};

mod folder;
mod server;

const EXAMPLES: &str = "\
Examples:
  skein dump > keys.tsv                                     everything in the server at 127.0.0.1:6380
  skein dump --prefix usr/bin/ --limit 10                   the first ten keys under a prefix
  skein dump --min '[a' --max '(b' --format lines           keys from a, included, to b, left out
  skein dump --data ./skein-data --format hex -o all.hex    a data folder that no server uses

Tsv, csv and hex hold any bytes, and `skein load` with the same format gives back the same keys and values. Lines holds
keys alone. A dump is not a snapshot: it has every key that was there all the time, and of those that came or went
meanwhile some. Exit code 4 says that keys with a newline could not be written as lines.

A folder of the disk engine is taken as what it was made as: with the rows of a server, as above, or with the plain values of a program.

Opening a data folder does what a server's start does: it takes the folder's lock and cuts off a torn log tail.";

/// Write keys and values as text, in order.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// How to write.
    #[arg(long, value_enum, default_value = "tsv")]
    format: Format,
    /// Only keys that begin so.
    #[arg(long, conflicts_with_all = ["min", "max"])]
    prefix: Option<OsString>,
    /// The smallest key: `[key` included, `(key` left out, `-` for no bound.
    #[arg(long, value_name = "BOUND", allow_hyphen_values = true)]
    min: Option<OsString>,
    /// The greatest key: `[key` included, `(key` left out, `+` for no bound.
    #[arg(long, value_name = "BOUND", allow_hyphen_values = true)]
    max: Option<OsString>,
    /// At most so many keys.
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    limit: u64,
    /// The file to write; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs `skein dump`.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let range =
        bounds::range(args.min.as_ref(), args.max.as_ref(), args.prefix.as_ref()).map_err(Failure::usage)?;
    let mut output = Output {
        out: BufWriter::with_capacity(1 << 18, open_output(args.output.as_deref())?),
        format: args.format,
        keys_only: args.format == Format::Lines,
        left: args.limit,
        written: 0,
        refused: 0,
        failed: None,
    };
    if output.left > 0 {
        match args.target.target() {
            Target::Folder(folder) => folder::dump(&folder, &range, &mut output)?,
            Target::Server(server) => server::dump(&server, range, &mut output)?,
        }
    }
    output.finish()
}

fn open_output(file: Option<&Path>) -> Result<Box<dyn Write>, Failure> {
    let Some(file) = file else { return Ok(Box::new(io::stdout().lock())) };
    let output = File::create(file)
        .map_err(|error| Failure::during(format_args!("cannot write {}", file.display()), &error))?;
    Ok(Box::new(output))
}

/// Where rows go, and how many may still come.
struct Output {
    out: BufWriter<Box<dyn Write>>,
    format: Format,
    keys_only: bool,
    left: u64,
    written: u64,
    refused: u64,
    failed: Option<io::Error>,
}

impl Output {
    /// Writes a row; breaks when no more should come.
    fn row(&mut self, key: &[u8], body: &Body) -> ControlFlow<()> {
        match format::write(&mut self.out, self.format, key, body) {
            Ok(true) => self.written += 1,
            Ok(false) => self.refused += 1,
            Err(error) => {
                self.failed = Some(error);
                return ControlFlow::Break(());
            }
        }
        self.left -= 1;
        if self.left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(mut self) -> Result<Exit, Failure> {
        let result = match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        };
        let whole = result.is_ok();
        console::written(result)?;
        if !whole || self.refused == 0 {
            return Ok(Exit::Ok);
        }
        console::note(format_args!(
            "skein: {} keys with a newline in them do not fit --format lines ({} written); use --format hex",
            self.refused, self.written
        ));
        Ok(Exit::Partial)
    }
}
