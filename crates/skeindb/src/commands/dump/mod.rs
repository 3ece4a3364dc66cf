//! `skein dump`: a server's or a data folder's keys and values as text, in order if keys have one.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::bounds;
use crate::exit::{Exit, Failure};
use crate::format::Format;
use crate::target::{Target, TargetArgs};

mod folder;
mod output;
mod server;

use output::Output;

const EXAMPLES: &str = "\
Examples:
  skein dump > keys.tsv                                     everything in the server at 127.0.0.1:6380
  skein dump --prefix usr/bin/ --limit 10                   the first ten keys under a prefix
  skein dump --min '[a' --max '(b' --format lines           keys from a, included, to b, left out
  skein dump --data ./skein-data --format hex -o all.hex    a data folder that no server uses
  skein dump --from rediss://backup@localhost:6381 --tls-ca ca.pem --password-file backup.pw -o all.tsv
                                                            by TLS, as a user

Tsv, csv and hex hold all that a server does, whatever the bytes: values, hashes, sorted sets, and when they expire; `skein load` \
with the same format gives it back. A hash or a sorted set with much in it has several records, each with a part of it. Lines holds \
keys alone. A dump is not a snapshot: it has every key that was there all the time, and of those that came or went \
meanwhile some. Exit code 4 says that there were keys with a newline, which could not be written as lines.

A folder of the disk engine is taken as what it was made as: with the rows of a server, as above, or with the plain values of a program. \
A hash trie has no order of keys: a dump of all of it comes in the order of their hashes, and bounds are refused.

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
    let mut output = Output::new(open_output(args.output.as_deref())?, args.format, args.limit);
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
    // Whoever may not read the data may not read a copy of it, either.
    let output = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file)
        .map_err(|error| Failure::during(format_args!("cannot write {}", file.display()), &error))?;
    Ok(Box::new(output))
}
