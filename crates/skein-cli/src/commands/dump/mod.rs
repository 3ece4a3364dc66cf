//! `skein dump`: writes the keys and values of a server or a data folder as text, in order if the
//! keys have one.
//!
//! ```text
//!   a server    `server` ─┬─► `snapshot`, of one moment ┐
//!                         └─► `rows`, page by page ─────┼─► `output` ─► standard output,
//!   a cluster   `cluster` ──► `rows` ───────────────────┤               or `target_file`
//!   a folder    `folder` ───────────────────────────────┘
//! ```

use std::ffi::OsString;
use std::io::IsTerminal;
use std::ops::Bound;
use std::path::PathBuf;

use rustix::fs::FileType;

use crate::bounds;
use crate::console;
use crate::exit::{Exit, Failure};
use crate::format::Format;
use crate::remote::{ClusterTarget, note_other_databases};
use crate::target::{DataTarget, TargetArgs};

mod cluster;
mod folder;
mod output;
mod rows;
mod server;
mod snapshot;
pub mod target_file;

pub use output::DumpOutput;

const EXAMPLES: &str = "\
Examples:
  skein dump > keys.tsv
      everything in the server at 127.0.0.1:6380
  skein dump --prefix usr/bin/ --limit 10
      the first ten keys under a prefix
  skein dump --min '[a' --max '(b' --format lines
      keys from a, included, to b, excluded
  skein dump --data ./skein-data --format hex -o all.hex
      a data folder that no server uses
  skein dump --from rediss://backup@localhost:6381 --tls-ca ca.pem \\
      --password-file backup.pw -o all.tsv
      by TLS, as a user
  skein dump --cluster 10.0.0.1:7000 -o all.tsv
      all nodes of a Redis cluster that has the module skein

Tsv, csv and hex preserve values, hashes, sets, sorted sets, lists, streams with their groups, and expiry times, whatever the bytes; `skein load` restores them. \
A file (-o, or > FILE) begins with a line that names its format, so `load` needs no --format. A pipe has no such line; for programs that expect rows alone write `skein dump | cat > FILE`. A large hash, set or list has several records, each with a part of it; so has each stream. Lines holds only keys. \
The dump of a SkeinDB server or a data folder is as of one moment. That of a cluster, of a server without SK.SNAPSHOT and of a \
hash trie is not: it has every key that was there all the time, and some of those that were inserted or removed meanwhile. \
Exit code 4 says that keys were left out: those of other databases than the one in the address (redis://HOST:PORT/3), \
keys with a newline, which lines cannot hold (use --format hex), or values of Redis's modules, which no format can hold. They are counted by type.

With --cluster all primaries are read, in the order of the keys, also while slots migrate and primaries fail over. Name one \
node; the client finds the others.

A folder of the disk engine may have the rows of a server, as above, or the plain values of a program; the dump detects \
which. A hash trie has no order of keys: a whole dump is in the sequence of their hashes, and bounds are rejected.

With --data the command opens the folder as a server does: it takes the folder's lock and cuts off a torn log tail.";

/// Write keys and values as text, in order.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DumpArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// A node of a cluster, instead of a server: all nodes are read. May be given several times, or
    /// with commas.
    #[arg(
        long,
        value_name = "HOST:PORT",
        value_delimiter = ',',
        conflicts_with_all = ["server", "data"],
    )]
    cluster: Vec<String>,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "tsv")]
    format: Format,
    /// Only keys with this prefix.
    #[arg(long, conflicts_with_all = ["min", "max"])]
    prefix: Option<OsString>,
    /// The smallest key: `[key` includes it, `(key` excludes it, `-` for no bound.
    #[arg(long, value_name = "BOUND", allow_hyphen_values = true)]
    min: Option<OsString>,
    /// The greatest key: `[key` includes it, `(key` excludes it, `+` for no bound.
    #[arg(long, value_name = "BOUND", allow_hyphen_values = true)]
    max: Option<OsString>,
    /// The greatest number of keys to write.
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    limit: u64,
    /// The file to write; standard output by default. The file appears only when it is complete.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "output")]
    force: bool,
    /// No progress bar and no summary.
    #[arg(long, short)]
    quiet: bool,
}

/// Returns whether an output is a file without contents. Such a file gets a first line that names
/// the format. Pipes and terminals do not, and neither does a file that the shell appends to.
fn is_new_file(output: &impl std::os::fd::AsFd) -> bool {
    rustix::fs::fstat(output).is_ok_and(|found| {
        FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && found.st_size == 0
    })
}

/// Runs `skein dump`.
pub fn run(args: &DumpArgs) -> Result<Exit, Failure> {
    let range = bounds::range(["--min", "--max"], args.min.as_ref(), args.max.as_ref(), args.prefix.as_ref())
        .map_err(Failure::usage)?;
    let to = target_file::DumpTarget::open(args.output.as_deref(), args.force)?;
    // Rows and a bar would disturb each other on one terminal.
    let shows = !args.quiet && (args.output.is_some() || !std::io::stdout().is_terminal());
    let mut output = DumpOutput::new(to, args.format, args.limit, shows)?;
    if args.output.is_some() || is_new_file(&std::io::stdout()) {
        output.head();
    }
    let mut leaves_out = false;
    if output.left > 0 && !args.cluster.is_empty() {
        let target = ClusterTarget { nodes: &args.cluster, access: args.target.access() };
        cluster::dump(&target, &range, &mut output)?;
    } else if output.left > 0 {
        match args.target.target() {
            DataTarget::Folder(folder) => folder::dump(&folder, &range, &mut output)?,
            DataTarget::Server(server) => {
                let is_all = range == (Bound::Unbounded, Bound::Unbounded);
                leaves_out = is_all && note_other_databases(&mut server.connect()?)?;
                server::dump(&server, range, &mut output)?;
            }
        }
    }
    let (exit, summary) = output.finish()?;
    if args.output.is_some() && !args.quiet {
        console::note(format_args!("skein: {summary}"));
    }
    Ok(if leaves_out && matches!(exit, Exit::Ok) { Exit::Partial } else { exit })
}
