//! The arguments of `skein serve`, and the options of server and engine that they produce together.
//! Each option is a row of [`OPTIONS`]. `command_line` makes clap's arguments of the rows;
//! `listen`, `tls` and `engine` turn values into addresses, certificates and engines.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use skein_disk::DiskOptions;
use skein_server::config::{EngineKind, OPTIONS};
use skein_server::{ServeOptions, ServerOptions, StartError, UnixSocket};
use skein_store::{CloseCheckpoint, Eviction, StoreLimits, StoreOptions};

use crate::config::OptionOrigins;
use crate::disk;
use crate::exit::{Exit, Failure};
use crate::remote;
use crate::target;

mod command_line;
mod engine;
mod listen;
mod tls;

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

/// The arguments of `skein serve`.
#[derive(Debug, Default)]
pub struct ServeArgs {
    /// The values of all options.
    pub options: ServeOptions,
    /// The options that were given, on the command line or in the file.
    given: BTreeSet<&'static str>,
    /// The options that the file gave.
    pub origins: OptionOrigins,
}

/// The options to open an engine with.
#[derive(Debug)]
pub enum EngineOptions {
    Memory(Box<StoreOptions>),
    Disk(DiskOptions, StoreLimits),
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
        self.refuse_other_engine()?;
        Ok(match self.options.engine {
            EngineKind::Memory => EngineOptions::Memory(Box::new(self.store_options())),
            EngineKind::Disk => EngineOptions::Disk(self.disk_options()?, self.store_limits()),
        })
    }

    /// Rejects options of the other engine.
    fn refuse_other_engine(&self) -> Result<(), Failure> {
        let given = OPTIONS.iter().filter(|option| self.given.contains(option.name));
        for option in given {
            let name = option.name;
            match option.engine {
                Some(engine) if engine != self.options.engine => {
                    let engine = if engine == EngineKind::Disk { "disk" } else { "memory" };
                    return Err(Failure::usage(format!(
                        "--{name} is of --engine {engine}; leave it out, or choose that engine"
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn disk_options(&self) -> Result<DiskOptions, Failure> {
        let (given, defaults) = (&self.options, DiskOptions::default());
        let policy = given.max_memory_policy;
        if policy != Eviction::None {
            return Err(Failure::usage(format!(
                "--max-memory-policy {policy}: the disk engine evicts pages from its cache and never keys; leave the option out"
            )));
        }
        Ok(DiskOptions {
            give_up_log: self.gives_up_disk_log()?,
            durability: given.durability,
            checkpoint_bytes: given.checkpoint_log_size.unwrap_or(defaults.checkpoint_bytes),
            segment_bytes: given.log_segment_size,
            lock_wait: given.lock_wait,
            ..engine::disk_options(given)?
        })
    }

    /// Returns whether a trie is named.
    pub fn names_trie(&self) -> bool {
        self.options.trie.is_some() || self.options.trie_size.is_some()
    }

    /// Returns whether the log of a disk store is given up. It has one folder, in the data folder.
    fn gives_up_disk_log(&self) -> Result<bool, Failure> {
        let log = self.options.data.join("log");
        match self.options.give_up_log_dir.iter().find(|folder| **folder != log) {
            Some(other) => Err(Failure::usage(format!(
                "--give-up-log-dir {}: the log of the disk engine is in {}; name that folder, or leave the option out",
                other.display(),
                log.display()
            ))),
            None => Ok(!self.options.give_up_log_dir.is_empty()),
        }
    }

    fn store_options(&self) -> StoreOptions {
        let (given, defaults) = (&self.options, StoreOptions::default());
        let log_bytes = given.checkpoint_log_size.or(defaults.checkpoint_log_bytes);
        StoreOptions {
            durability: given.durability,
            index: given.index,
            logs: given.server.workers,
            log_folders: given.log_dir.clone(),
            give_up_log_folders: given.give_up_log_dir.clone(),
            segment_bytes: given.log_segment_size,
            checkpoint_log_bytes: log_bytes.filter(|&size| size > 0),
            checkpoint_interval: Some(given.checkpoint_interval).filter(|time| !time.is_zero()),
            close_checkpoint: self.close_checkpoint(),
            lock_wait: given.lock_wait,
            checkpoint_threads: given.checkpoint_threads.map_or(defaults.checkpoint_threads, usize::from),
            limits: self.store_limits(),
            ..defaults
        }
    }

    fn store_limits(&self) -> StoreLimits {
        let given = &self.options;
        StoreLimits {
            key_bytes: given.max_key,
            value_bytes: given.max_value,
            memory_bytes: Some(given.max_memory).filter(|size| *size > 0).map(saturate),
            eviction: given.max_memory_policy,
            // The folder may be one of the library.
            never_evicted: Some(skeindb::KEYSPACE_CATALOG.to_vec()),
            snapshots: given.max_snapshots,
            snapshot_bytes: given.max_snapshot_memory.map(saturate),
            ..StoreLimits::default()
        }
    }

    /// The server later sets its time limit to the rest of the stop's time.
    fn close_checkpoint(&self) -> Option<CloseCheckpoint> {
        let log_bytes = self.options.checkpoint_on_stop;
        (log_bytes > 0).then_some(CloseCheckpoint { log_bytes, within: self.options.server.stop_timeout })
    }

    fn server_options(&self) -> Result<ServerOptions, Failure> {
        let given = &self.options;
        let socket = given.unix_socket.clone();
        Ok(ServerOptions {
            listen: self.address()?,
            unix_socket: socket.map(|path| UnixSocket { path, mode: given.unix_socket_mode }),
            tls: tls::port(given)?,
            password: self.password()?,
            metrics: given.metrics.as_deref().map(|listen| listen::METRICS.resolve(listen)).transpose()?,
            ..given.server.clone()
        })
    }

    fn password(&self) -> Result<Option<Vec<u8>>, Failure> {
        let read = self.options.password_file.as_deref().map(remote::read_password).transpose();
        read.map_err(Failure::into_usage)
    }

    fn address(&self) -> Result<SocketAddr, Failure> {
        let named = || listen::LISTEN.resolve(&self.options.listen);
        self.options.port.map_or_else(named, |port| Ok(listen::on_this_machine(port)))
    }
}

/// Converts a size. One that this machine cannot address counts as no limit.
fn saturate(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
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
