//! `skein stats`: shows the numbers of a server or a data folder. With `--watch`, `watch` asks
//! again each tick, `info` computes the changes, and `view` shows them.

use std::time::Duration;

use skein_disk::{DiskStore, Durability, PAGE};
use skeindb::client::Reply;

use crate::console;
use crate::disk;
use crate::exit::{Exit, Failure};
use crate::remote::{CommandPeer, ServerTarget};
use crate::target::{self, DataTarget, FolderTarget, TargetArgs};
use crate::units::{parse_duration, show_size};

mod info;
mod view;
mod watch;

/// The shortest tick: INFO computes several hundred numbers.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(24 * 60 * 60);

const EXAMPLES: &str = "\
Examples:
  skein stats
      the server at 127.0.0.1:6380: the replies to INFO and SK.MEMORY
  skein stats --watch
      the same server, every second
  skein stats --watch --interval 10s --ticks 6 >load.tsv
      for a minute, as a table: without a terminal each tick is a line
  skein stats --from rediss://localhost:6381 --tls-ca ca.pem --password-file pw
      by TLS, with a password
  skein stats --data ./skein-data
      a data folder that no server uses

With --data the command opens the folder as a server does: it takes the folder's lock, reads everything, and cuts off a torn \
log tail. `skein check` changes nothing.";

/// Show the numbers of a server or a data folder.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct StatsArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Show the server's activity, again and again, until Ctrl-C.
    #[arg(long, conflicts_with = "data")]
    watch: bool,
    /// With --watch: the length of a tick.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration, requires = "watch")]
    interval: Duration,
    /// With --watch: the number of ticks, after which it ends.
    #[arg(long, value_name = "N", requires = "watch")]
    ticks: Option<u64>,
}

/// Runs `skein stats`.
pub fn run(args: &StatsArgs) -> Result<Exit, Failure> {
    let text = match args.target.target() {
        DataTarget::Server(server) if args.watch => {
            if !(INTERVAL_MIN..=INTERVAL_MAX).contains(&args.interval) {
                let interval = args.interval;
                return Err(Failure::usage(format!(
                    "--interval {interval:?}: choose {INTERVAL_MIN:?} to {INTERVAL_MAX:?}"
                )));
            }
            watch::run(&server, args.interval, args.ticks)?;
            return Ok(Exit::Ok);
        }
        DataTarget::Folder(folder) => of_folder(&folder)?,
        DataTarget::Server(server) => of_server(&server)?,
    };
    console::print(&text)?;
    Ok(Exit::Ok)
}

fn of_server(server: &ServerTarget<'_>) -> Result<String, Failure> {
    let mut peer = server.connect()?;
    let mut text = match peer.one(&[b"INFO"])? {
        Reply::Bulk(info) => String::from_utf8_lossy(&info).replace("\r\n", "\n"),
        other => other.to_string(),
    };
    text.push_str("\n# SK.MEMORY\n");
    match peer.one(&[b"SK.MEMORY"])? {
        Reply::Array(items) => {
            for pair in items.chunks(2) {
                let words: Vec<String> = pair.iter().map(plain).collect();
                text.push_str(&words.join(":"));
                text.push('\n');
            }
        }
        other => text.push_str(&plain(&other)),
    }
    Ok(text)
}

/// Returns a reply without quotes and type names.
fn plain(reply: &Reply) -> String {
    match reply {
        Reply::Integer(number) => number.to_string(),
        other => match other.bytes() {
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            None => other.to_string(),
        },
    }
}

fn of_disk(store: &DiskStore) -> Result<String, Failure> {
    let stats = store.stats();
    let size = |pages: u32| show_size(u64::from(pages) * PAGE as u64);
    let text = format!(
        "trie:               {}\n\
         keys:               {}, whose values are {}\n\
         file:               {}, {} of it free\n\
         last write:         {}\n\
         cache:              {} pages, {} retired, {} entries of its policy\n\
         from log:           {} records, {} segments\n",
        store.shape(),
        stats.keys,
        store.options().values,
        size(stats.buffer.file_pages),
        size(stats.buffer.free_pages),
        stats.sequence,
        stats.buffer.resident,
        stats.buffer.retired,
        stats.buffer.policy_entries,
        stats.replayed,
        stats.log.segments,
    );
    store.close().map_err(|error| disk::failure(&error))?;
    Ok(text)
}

fn of_folder(folder: &FolderTarget<'_>) -> Result<String, Failure> {
    if let Some(store) = folder.open_disk(Durability::default())? {
        return of_disk(&store);
    }
    let store = folder.open_existing()?;
    let recovery = store.recovery();
    let stats = store.stats();
    let text = format!(
        "keys:               {}\n\
         in memory:          {} index, {} rows\n\
         durable epoch:      {}\n\
         from checkpoint:    {} rows\n\
         from logs:          {} records, {} in {} segments\n\
         torn tails cut off: {}\n\
         opened in:          {:.2} s\n",
        stats.keys,
        show_size(stats.index_bytes as u64),
        show_size(stats.row_bytes as u64),
        stats.durable_epoch,
        recovery.checkpoint_rows,
        recovery.log_records,
        show_size(recovery.log_bytes),
        stats.log_segments,
        recovery.torn_tails.len(),
        recovery.took.as_secs_f64(),
    );
    store.close().map_err(|error| target::store_failure(&error))?;
    Ok(text)
}
