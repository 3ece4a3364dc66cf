//! The arguments of `skein serve`, and what they become.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use skein_disk::DiskOptions;
use skein_server::{ServerOptions, StartError};
use skein_store::{Limits, StoreOptions};

use crate::disk;
use crate::exit::Failure;
use crate::target::{self, DEFAULT_ADDRESS, DurabilityArg};
use crate::units::{parse_duration, parse_size};

mod engine;

use engine::{EngineArg, EngineArgs};

const EXAMPLES: &str = "\
Examples:
  skein serve                                             ./skein-data on 127.0.0.1:6380
  skein serve --data /srv/geese --durability sync         nothing acknowledged is ever lost
  skein serve --listen 0.0.0.0:6380 --password-file pw    for other machines; they need the password
  skein serve --log-dir /disk1/log --log-dir /disk2/log   logs on two devices
  skein serve --engine disk --cache 4g                    more data than memory: 4 GiB of it are cached

Durability:
  none      nothing is logged; a clean stop, SAVE and BGSAVE write everything
  buffered  on disk within 200 ms; a crash may lose that much, and what survives is a prefix with no holes
  sync      on disk before the reply

Sizes take k, m, g, t (powers of 1024); times take ms, s, m, h.
SIGTERM, Ctrl-C and the command SHUTDOWN stop the server cleanly: it answers what it has read and loses nothing. A second
signal ends it at once, as a crash would.";

/// Serve a data folder to Redis clients.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "HOST:PORT", default_value = DEFAULT_ADDRESS)]
    pub listen: String,
    /// The data folder; it is made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "./skein-data")]
    pub data: PathBuf,
    /// Worker threads, each with a log of its own [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// What an acknowledged write promises.
    #[arg(long, value_enum, default_value = "buffered")]
    pub durability: DurabilityArg,
    /// A file with the password that clients must give.
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// A folder for new logs, in place of the data folder; may be given several times. The data folder remembers
    /// its log folders, so the option is needed only to change them.
    #[arg(long, value_name = "DIR")]
    pub log_dir: Vec<PathBuf>,
    /// Go on without a log folder that is missing and lost for good: drops what all logs hold since the newest
    /// checkpoint. Does nothing if the folder is not one that is missed.
    #[arg(long, value_name = "DIR")]
    pub give_up_log_dir: Vec<PathBuf>,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    storage: StorageArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// How an engine is opened.
#[derive(Debug)]
pub enum EngineOptions {
    Memory(Box<StoreOptions>),
    Disk(DiskOptions, Limits),
}

/// Logs and checkpoints.
#[derive(clap::Args)]
#[command(next_help_heading = "Logs and checkpoints")]
struct StorageArgs {
    /// Size of a log segment.
    #[arg(long, value_name = "SIZE", default_value = "64m", value_parser = parse_size)]
    log_segment_size: u64,
    /// Write a checkpoint when the logs have grown by so much; 0 for never [default: 1g, and 64m with --engine disk].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    checkpoint_log_size: Option<u64>,
    /// Write a checkpoint so long after the last one, if anything was written; 0 for never [default: 1h].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    checkpoint_interval: Option<Duration>,
    /// Threads that write a checkpoint while requests run [default: one per two cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    checkpoint_threads: Option<u16>,
}

/// Bounds on what clients can make grow.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// The longest key that is written [default: 65535 bytes, which is also the most].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_key: Option<u64>,
    /// The longest value; all columns of a row together [default: 512m less one byte, which is also the most].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_value: Option<u64>,
    /// Memory past which writes that add are refused [default: none].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_memory: Option<u64>,
    /// Snapshots at a time, with --index skip-list; at most 255 [default: 64].
    #[arg(long, value_name = "N")]
    max_snapshots: Option<usize>,
    /// Connections at a time.
    #[arg(long, value_name = "N", default_value = "10000")]
    max_clients: usize,
    /// The longest request.
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = parse_size)]
    max_request: u64,
    /// The longest argument of a request, so the longest value that can be sent [default: 512m, or --max-request if that is
    /// less].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_argument: Option<u64>,
    /// The most arguments of a request.
    #[arg(long, value_name = "N", default_value = "1048576")]
    max_arguments: usize,
    /// Requests of one connection that are read ahead and run as one batch; more of them wait.
    #[arg(long, value_name = "N", default_value = "1024")]
    max_pipeline: usize,
    /// Replies that may wait for a slow client before nothing more of it is read.
    #[arg(long, value_name = "SIZE", default_value = "1m", value_parser = parse_size)]
    max_output: u64,
    /// The longest reply of many keys.
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = parse_size)]
    max_reply: u64,
    /// Positions of SCAN that are kept for all clients together; the oldest goes first.
    #[arg(long, value_name = "N", default_value = "16384")]
    max_scan_cursors: usize,
    /// How long a stop waits for clients to take their replies.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    stop_timeout: Duration,
}

impl Args {
    /// How the store is to be opened and the server to run. What cannot work is refused here, before anything is made.
    pub fn options(&self) -> Result<(EngineOptions, ServerOptions), Failure> {
        let (engine, server) = (self.engine_options()?, self.server_options()?);
        server.check().map_err(|error| start_failure(&error))?;
        match &engine {
            EngineOptions::Memory(options) => options.check().map_err(|error| target::store_failure(&error)),
            EngineOptions::Disk(options, _) => options.check().map_err(|error| disk::failure(&error)),
        }?;
        Ok((engine, server))
    }

    fn engine_options(&self) -> Result<EngineOptions, Failure> {
        self.engine.refuse_others(&self.memory_only())?;
        Ok(match self.engine.engine {
            EngineArg::Memory => EngineOptions::Memory(Box::new(self.store_options())),
            EngineArg::Disk => EngineOptions::Disk(self.disk_options()?, self.store_limits()),
        })
    }

    /// Options that were given and say something about the engine in memory alone.
    fn memory_only(&self) -> Vec<&'static str> {
        let (storage, limits) = (&self.storage, &self.limits);
        let given = [
            ("--log-dir", !self.log_dir.is_empty()),
            ("--give-up-log-dir", !self.give_up_log_dir.is_empty()),
            ("--checkpoint-interval", storage.checkpoint_interval.is_some()),
            ("--checkpoint-threads", storage.checkpoint_threads.is_some()),
            ("--max-memory", limits.max_memory.is_some()),
            ("--max-snapshots", limits.max_snapshots.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }

    fn disk_options(&self) -> Result<DiskOptions, Failure> {
        let defaults = DiskOptions::default();
        Ok(DiskOptions {
            durability: self.durability.into(),
            checkpoint_bytes: self.storage.checkpoint_log_size.unwrap_or(defaults.checkpoint_bytes),
            segment_bytes: self.storage.log_segment_size,
            ..self.engine.disk_options()?
        })
    }

    fn store_limits(&self) -> Limits {
        let (limits, defaults) = (&self.limits, Limits::default());
        Limits {
            key_bytes: limits.max_key.map_or(defaults.key_bytes, saturate),
            value_bytes: limits.max_value.map_or(defaults.value_bytes, saturate),
            memory_bytes: limits.max_memory.map(saturate),
            snapshots: limits.max_snapshots.unwrap_or(defaults.snapshots),
        }
    }

    fn store_options(&self) -> StoreOptions {
        let defaults = StoreOptions::default();
        let storage = &self.storage;
        let (log_size, interval) = (storage.checkpoint_log_size, storage.checkpoint_interval);
        StoreOptions {
            durability: self.durability.into(),
            index: self.engine.index(),
            logs: self.server_workers(),
            log_folders: self.log_dir.clone(),
            give_up_log_folders: self.give_up_log_dir.clone(),
            segment_bytes: storage.log_segment_size,
            checkpoint_log_bytes: log_size.or(defaults.checkpoint_log_bytes).filter(|&size| size > 0),
            checkpoint_interval: interval.or(defaults.checkpoint_interval).filter(|time| !time.is_zero()),
            checkpoint_threads: storage.checkpoint_threads.map_or(defaults.checkpoint_threads, usize::from),
            limits: self.store_limits(),
            ..defaults
        }
    }

    fn server_options(&self) -> Result<ServerOptions, Failure> {
        let limits = &self.limits;
        let longest = ServerOptions::default().arg_bytes_max.min(saturate(limits.max_request));
        Ok(ServerOptions {
            listen: resolve(&self.listen)?,
            password: self.password_file.as_deref().map(target::read_password).transpose()?,
            workers: self.server_workers(),
            clients_max: limits.max_clients,
            request_bytes_max: saturate(limits.max_request),
            arg_bytes_max: limits.max_argument.map_or(longest, saturate),
            args_max: limits.max_arguments,
            pipeline_max: limits.max_pipeline,
            output_bytes_max: saturate(limits.max_output),
            reply_bytes_max: saturate(limits.max_reply),
            scan_cursors_max: limits.max_scan_cursors,
            stop_timeout: limits.stop_timeout,
        })
    }

    fn server_workers(&self) -> usize {
        self.workers.map_or_else(|| ServerOptions::default().workers, usize::from)
    }
}

fn resolve(listen: &str) -> Result<SocketAddr, Failure> {
    let mut addresses = listen.to_socket_addrs().map_err(|error| {
        Failure::new(format!("cannot listen on {listen}: {error}; write HOST:PORT, as in {DEFAULT_ADDRESS}"))
    })?;
    addresses
        .next()
        .ok_or_else(|| Failure::new(format!("cannot listen on {listen}: the name has no address")))
}

/// A size that this machine cannot address is as good as none.
fn saturate(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Why the server does not start, with the options of this command.
pub fn start_failure(error: &StartError) -> Failure {
    match error {
        StartError::NoPassword { .. } => {
            Failure::usage(format!("{error}: --password-file FILE, or --listen"))
        }
        StartError::BadOption { name, why } => Failure::usage(format!("{} {why}", target::flag(name))),
        StartError::Listen { .. } => Failure::new(format!("{error} (--listen HOST:PORT)")),
        _ => Failure::new(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
