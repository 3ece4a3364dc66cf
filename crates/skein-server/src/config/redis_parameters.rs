//! Parameters of Redis that mean nothing here, one line each: their names, defaults and values are
//! those of redis-server 7.0.15.
//!
//! `KEPT`: CONFIG SET accepts and keeps a value, and the log says that it has no effect. `REFUSED`:
//! the value cannot change. It is true of this server, and the error says why.

use super::parameter::{ConfigKind, Parameter, parameter};
use crate::commands::configuration::{IMMUTABLE, KeptKind};

/// Returns the row of a parameter without effect.
const fn kept(name: &'static [&'static str; 1], default: &'static str, kind: KeptKind) -> Parameter {
    parameter(name, ConfigKind::Kept { default, kind })
}

/// Returns the row of a parameter that has one value.
const fn refused(name: &'static [&'static str; 1], value: &'static str, why: &'static str) -> Parameter {
    parameter(name, ConfigKind::Refused { value, why })
}

const INT: i64 = i32::MAX as i64;
const LONG: i64 = i64::MAX;

#[rustfmt::skip]
pub(super) const KEPT: &[Parameter] = &[
    kept(&["active-defrag-cycle-max"], "25", KeptKind::Number(1, 99)),
    kept(&["active-defrag-cycle-min"], "1", KeptKind::Number(1, 99)),
    kept(&["active-defrag-ignore-bytes"], "104857600", KeptKind::Bytes(1)),
    kept(&["active-defrag-max-scan-fields"], "1000", KeptKind::Number(1, LONG)),
    kept(&["active-defrag-threshold-lower"], "10", KeptKind::Number(0, 1000)),
    kept(&["active-defrag-threshold-upper"], "100", KeptKind::Number(0, 1000)),
    kept(&["active-expire-effort"], "1", KeptKind::Number(1, 10)),
    kept(&["activedefrag"], "no", KeptKind::Switch),
    kept(&["activerehashing"], "yes", KeptKind::Switch),
    kept(&["aof-disable-auto-gc"], "no", KeptKind::Switch),
    kept(&["aof-load-truncated"], "yes", KeptKind::Switch),
    kept(&["aof-rewrite-incremental-fsync"], "yes", KeptKind::Switch),
    kept(&["aof-timestamp-enabled"], "no", KeptKind::Switch),
    kept(&["aof-use-rdb-preamble"], "yes", KeptKind::Switch),
    kept(&["auto-aof-rewrite-min-size"], "67108864", KeptKind::Bytes(0)),
    kept(&["auto-aof-rewrite-percentage"], "100", KeptKind::Number(0, INT)),
    kept(&["cluster-allow-pubsubshard-when-down"], "yes", KeptKind::Switch),
    kept(&["cluster-allow-reads-when-down"], "no", KeptKind::Switch),
    kept(&["cluster-allow-replica-migration"], "yes", KeptKind::Switch),
    kept(&["cluster-announce-bus-port"], "0", KeptKind::Number(0, 65535)),
    kept(&["cluster-announce-hostname"], "", KeptKind::Hostname),
    kept(&["cluster-announce-ip"], "", KeptKind::Text),
    kept(&["cluster-announce-port"], "0", KeptKind::Number(0, 65535)),
    kept(&["cluster-announce-tls-port"], "0", KeptKind::Number(0, 65535)),
    kept(&["cluster-link-sendbuf-limit"], "0", KeptKind::Bytes(0)),
    kept(&["cluster-migration-barrier"], "1", KeptKind::Number(0, INT)),
    kept(&["cluster-node-timeout"], "15000", KeptKind::Number(0, LONG)),
    kept(&["cluster-preferred-endpoint-type"], "ip", KeptKind::Word(&["ip", "hostname", "unknown-endpoint"])),
    kept(&["cluster-replica-no-failover"], "no", KeptKind::Switch),
    kept(&["cluster-replica-validity-factor"], "10", KeptKind::Number(0, INT)),
    kept(&["cluster-require-full-coverage"], "yes", KeptKind::Switch),
    kept(&["cluster-slave-no-failover"], "no", KeptKind::Switch),
    kept(&["cluster-slave-validity-factor"], "10", KeptKind::Number(0, INT)),
    kept(&["crash-log-enabled"], "yes", KeptKind::Switch),
    kept(&["crash-memcheck-enabled"], "yes", KeptKind::Switch),
    kept(&["dynamic-hz"], "yes", KeptKind::Switch),
    kept(&["hll-sparse-max-bytes"], "3000", KeptKind::Bytes(0)),
    kept(&["hz"], "10", KeptKind::Clamped(1, 500)),
    kept(&["jemalloc-bg-thread"], "yes", KeptKind::Switch),
    kept(&["lazyfree-lazy-eviction"], "no", KeptKind::Switch),
    kept(&["lazyfree-lazy-expire"], "no", KeptKind::Switch),
    kept(&["lazyfree-lazy-server-del"], "no", KeptKind::Switch),
    kept(&["lazyfree-lazy-user-del"], "no", KeptKind::Switch),
    kept(&["lazyfree-lazy-user-flush"], "no", KeptKind::Switch),
    kept(&["lfu-decay-time"], "1", KeptKind::Number(0, INT)),
    kept(&["lfu-log-factor"], "10", KeptKind::Number(0, INT)),
    kept(&["list-compress-depth"], "0", KeptKind::Number(0, INT)),
    kept(&["list-max-listpack-size"], "-2", KeptKind::Number(-INT - 1, INT)),
    kept(&["list-max-ziplist-size"], "-2", KeptKind::Number(-INT - 1, INT)),
    kept(&["maxmemory-eviction-tenacity"], "10", KeptKind::Number(0, 100)),
    kept(&["maxmemory-samples"], "5", KeptKind::Number(1, INT)),
    kept(&["min-replicas-max-lag"], "10", KeptKind::Number(0, INT)),
    kept(&["min-slaves-max-lag"], "10", KeptKind::Number(0, INT)),
    kept(&["no-appendfsync-on-rewrite"], "no", KeptKind::Switch),
    kept(&["proc-title-template"], "{title} {listen-addr} {server-mode}", KeptKind::Text),
    kept(&["propagation-error-behavior"], "ignore", KeptKind::Word(&["ignore", "panic", "panic-on-replicas"])),
    kept(&["rdb-del-sync-files"], "no", KeptKind::Switch),
    kept(&["rdb-save-incremental-fsync"], "yes", KeptKind::Switch),
    kept(&["rdbcompression"], "yes", KeptKind::Switch),
    kept(&["repl-backlog-size"], "1048576", KeptKind::Bytes(1)),
    kept(&["repl-backlog-ttl"], "3600", KeptKind::Number(0, LONG)),
    kept(&["repl-disable-tcp-nodelay"], "no", KeptKind::Switch),
    kept(&["repl-diskless-load"], "disabled", KeptKind::Word(&["disabled", "on-empty-db", "swapdb"])),
    kept(&["repl-diskless-sync"], "yes", KeptKind::Switch),
    kept(&["repl-diskless-sync-delay"], "5", KeptKind::Number(0, INT)),
    kept(&["repl-diskless-sync-max-replicas"], "0", KeptKind::Number(0, INT)),
    kept(&["repl-ping-replica-period"], "10", KeptKind::Number(1, INT)),
    kept(&["repl-ping-slave-period"], "10", KeptKind::Number(1, INT)),
    kept(&["repl-timeout"], "60", KeptKind::Number(1, INT)),
    kept(&["replica-announce-ip"], "", KeptKind::Text),
    kept(&["replica-announce-port"], "0", KeptKind::Number(0, 65535)),
    kept(&["replica-announced"], "yes", KeptKind::Switch),
    kept(&["replica-ignore-disk-write-errors"], "no", KeptKind::Switch),
    kept(&["replica-ignore-maxmemory"], "yes", KeptKind::Switch),
    kept(&["replica-lazy-flush"], "no", KeptKind::Switch),
    kept(&["replica-priority"], "100", KeptKind::Number(0, INT)),
    kept(&["replica-read-only"], "yes", KeptKind::Switch),
    kept(&["replica-serve-stale-data"], "yes", KeptKind::Switch),
    kept(&["sanitize-dump-payload"], "no", KeptKind::Word(&["no", "yes", "clients"])),
    kept(&["save"], "", KeptKind::Save),
    kept(&["shutdown-on-sigint"], "default", KeptKind::Stop),
    kept(&["shutdown-on-sigterm"], "default", KeptKind::Stop),
    kept(&["shutdown-timeout"], "10", KeptKind::Number(0, INT)),
    kept(&["slave-announce-ip"], "", KeptKind::Text),
    kept(&["slave-announce-port"], "0", KeptKind::Number(0, 65535)),
    kept(&["slave-ignore-maxmemory"], "yes", KeptKind::Switch),
    kept(&["slave-lazy-flush"], "no", KeptKind::Switch),
    kept(&["slave-priority"], "100", KeptKind::Number(0, INT)),
    kept(&["slave-read-only"], "yes", KeptKind::Switch),
    kept(&["slave-serve-stale-data"], "yes", KeptKind::Switch),
    kept(&["stop-writes-on-bgsave-error"], "yes", KeptKind::Switch),
    kept(&["stream-node-max-bytes"], "4096", KeptKind::Bytes(0)),
    kept(&["stream-node-max-entries"], "100", KeptKind::Number(0, LONG)),
];

const NO_REPLICATION: &str = "SkeinDB has no replicas and no cluster; leave this parameter out";
const TLS: &str = "SkeinDB chooses this part of TLS itself; leave this parameter out (see docs/tls.md)";
const OOM: &str = "the service manager sets this; use OOMScoreAdjust of systemd";
const PROTECTED: &str =
    "without a password only clients of this machine are accepted; set requirepass instead";
const FILES: &str = "SkeinDB has files of its own; 'skein dump' writes a copy (see docs/operations.md)";

#[rustfmt::skip]
pub(super) const REFUSED: &[Parameter] = &[
    refused(&["always-show-logo"], "no", IMMUTABLE),
    refused(&["aof_rewrite_cpulist"], "", IMMUTABLE),
    refused(&["appenddirname"], "", IMMUTABLE),
    refused(&["appendfilename"], "", IMMUTABLE),
    refused(&["bgsave_cpulist"], "", IMMUTABLE),
    refused(&["bind-source-addr"], "", NO_REPLICATION),
    refused(&["bio_cpulist"], "", IMMUTABLE),
    refused(&["cluster-config-file"], "", IMMUTABLE),
    refused(&["cluster-port"], "0", IMMUTABLE),
    refused(&["dbfilename"], "", FILES),
    refused(&["disable-thp"], "no", IMMUTABLE),
    refused(&["enable-module-command"], "no", IMMUTABLE),
    refused(&["enable-protected-configs"], "no", IMMUTABLE),
    refused(&["ignore-warnings"], "", IMMUTABLE),
    refused(&["io-threads-do-reads"], "yes", IMMUTABLE),
    refused(&["logfile"], "", IMMUTABLE),
    refused(&["masterauth"], "", NO_REPLICATION),
    refused(&["masteruser"], "", NO_REPLICATION),
    refused(&["min-replicas-to-write"], "0", NO_REPLICATION),
    refused(&["min-slaves-to-write"], "0", NO_REPLICATION),
    refused(&["oom-score-adj"], "no", OOM),
    refused(&["oom-score-adj-values"], "0 200 800", OOM),
    refused(&["pidfile"], "", IMMUTABLE),
    refused(&["protected-mode"], "yes", PROTECTED),
    refused(&["rdbchecksum"], "yes", IMMUTABLE),
    refused(&["server_cpulist"], "", IMMUTABLE),
    refused(&["set-proc-title"], "no", IMMUTABLE),
    refused(&["socket-mark-id"], "0", IMMUTABLE),
    refused(&["supervised"], "no", IMMUTABLE),
    refused(&["syslog-enabled"], "no", IMMUTABLE),
    refused(&["syslog-facility"], "", IMMUTABLE),
    refused(&["syslog-ident"], "", IMMUTABLE),
    refused(&["tls-ca-cert-dir"], "", TLS),
    refused(&["tls-ciphers"], "", TLS),
    refused(&["tls-ciphersuites"], "", TLS),
    refused(&["tls-client-cert-file"], "", NO_REPLICATION),
    refused(&["tls-client-key-file"], "", NO_REPLICATION),
    refused(&["tls-client-key-file-pass"], "", NO_REPLICATION),
    refused(&["tls-cluster"], "no", NO_REPLICATION),
    refused(&["tls-dh-params-file"], "", TLS),
    refused(&["tls-key-file-pass"], "", TLS),
    refused(&["tls-prefer-server-ciphers"], "no", TLS),
    refused(&["tls-protocols"], "", TLS),
    refused(&["tls-replication"], "no", NO_REPLICATION),
    refused(&["tls-session-cache-size"], "0", TLS),
    refused(&["tls-session-cache-timeout"], "0", TLS),
    refused(&["tls-session-caching"], "no", TLS),
];
