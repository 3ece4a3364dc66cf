//! `skein load`: loads text, or a file of Redis, into a server or a data folder.
//!
//! ```text
//!   text   ─► TextReader ─┐
//!   REDIS… ─► `rdb`      ─┴─► TextRecord ─► RecordSink ─┬─ `server`       one connection
//!                                                      ├─ `cluster`      the primaries
//!                                                      ├─ `folder`       rows of an engine
//!                                                      └─ `bytes_store`  values alone
//! ```
//!
//! `input` detects the format. `commands` turns records into requests for `server` and `cluster`,
//! `queue` moves work to threads, and `report` counts the records over all of them.

use std::io;
use std::path::PathBuf;

use skein_disk::Durability;

use crate::console;
use crate::exit::{Exit, Failure};
use crate::format::{Format, LineValue, ReadOptions, TextReader, TextRecord};
use crate::interrupt::Interrupt;
use crate::progress::{self, InputProgress};
use crate::remote::ClusterTarget;
use crate::target::{self, DataTarget, TargetArgs};

mod bytes_store;
mod cluster;
mod commands;
mod folder;
mod input;
mod queue;
mod rdb;
mod report;
mod server;

use cluster::ClusterSink;
use input::{InputKind, LoadInput};
use rdb::RdbSource;
use report::LoadReport;
use server::ServerSink;

const EXAMPLES: &str = "\
Formats:
  lines  one key per line; its value is the line's number (see --value)
  tsv    key, tab, value; \\t \\n \\r and \\\\ stand for tab, newline,
         carriage return and backslash
  csv    key, comma, value; fields may be quoted
  hex    key, tab, value, in hexadecimal
A file of `skein dump` says in its first line what it is. Without one, a file whose first line has a tab, or that begins \
like no text, needs --format.
A file that Redis or Valkey wrote (dump.rdb) is recognized by its first bytes, unless --format is given. Its databases \
are loaded into those of the same numbers; a cluster has database 0 alone, so keys of others are rejected.
In tsv, csv and hex, an odd number of fields from three up is a key with columns: key, name, value, name, value ...
If a key expires, the time follows at the end, in milliseconds since 1970; behind a value's time follows an empty field.
A sorted set is a key, member, score, member, score ... and at the end the word zset, or zset:TIME if it expires.
A set is a key, members with an empty field behind each, and at the end the word set, or set:TIME if it expires.
A list is a key, elements with an empty field behind each, and at the end the word list, or list:TIME if it expires.
A stream has several records, and at the end of each the word stream, or stream:TIME if it expires. The first is a key, groups, \
their number, and the groups with their consumers and pending entries; it replaces what the key holds. Then come entries: an id, \
the number of fields, field, value, field, value ..., the next id ... The last begins with the word length and has the counters. \
`skein dump` writes them; a record of entries alone is added to the stream, as XADD does.
Loading text adds to an existing hash, set or sorted set, and appends to an existing list: a list that is loaded twice has all \
elements twice. Keys of a file of Redis replace those that are there.

Examples:
  skein load paths.txt
      keys from a file, into the server at 127.0.0.1:6380
  zcat table.tsv.gz | skein load - --format tsv
      from standard input
  skein load paths.txt --to-cluster 10.0.0.1:7000
      into a Redis or Valkey cluster, each key to its node
  skein load /var/lib/redis/dump.rdb
      all databases of a Redis, with the expiry times, and its functions
  skein load dump.rdb --database 3 --to redis://127.0.0.1:6380/0
      its database 3 alone, into database 0
  skein load table.csv --format csv --header --data ./d
      straight into a data folder that no server uses

Ctrl-C ends a load after the records that were accepted, and says how many were read and loaded.

Exit code 4 says that the whole file was read but some records were rejected; each is named with its line.";

/// Load keys and values from a text file, or from a file of Redis.
#[derive(clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("server", |server| server.long("to")),
    mut_arg("data", |data| data.help("A data folder that no server uses, instead of a server; it is created if it does not exist")),
    mut_arg("log_dir", |dir| dir.help(
        "A folder for new logs of the data folder, to change those that it remembers. May be given several times"
    )),
)]
pub struct LoadArgs {
    /// The file to read; `-` is standard input.
    file: PathBuf,
    /// The format of the file [default: that which its first line names, as a dump's does; that of
    /// Redis if the file begins so; otherwise lines].
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The value that each key of `lines` gets [default: number].
    #[arg(long, value_enum)]
    value: Option<LineValue>,
    /// Skip the first record, which names the fields.
    #[arg(long)]
    header: bool,
    /// In tsv, do not interpret backslashes.
    #[arg(long)]
    raw: bool,
    /// Load only this database of a file of Redis: into that of the same number, or into the one in
    /// the server's address.
    #[arg(long, value_name = "N")]
    database: Option<u64>,
    #[command(flatten)]
    target: TargetArgs,
    /// A node of a cluster to load into, instead of a server: each record is written to the node
    /// that owns its key's slot. May be given several times, or with commas.
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', conflicts_with_all = ["server", "data"])]
    to_cluster: Vec<String>,
    /// The durability while loading into a data folder; at the end, everything is on disk in any
    /// case.
    #[arg(long, default_value = "buffered", value_parser = target::durability_parser(), requires = "data")]
    durability: Durability,
    /// The number of records that are sent or written at once.
    #[arg(long, value_name = "N", default_value = "512", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,
    /// The number of rejected records to name on standard error; the rest are only counted.
    #[arg(long, value_name = "N", default_value = "20")]
    show_refused: u64,
    /// No progress bar and no summary.
    #[arg(long, short)]
    quiet: bool,
}

/// A destination of records.
trait RecordSink {
    /// Directs the next records into a server's database, and makes their keys names in it. Returns
    /// false if the target has no databases, and this is not database 0.
    fn select(&mut self, database: u64) -> Result<bool, Failure>;
    /// Accepts a record. The report counts it later, as loaded or rejected.
    fn put(&mut self, record: TextRecord) -> Result<(), Failure>;
    /// Accepts the source of a library of functions, in the same way. Returns false if the target
    /// has none.
    fn library(&mut self, _number: u64, _source: &[u8]) -> Result<bool, Failure> {
        Ok(false)
    }
    /// Sends the rest. Waits until everything is answered and as durable as the target promises.
    fn finish(self: Box<Self>) -> Result<(), Failure>;
}

/// The number of records that were read, and a text about them.
#[derive(Default)]
struct ReadCounts {
    records: u64,
    about: String,
}

/// Adds to a failure how far the load came before it.
fn how_far(mut failure: Failure, records: u64, loaded: u64) -> Failure {
    failure.message = format!("{}; {records} records read, {loaded} loaded before", failure.message);
    failure
}

/// Runs `skein load`.
pub fn run(args: &LoadArgs) -> Result<Exit, Failure> {
    let (input, interrupt) = LoadInput::open(&args.file)?;
    let kind = input.kind(args.format)?;
    args.check(kind)?;
    let size = input.size;
    let mut progress = InputProgress::start(size, args.quiet);
    let unit = if kind == InputKind::Rdb { "record" } else { "line" };
    let report = LoadReport::new(progress.printer(), args.show_refused).by(unit);
    let into = args.named_database()?;
    let mut sink = args.sink(&report)?;
    let mut read = ReadCounts::default();
    let mut feed = LoadFeed { sink: sink.as_mut(), report: &report, progress: &mut progress, interrupt };
    let fed = match kind {
        InputKind::Rdb => {
            let again = size.map(|_| args.file.as_path());
            let source = RdbSource { again, database: args.database, into };
            rdb::feed(input.read(), source, &mut feed, &mut read)
        }
        InputKind::Dump(format) | InputKind::Text(format) => {
            let of_dump = matches!(kind, InputKind::Dump(_));
            let options = ReadOptions { of_dump, ..args.text_options(format) };
            let mut reader = TextReader::new(input.read(), options);
            feed.text(&mut reader, &mut read.records)
        }
    };
    // Also after a failure: the accepted records are finished, so that the counts are true.
    let finished = sink.finish();
    let took = progress.finish();
    report.summarize_refusals();
    let loaded = report.loaded();
    let ReadCounts { records, about } = read;
    fed.and(finished).map_err(|failure| how_far(failure, records, loaded))?;
    let refused = report.refused();
    if !args.quiet {
        let rate = progress::rate(loaded, took);
        let took = took.as_secs_f64();
        console::print(&format!(
            "{records} records read{about}, {loaded} loaded, {refused} refused, in {took:.1} s ({rate})\n"
        ))?;
    }
    Ok(if refused == 0 { Exit::Ok } else { Exit::Partial })
}

impl LoadArgs {
    /// Rejects options that would have no effect.
    fn check(&self, kind: InputKind) -> Result<(), Failure> {
        let is_rdb = kind == InputKind::Rdb;
        let of_text = [("--value", self.value.is_some()), ("--header", self.header), ("--raw", self.raw)];
        match (of_text.into_iter().find(|(_, given)| *given), kind) {
            (Some((name, _)), InputKind::Rdb) => Err(Failure::usage(format!(
                "{name} is for text, and the file is one of Redis; leave it out, or name the text's --format"
            ))),
            (Some((name, _)), InputKind::Dump(_)) => Err(Failure::usage(format!(
                "{name} is for text of other programs, and the file is a dump of skein; leave it out"
            ))),
            _ if self.database.is_some() && !is_rdb => {
                Err(Failure::usage("--database is for files of Redis, and the file is none; leave it out"))
            }
            _ => match self.named_database()? {
                Some(into) if is_rdb && self.database.is_none() => Err(Failure::usage(format!(
                    "the server's address ends with the number of a database, and the databases of a file of Redis have \
                     numbers of their own; leave /{into} out, or choose one database by --database N"
                ))),
                _ => Ok(()),
            },
        }
    }

    /// Returns the number of the database that the server's address has.
    fn named_database(&self) -> Result<Option<u64>, Failure> {
        match self.target.target() {
            DataTarget::Server(server) if self.to_cluster.is_empty() => {
                Ok(server.named_database()?.map(u64::from))
            }
            _ => Ok(None),
        }
    }

    fn text_options(&self, format: Format) -> ReadOptions {
        ReadOptions {
            format,
            line_value: self.value.unwrap_or(LineValue::Number),
            raw: self.raw,
            header: self.header,
            of_dump: false,
        }
    }

    fn sink(&self, report: &LoadReport) -> Result<Box<dyn RecordSink + '_>, Failure> {
        let batch = self.batch as usize;
        Ok(match self.target.target() {
            _ if !self.to_cluster.is_empty() => {
                let cluster = ClusterTarget { nodes: &self.to_cluster, access: self.target.access() };
                Box::new(ClusterSink::new(cluster.connect()?, batch, report))
            }
            DataTarget::Folder(folder) => folder::open(&folder, self.durability, batch, report)?,
            DataTarget::Server(server) => Box::new(ServerSink::connect(server, batch, report)?),
        })
    }
}

/// The target of records, and the messages about them.
struct LoadFeed<'f> {
    sink: &'f mut dyn RecordSink,
    report: &'f LoadReport,
    progress: &'f mut InputProgress,
    /// A signal ends the load before the next record.
    interrupt: Interrupt,
}

impl LoadFeed<'_> {
    /// Loads text.
    fn text(&mut self, reader: &mut TextReader<impl io::BufRead>, read: &mut u64) -> Result<(), Failure> {
        while let Some(record) = reader.next().map_err(|error| input::failure(&self.interrupt, &error))? {
            self.interrupt.check()?;
            *read += 1;
            match record {
                Ok(record) => self.sink.put(record)?,
                Err(bad) => self.report.refuse(bad.line, &bad.why),
            }
            if (*read).is_multiple_of(256) {
                self.progress.update(reader.bytes(), *read);
            }
        }
        Ok(())
    }
}
