//! The arguments of `skein serve`, and the options that they produce.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use skein_disk::DiskOptions;
use skein_server::{DefaultChannels, ServerOptions, StartError, UnixSocket};
use skein_store::{CloseCheckpoint, Eviction, StoreLimits, StoreOptions};

use crate::config::OptionOrigins;
use crate::disk;
use crate::exit::{Exit, Failure};
use crate::remote;
use crate::target::{self, DEFAULT_ADDRESS, DurabilityArg};
use crate::units::{parse_duration, parse_mode, parse_size};

mod clients;
mod engine;
mod limits;
mod listen;
mod monitoring;
mod tls;

use clients::ClientArgs;
use engine::{EngineArg, EngineArgs};
use limits::LimitArgs;
use monitoring::MonitoringArgs;
use tls::TlsArgs;

const EXAMPLES: &str = "\
Examples:
  skein serve
      ./skein-data on 127.0.0.1:6380
  skein serve --data /srv/geese --durability sync
      nothing acknowledged is ever lost
  skein serve --listen 0.0.0.0:6380 --password-file pw
      for other machines; they need the password
  skein serve --log-dir /disk1/log --log-dir /disk2/log
      logs on two devices
  skein serve --tls-listen 0.0.0.0:6381 --tls-cert c.pem --tls-key k.pem \\
      --password-file pw
      for other machines, by TLS
  skein serve --config /etc/skein.toml
      options from a file; `skein config` prints one
  skein serve --engine disk --cache 4g
      more data than memory: a cache of 4 GiB

Durability:
  none      nothing is logged; a clean stop, SAVE and BGSAVE write everything
  buffered  on disk within 200 ms; a crash may lose that much, and
            leaves a prefix of the writes with no holes
  sync      on disk before the reply

Units of sizes are k, m, g, t (powers of 1024); those of times us, ms, s, m, h.
SIGTERM, Ctrl-C and the command SHUTDOWN stop the server cleanly: it answers the requests that it has read, and loses nothing. A \
second signal ends it immediately, like a crash.";

/// Serve a data folder to Redis clients.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// A file with options, which the command line overrides; `skein config` prints one.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The options that the file gave.
    #[arg(skip)]
    pub origins: OptionOrigins,
    /// The address to listen on; port 0 selects a free port, and a host alone gets port 6380.
    #[arg(long, value_name = "HOST:PORT", default_value = DEFAULT_ADDRESS)]
    pub listen: String,
    /// Listen on this port of 127.0.0.1: short for --listen 127.0.0.1:N.
    #[arg(long, value_name = "N", conflicts_with = "listen")]
    pub port: Option<u16>,
    /// Also listen on a Unix socket; its file is created, and removed at the end.
    #[arg(long, value_name = "PATH")]
    pub unix_socket: Option<PathBuf>,
    /// The permissions of the Unix socket's file, in octal: who may connect.
    #[arg(long, value_name = "MODE", default_value = "700", value_parser = parse_mode)]
    pub unix_socket_mode: u32,
    /// The data folder; it is created if it does not exist.
    #[arg(long, value_name = "DIR", default_value = "./skein-data")]
    pub data: PathBuf,
    /// The number of worker threads, each with its own log [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// The promise of an acknowledged write.
    #[arg(long, value_enum, default_value = "buffered")]
    pub durability: DurabilityArg,
    /// A file with the password that clients must give.
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// A file with the users, in the format of Redis's ACL files. It must exist, and may be empty;
    /// ACL SAVE writes it.
    #[arg(long, value_name = "FILE")]
    pub acl_file: Option<PathBuf>,
    /// The channels that new users may use until a rule names others.
    #[arg(long, value_name = "RULE", value_enum, default_value = "resetchannels")]
    acl_pubsub_default: ChannelRule,
    /// Let clients use DEBUG SLEEP, which makes a worker wait. For tests.
    #[arg(long)]
    pub enable_debug_command: bool,
    /// A folder for new logs, instead of the data folder; may be given several times. The data
    /// folder remembers its log folders, so the option is needed only to change them.
    #[arg(long, value_name = "DIR")]
    pub log_dir: Vec<PathBuf>,
    /// Continue without a log folder that is missing and permanently lost: drops the records of all
    /// logs since the newest checkpoint. Does nothing if this folder is not missing.
    #[arg(long, value_name = "DIR")]
    pub give_up_log_dir: Vec<PathBuf>,
    /// For tests: the recovery waits until this file exists.
    #[arg(long, value_name = "FILE", hide = true)]
    pub hold_loading: Option<PathBuf>,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    storage: StorageArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    clients: ClientArgs,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    monitoring: MonitoringArgs,
}

/// The rule of channels with which a new user begins.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
#[value(rename_all = "lower")]
enum ChannelRule {
    /// Every channel.
    AllChannels,
    /// No channel.
    ResetChannels,
}

/// The options to open an engine with.
#[derive(Debug)]
pub enum EngineOptions {
    Memory(Box<StoreOptions>),
    Disk(DiskOptions, StoreLimits),
}

/// Logs and checkpoints.
#[derive(clap::Args)]
#[command(next_help_heading = "Logs and checkpoints")]
struct StorageArgs {
    /// The largest size of a log segment. It is smaller while the log is short.
    #[arg(long, value_name = "SIZE", default_value = "64m", value_parser = parse_size)]
    log_segment_size: u64,
    /// Write a checkpoint when the logs have grown by this size, or in memory by four times the newest
    /// checkpoint, but at least 32 MiB; 0 for never [default: 1g, and 64m with --engine disk].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    checkpoint_log_size: Option<u64>,
    /// Write a checkpoint when this time has passed since the last one, if anything was written; 0
    /// for never [default: 1h].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    checkpoint_interval: Option<Duration>,
    /// Write a checkpoint on a stop if the logs have grown by this size, within the time that
    /// --stop-timeout leaves; 0 for never [default: 64m].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    checkpoint_on_stop: Option<u64>,
    /// How long to wait for a data folder that another process uses, for example one that was just
    /// killed.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    lock_wait: Duration,
    /// The number of threads that write a checkpoint while requests run [default: one per two
    /// cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    checkpoint_threads: Option<u16>,
}

impl ServeArgs {
    /// Returns the options of the store and of the server. Rejects impossible combinations before
    /// anything is created.
    pub fn options(&self) -> Result<(EngineOptions, ServerOptions), Failure> {
        self.checked_options().map_err(|failure| self.origins.explain(failure))
    }

    fn checked_options(&self) -> Result<(EngineOptions, ServerOptions), Failure> {
        let (engine, server) = (self.engine_options()?, self.server_options()?);
        server.check().map_err(|error| start_failure(&error))?;
        match &engine {
            EngineOptions::Memory(options) => options.check().map_err(|error| target::store_failure(&error)),
            EngineOptions::Disk(options, limits) => {
                let limits = StoreOptions { limits: limits.clone(), ..StoreOptions::default() };
                limits.check().map_err(|error| target::store_failure(&error))?;
                options.check().map_err(|error| disk::failure(&error))
            }
        }?;
        Ok((engine, server))
    }

    fn engine_options(&self) -> Result<EngineOptions, Failure> {
        self.engine.refuse_others(&self.memory_only())?;
        Ok(match self.engine.engine {
            EngineArg::Memory => EngineOptions::Memory(Box::new(self.store_options())),
            EngineArg::Disk => EngineOptions::Disk(self.disk_options()?, self.limits.store()),
        })
    }

    /// Returns the given options that concern only the memory engine.
    fn memory_only(&self) -> Vec<&'static str> {
        let (storage, limits) = (&self.storage, &self.limits);
        let given = [
            ("--log-dir", !self.log_dir.is_empty()),
            ("--checkpoint-interval", storage.checkpoint_interval.is_some()),
            ("--checkpoint-on-stop", storage.checkpoint_on_stop.is_some()),
            ("--checkpoint-threads", storage.checkpoint_threads.is_some()),
            ("--max-snapshot-memory", limits.max_snapshot_memory.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }

    fn disk_options(&self) -> Result<DiskOptions, Failure> {
        let defaults = DiskOptions::default();
        let policy = self.limits.max_memory_policy;
        if policy != Eviction::None {
            return Err(Failure::usage(format!(
                "--max-memory-policy {policy}: the disk engine evicts pages from its cache and never keys; leave the option out"
            )));
        }
        Ok(DiskOptions {
            give_up_log: self.gives_up_disk_log()?,
            durability: self.durability.into(),
            checkpoint_bytes: self.storage.checkpoint_log_size.unwrap_or(defaults.checkpoint_bytes),
            segment_bytes: self.storage.log_segment_size,
            lock_wait: self.storage.lock_wait,
            ..self.engine.disk_options(self.limits.max_memory)?
        })
    }

    /// Returns whether the log of a disk store is given up. It has one folder, in the data folder.
    fn gives_up_disk_log(&self) -> Result<bool, Failure> {
        let log = self.data.join("log");
        match self.give_up_log_dir.iter().find(|folder| **folder != log) {
            Some(other) => Err(Failure::usage(format!(
                "--give-up-log-dir {}: the log of the disk engine is in {}; name that folder, or leave the option out",
                other.display(),
                log.display()
            ))),
            None => Ok(!self.give_up_log_dir.is_empty()),
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
            close_checkpoint: self.close_checkpoint(),
            lock_wait: storage.lock_wait,
            checkpoint_threads: storage.checkpoint_threads.map_or(defaults.checkpoint_threads, usize::from),
            limits: self.limits.store(),
            ..defaults
        }
    }

    /// The server later sets its time limit to the rest of the stop's time.
    fn close_checkpoint(&self) -> Option<CloseCheckpoint> {
        let default = CloseCheckpoint::default().log_bytes;
        let log_bytes = self.storage.checkpoint_on_stop.unwrap_or(default);
        let within = self.clients.stop_timeout();
        (log_bytes > 0).then_some(CloseCheckpoint { log_bytes, within })
    }

    fn server_options(&self) -> Result<ServerOptions, Failure> {
        let options = ServerOptions {
            listen: self.address()?,
            unix_socket: self
                .unix_socket
                .clone()
                .map(|path| UnixSocket { path, mode: self.unix_socket_mode }),
            tls: self.tls.port()?,
            password: self.password()?,
            acl_file: self.acl_file.clone(),
            default_channels: match self.acl_pubsub_default {
                ChannelRule::AllChannels => DefaultChannels::All,
                ChannelRule::ResetChannels => DefaultChannels::None,
            },
            workers: self.server_workers(),
            debug_command: self.enable_debug_command,
            ..ServerOptions::default()
        };
        self.monitoring.apply(self.clients.apply(self.limits.apply(options)))
    }

    fn password(&self) -> Result<Option<Vec<u8>>, Failure> {
        let read = self.password_file.as_deref().map(remote::read_password).transpose();
        read.map_err(Failure::into_usage)
    }

    fn address(&self) -> Result<SocketAddr, Failure> {
        self.port
            .map_or_else(|| listen::LISTEN.resolve(&self.listen), |port| Ok(listen::on_this_machine(port)))
    }

    fn server_workers(&self) -> usize {
        self.workers.map_or_else(|| ServerOptions::default().workers, usize::from)
    }
}

/// Explains why the server does not start, with the names of this command's options.
pub fn start_failure(error: &StartError) -> Failure {
    match error {
        StartError::NoPassword { .. } => {
            Failure::usage(format!("{error}: --password-file FILE, or --listen"))
        }
        StartError::BadOption { name, why } => Failure::usage(format!("{} {why}", target::flag(name))),
        StartError::UnixSocket { .. } => Failure::new(format!("{error} (--unix-socket PATH)")),
        StartError::Listen { .. } => Failure::new(format!("{error} (--listen or --tls-listen HOST:PORT)")),
        StartError::TlsFile { .. } => {
            Failure::usage(format!("{error} (--tls-cert, --tls-key, --tls-ca FILE)"))
        }
        StartError::AclFile { .. } => Failure::usage(format!("{error} (--acl-file FILE)")),
        StartError::Databases { .. } => Failure { exit: Exit::Damage, message: error.to_string() },
        _ => Failure::new(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
