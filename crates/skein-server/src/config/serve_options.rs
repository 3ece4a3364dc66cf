//! The options of `skein serve` beside those of the server: addresses, files and the engine, and
//! the rows of them.
//!
//! A value is kept here as it was given. The command checks how the options fit together, and makes
//! the options of server and engine of them.

use std::path::PathBuf;
use std::time::Duration;

use skein_data::{Durability, Eviction, IndexKind, PAGE, VALUE_BYTES_MAX};
use skein_disk::{CACHE_LEAST, DiskOptions, ReplacementPolicy, TrieShape};
use skein_log::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};
use skein_store::{CloseCheckpoint, KEY_BYTES_MAX, SNAPSHOTS_MAX, StoreLimits, StoreOptions};
use skein_sync::threads;

use super::options_struct::options_struct;
use super::parameter::{ConfigKind, ValueKind, number, option, size, time};
use super::value::{named, words};
use super::{DEFAULT_ADDRESS, ServerOptions};
use crate::commands::configuration::{TlsFile, memory, observing};
use crate::net::unix_socket::{MODE_MAX, PATH_BYTES_MAX};
use crate::{DefaultChannels, TlsClients};

/// The engine of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineKind {
    /// Rows in memory.
    #[default]
    Memory,
    /// Rows in a file of pages.
    Disk,
}

/// The trie of the disk engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrieName {
    /// Nodes with an array of children.
    Classical,
    /// Nodes with a list of children.
    #[default]
    Linked,
    /// A classical trie of the keys' hashes.
    Hash,
}

/// How the disk engine reads pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageReading {
    /// By calls.
    #[default]
    Calls,
    /// From the file mapped into memory.
    Mapping,
}

named!(EngineKind {
    Memory = "memory" "Rows in memory, under an index; logs and checkpoints on disk",
    Disk = "disk" "Rows in a trie on pages of a file; the cache holds some of them",
});
named!(TrieName {
    Classical = "classical" "Nodes with an array of children",
    Linked = "linked" "Nodes with a list of children: the smallest, and keys in order",
    Hash = "hash" "A classical trie of the keys' hashes: keys without an order, so no ranges",
});
named!(PageReading { Calls = "pread" "", Mapping = "mmap" "" });
named!(DefaultChannels {
    All = "allchannels" "Every channel",
    None = "resetchannels" "No channel",
});
named!(TlsClients {
    No = "no" "The server does not ask for one",
    Optional = "optional" "If a client shows one, it must be valid",
    Required = "yes" "A client without a valid one is rejected",
});

fn check_reading(name: &str) -> Result<(), String> {
    let known = words::<PageReading>();
    if known.iter().any(|word| word.name == name) {
        return Ok(());
    }
    let names: Vec<&str> = known.iter().map(|word| word.name).collect();
    Err(format!("unknown read mode '{name}'; use {}", names.join(" or ")))
}

/// Checks a name by the parser of its type.
fn parses<T: std::str::FromStr<Err: std::fmt::Display>>(name: &str) -> Result<(), String> {
    name.parse::<T>().map(drop).map_err(|error| error.to_string())
}

const LOG_LEVELS: &str = "`off`, `error`, `warn`, `info`, `debug`, `trace`";

options_struct! {
    /// The options of `skein serve`. The default of each is that of the library that uses it.
    pub struct ServeOptions, SERVE_ROWS, Serve {
        General {
            /// A file with options, which the command line overrides; `skein config` prints one.
            config: Option<PathBuf> = None => [
                option("config", ValueKind::Path, "FILE"),
                // Every subcommand has these two.
                option("log-level", ValueKind::Text, "LEVEL")
                    .global()
                    .bounds_text(LOG_LEVELS)
                    .config(&["loglevel"], ConfigKind::Other {
                        value: observing::log_level,
                        change: observing::change_log_level,
                    })
                    .to_option(observing::option_of_log_level)
                    .docs("how much is logged, to standard error"),
                option("log-format", ValueKind::Text, "FORMAT")
                    .global()
                    .bounds_text("`text`, `json`")
                    .docs("how log lines are written"),
            ];
            /// The options of the server itself.
            server: ServerOptions = ServerOptions::default();
            /// The address to listen on; port 0 selects a free port, and a host alone gets port
            /// 6380.
            listen: String = DEFAULT_ADDRESS.to_owned() => [
                option("listen", ValueKind::Text, "HOST:PORT")
                    .fixed(&["bind"], |shared| shared.identity.address.ip().to_string())
                    .docs("where to listen. Port 0 takes a free one, and a host alone gets port 6380. Of a name the first \
                           IPv4 address is taken, or else the first. An address that other machines can reach needs a \
                           password"),
            ];
            /// Listen on this port of 127.0.0.1: short for --listen 127.0.0.1:N.
            port: Option<u16> = None => [
                option("port", ValueKind::NumberBetween(0, u16::MAX), "N")
                    .excludes(&["listen"])
                    .fixed(&["port"], |shared| shared.identity.address.port().to_string()),
            ];
            /// Also listen on a Unix socket; its file is created, and removed at the end.
            unix_socket: Option<PathBuf> = None => [
                option("unix-socket", ValueKind::Path, "PATH")
                    .field("unix_socket.path")
                    .between(1, PATH_BYTES_MAX as u64)
                    .fixed(&["unixsocket"], |shared| {
                        let path = shared.options.unix_socket.as_ref().map(|socket| socket.path.to_string_lossy());
                        path.unwrap_or_default().into_owned()
                    }),
            ];
            /// The permissions of the Unix socket's file, in octal: who may connect.
            unix_socket_mode: u32 = 0o700 => [
                option("unix-socket-mode", ValueKind::Mode, "MODE")
                    .field("unix_socket.mode")
                    .between(0, MODE_MAX as u64)
                    .fixed(&["unixsocketperm"], |shared| {
                        format!("{:o}", shared.options.unix_socket.as_ref().map_or(0, |socket| socket.mode))
                    }),
            ];
            /// The data folder; it is created if it does not exist.
            data: PathBuf = PathBuf::from("./skein-data") => [
                option("data", ValueKind::Path, "DIR"),
            ];
            /// The promise of an acknowledged write.
            durability: Durability = Durability::default() => [
                option("durability", ValueKind::Words(words::<Durability>), "LEVEL"),
            ];
            /// A file with the password that clients must give.
            password_file: Option<PathBuf> = None => [
                option("password-file", ValueKind::Path, "FILE")
                    .docs("the password that clients must give; the file has 1 MiB at most"),
            ];
            /// A folder for new logs, instead of the data folder; may be given several times. The
            /// data folder remembers its log folders, so the option is needed only to change them.
            log_dir: Vec<PathBuf> = Vec::new() => [
                option("log-dir", ValueKind::Paths, "DIR")
                    .field("log_folders")
                    .only(EngineKind::Memory),
            ];
            /// Continue without a log folder that is missing and permanently lost: drops the
            /// records of all logs since the newest checkpoint. Does nothing if this folder is not
            /// missing.
            give_up_log_dir: Vec<PathBuf> = Vec::new() => [
                option("give-up-log-dir", ValueKind::Paths, "DIR")
                    .field("give_up_log_folders"),
            ];
            /// For tests: the recovery waits until this file exists.
            hold_loading: Option<PathBuf> = None => [
                option("hold-loading", ValueKind::Path, "FILE").hidden(),
            ];
        }
        Engine {
            /// The engine: rows in memory, or in a file of pages that may be larger than memory.
            engine: EngineKind = EngineKind::default() => [
                option("engine", ValueKind::Words(words::<EngineKind>), "NAME"),
            ];
            /// The index that holds the rows in memory.
            index: IndexKind = IndexKind::default() => [
                option("index", ValueKind::Names(words::<IndexKind>, parses::<IndexKind>), "NAME")
                    .only(EngineKind::Memory),
            ];
            /// The trie of the disk engine; a data folder keeps the trie that it was created with.
            trie: Option<TrieName> = None => [
                option("trie", ValueKind::Words(words::<TrieName>), "NAME")
                    .only(EngineKind::Disk)
                    .default_text("linked"),
            ];
            /// Children of a node of a classical or a hash trie.
            trie_size: Option<u16> = None => [
                option("trie-size", ValueKind::OneOf(&TrieShape::SIZES, TrieShape::USUAL_SIZE), "N")
                    .field("n")
                    .only(EngineKind::Disk),
            ];
            /// The number of 4 KiB pages that the disk engine keeps in memory.
            cache_pages: usize = DiskOptions::default().cache_pages => [
                number("cache-pages", CACHE_LEAST as u64, u64::MAX)
                    .field("cache-pages")
                    .only(EngineKind::Disk)
                    .excludes(&["cache", "max-memory"]),
            ];
            /// The same limit as a size; --max-memory means the same.
            cache: Option<u64> = None => [
                size("cache")
                    .only(EngineKind::Disk)
                    .excludes(&["max-memory"])
                    .between((CACHE_LEAST * PAGE) as u64, u64::MAX),
            ];
            /// How the disk engine reads pages.
            reading: PageReading = PageReading::default() => [
                option("reading", ValueKind::Names(words::<PageReading>, check_reading), "WAY")
                    .only(EngineKind::Disk)
                    .docs("how the disk engine reads pages: by calls, or from the file mapped into memory. With `mmap` a page \
                           that cannot be read ends the server, and no other program may ever write to its files while it \
                           runs"),
            ];
            /// The disk engine's policy to evict pages from a full cache.
            policy: ReplacementPolicy = ReplacementPolicy::default() => [
                option("policy", ValueKind::Names(words::<ReplacementPolicy>, parses::<ReplacementPolicy>), "NAME")
                    .only(EngineKind::Disk),
            ];
        }
        Storage {
            /// The largest size of a log segment. It is smaller while the log is short.
            log_segment_size: u64 = StoreOptions::default().segment_bytes => [
                size("log-segment-size")
                    .field("segment_bytes")
                    .between(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX)
                    .docs("largest size of a log segment. The first of a run has 1 MiB, and later ones half of what the log \
                           holds"),
            ];
            /// Write a checkpoint when the logs have grown by this size, or in memory by four times
            /// the newest checkpoint, but at least 32 MiB; 0 for never.
            checkpoint_log_size: Option<u64> = None => [
                size("checkpoint-log-size")
                    .default_text("1g, and 64m with --engine disk")
                    .docs("a checkpoint is written when the logs have grown by this, or in memory by four times the newest \
                           checkpoint, but at least 32 MiB; 0 for never. So a small store with many writes keeps about \
                           32 MiB of logs, in files of twice that size, and what is written while a checkpoint is made"),
            ];
            /// Write a checkpoint when this time has passed since the last one, if anything was
            /// written; 0 for never.
            checkpoint_interval: Duration = StoreOptions::default().checkpoint_interval.unwrap_or_default() => [
                time("checkpoint-interval")
                    .only(EngineKind::Memory),
            ];
            /// Write a checkpoint on a stop if the logs have grown by this size, within the time
            /// that --stop-timeout leaves; 0 for never.
            checkpoint_on_stop: u64 = CloseCheckpoint::default().log_bytes => [
                size("checkpoint-on-stop")
                    .only(EngineKind::Memory)
                    .docs("a stop writes a checkpoint if the logs have grown by this, so that the next start has little to \
                           replay; 0 for never. It takes the time that `stop-timeout` has left, then it is given up. The \
                           disk engine always does"),
            ];
            /// How long to wait for a data folder that another process uses, for example one that
            /// was just killed.
            lock_wait: Duration = StoreOptions::default().lock_wait => [
                time("lock-wait"),
            ];
            /// The number of threads that write a checkpoint while requests run.
            checkpoint_threads: Option<u16> = None => [
                option("checkpoint-threads", ValueKind::NumberBetween(1, threads::MOST as u16), "N")
                    .only(EngineKind::Memory)
                    .default_text("one per two cores"),
            ];
        }
        Limits {
            /// The longest key that can be written.
            max_key: usize = StoreLimits::default().key_bytes => [
                size("max-key")
                    .field("limits.key_bytes")
                    .between(1, KEY_BYTES_MAX as u64)
                    .docs("writing a longer key is an error that names the limit; longer ones from an earlier run can be \
                           read and removed"),
            ];
            /// The longest value; all columns of a row together.
            max_value: usize = StoreLimits::default().value_bytes => [
                size("max-value")
                    .field("limits.value_bytes")
                    .between(0, VALUE_BYTES_MAX as u64)
                    .docs("a longer value, or longer columns of a row and their names together (of more than 64 columns \
                           those that one command sets), is an error that names the limit"),
            ];
            /// The memory limit, past which keys are evicted, or writes that add data are rejected;
            /// 0 for no limit. With --engine disk it is the size of the cache; 0 for the default
            /// size.
            max_memory: u64 = 0 => [
                size("max-memory")
                    .config(&["maxmemory"], ConfigKind::Engine { value: memory::limit, change: memory::change_limit })
                    .docs("keys are evicted, or writes that add answer `OOM ...`; reads and removals continue. With `engine \
                           disk` it is the size of the cache, 64k or more, or 0 for the default ([memory.md](memory.md))"),
            ];
            /// The action at --max-memory.
            max_memory_policy: Eviction = Eviction::default() => [
                option("max-memory-policy", ValueKind::Names(words::<Eviction>, parses::<Eviction>), "POLICY")
                    .config(&["maxmemory-policy"], ConfigKind::Engine {
                        value: memory::policy,
                        change: memory::change_policy,
                    })
                    .docs("the reaction at `max-memory`; only `noeviction` with `engine disk`"),
            ];
            /// The greatest number of snapshots at a time.
            max_snapshots: usize = StoreLimits::default().snapshots => [
                number("max-snapshots", 1, SNAPSHOTS_MAX as u64)
                    .field("limits.snapshots")
                    .docs("snapshots of `SK.SNAPSHOT` and ranges with `SNAPSHOT` at a time: one more is an error that names \
                           the limit; a checkpoint at `none` has a snapshot of its own"),
            ];
            /// The most memory that is kept for snapshots: rows that were replaced or removed. Over
            /// it the oldest snapshot ends.
            max_snapshot_memory: Option<u64> = None => [
                size("max-snapshot-memory")
                    .only(EngineKind::Memory)
                    .default_text("a quarter of --max-memory")
                    .docs("replaced and removed contents that are kept for snapshots: the oldest snapshot ends, and its next \
                           range is an error that names the limit. Without `max-memory` there is no limit by default. Only \
                           with `engine memory`"),
            ];
        }
        Tls {
            /// The address to listen on for TLS, besides --listen; port 0 selects a free port.
            tls_listen: Option<String> = None => [
                option("tls-listen", ValueKind::Text, "HOST:PORT")
                    .requires(&["tls-cert", "tls-key"])
                    .fixed(&["tls-port"], |shared| {
                        shared.identity.tls.as_ref().map_or(0, |port| port.address.port()).to_string()
                    }),
            ];
            /// The server's certificate, with its intermediate certificates: a PEM file.
            tls_cert: Option<PathBuf> = None => [
                option("tls-cert", ValueKind::Path, "FILE")
                    .requires(&["tls-listen"])
                    .config(&["tls-cert-file"], ConfigKind::TlsFile(TlsFile {
                        path: |tls| Some(&tls.cert),
                        put: |tls, path| tls.cert = path,
                    })),
            ];
            /// The certificate's private key: a PEM file.
            tls_key: Option<PathBuf> = None => [
                option("tls-key", ValueKind::Path, "FILE")
                    .requires(&["tls-listen"])
                    .config(&["tls-key-file"], ConfigKind::TlsFile(TlsFile {
                        path: |tls| Some(&tls.key),
                        put: |tls, path| tls.key = path,
                    })),
            ];
            /// The certificates of the authorities that may have signed clients' certificates: a
            /// PEM file. An empty name means none.
            tls_ca: Option<PathBuf> = None => [
                // CONFIG SET clears it with an empty name, and CONFIG REWRITE writes that.
                option("tls-ca", ValueKind::PathOrEmpty, "FILE")
                    .requires(&["tls-listen"])
                    .config(&["tls-ca-cert-file"], ConfigKind::TlsFile(TlsFile {
                        path: |tls| tls.ca.as_deref(),
                        put: |tls, path| tls.ca = Some(path).filter(|path| !path.as_os_str().is_empty()),
                    })),
            ];
            /// Whether clients must show a certificate.
            tls_auth_clients: Option<TlsClients> = None => [
                // The default depends on the presence of a CA file, so a new CA file alone would
                // change it.
                option("tls-auth-clients", ValueKind::Words(words::<TlsClients>), "WHO")
                    .field("tls.clients")
                    .requires(&["tls-listen"])
                    .default_text("yes with --tls-ca, else no")
                    .fixed(&["tls-auth-clients"], |shared| {
                        match shared.options.tls.as_ref().map(|tls| tls.clients) {
                            Some(TlsClients::No) => "no",
                            Some(TlsClients::Optional) => "optional",
                            Some(TlsClients::Required) | None => "yes",
                        }
                        .to_owned()
                    })
                    .written_with("tls-ca-cert-file"),
            ];
        }
        Monitoring {
            /// Serve Prometheus metrics at this address, under /metrics, by HTTP and without a
            /// password.
            metrics: Option<String> = None => [
                option("metrics", ValueKind::Text, "HOST:PORT")
                    .default_text("nowhere"),
            ];
        }
    }
}
