//! Limits on requests, replies and stored data.

use std::time::Duration;

use skein_server::ServerOptions;
use skein_store::{Eviction, StoreLimits};

use crate::units::{parse_duration, parse_size};

/// Limits on everything that clients can make grow.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// The longest key that can be written [default: 65535 bytes, which is also the most].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_key: Option<u64>,
    /// The longest value; all columns of a row together [default: 512m less one byte, which is also the most].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_value: Option<u64>,
    /// The memory limit, past which keys are evicted, or writes that add data are rejected; 0 for
    /// no limit [default: 0]. With --engine disk it is the size of the cache; 0 for the default size.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_memory: Option<u64>,
    /// The action at --max-memory: noeviction rejects writes that add data; allkeys-lru evicts the
    /// keys that were not used for the longest time, allkeys-lfu those that are used seldom,
    /// allkeys-random any; volatile-lru, volatile-lfu and volatile-random do so among the keys that
    /// expire; volatile-ttl evicts those that expire first.
    #[arg(long, value_name = "POLICY", default_value = "noeviction")]
    pub max_memory_policy: Eviction,
    /// The greatest number of snapshots at a time; at most 65536 [default: 64].
    #[arg(long, value_name = "N")]
    max_snapshots: Option<usize>,
    /// The most memory that is kept for snapshots: rows that were replaced or removed. Over it the
    /// oldest snapshot ends [default: a quarter of --max-memory].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_snapshot_memory: Option<u64>,
    /// The longest request.
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = parse_size)]
    max_request: u64,
    /// The longest argument of a request, and so the longest value that can be sent [default: 512m,
    /// or --max-request if that is less].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_argument: Option<u64>,
    /// The most arguments of a request.
    #[arg(long, value_name = "N", default_value = "1048576")]
    max_arguments: usize,
    /// Databases that clients can select.
    #[arg(long, value_name = "N", default_value = "16")]
    databases: u32,
    /// Requests of one connection that are read ahead and run as one batch; further ones wait.
    #[arg(long, value_name = "N", default_value = "1024")]
    max_pipeline: usize,
    /// Bytes of replies that may wait for a slow client before the server stops reading its
    /// requests.
    #[arg(long, value_name = "SIZE", default_value = "1m", value_parser = parse_size)]
    max_output: u64,
    /// The longest reply with many keys.
    #[arg(long, value_name = "SIZE", default_value = "1g", value_parser = parse_size)]
    max_reply: u64,
    /// Positions of SCAN that are kept for all clients together; the oldest is dropped first.
    #[arg(long, value_name = "N", default_value = "16384")]
    max_scan_cursors: usize,
    /// The memory of a worker's scripts (EVAL). A script that needs more ends with an error.
    #[arg(long, value_name = "SIZE", default_value = "64m", value_parser = parse_size)]
    max_script_memory: u64,
    /// How long a script may run, while no other request does; 0 for ever. A script that takes
    /// longer ends with an error, and what it has written stays.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    max_script_time: Duration,
    /// How long a script may run before other clients receive BUSY, and may stop it with SCRIPT KILL;
    /// 0 for ever.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    busy_reply_threshold: Duration,
    /// Entries of ACL LOG; the oldest is dropped first.
    #[arg(long, value_name = "N", default_value = "128")]
    max_acl_log: usize,
}

impl LimitArgs {
    /// Returns the store's limits.
    pub fn store(&self) -> StoreLimits {
        let defaults = StoreLimits::default();
        StoreLimits {
            key_bytes: self.max_key.map_or(defaults.key_bytes, saturate),
            value_bytes: self.max_value.map_or(defaults.value_bytes, saturate),
            memory_bytes: self.max_memory.filter(|size| *size > 0).map(saturate),
            eviction: self.max_memory_policy,
            // The folder may be one of the library.
            never_evicted: Some(skeindb::KEYSPACE_CATALOG.to_vec()),
            snapshots: self.max_snapshots.unwrap_or(defaults.snapshots),
            snapshot_bytes: self.max_snapshot_memory.map(saturate),
            row_members: defaults.row_members,
        }
    }

    /// Sets the server's limits in its options.
    pub fn apply(&self, options: ServerOptions) -> ServerOptions {
        let longest = options.arg_bytes_max.min(saturate(self.max_request));
        ServerOptions {
            request_bytes_max: saturate(self.max_request),
            arg_bytes_max: self.max_argument.map_or(longest, saturate),
            args_max: self.max_arguments,
            databases: self.databases,
            pipeline_max: self.max_pipeline,
            output_bytes_max: saturate(self.max_output),
            reply_bytes_max: saturate(self.max_reply),
            scan_cursors_max: self.max_scan_cursors,
            script_memory_max: saturate(self.max_script_memory),
            script_time_max: self.max_script_time,
            busy_reply_threshold: self.busy_reply_threshold,
            acl_log_max: self.max_acl_log,
            ..options
        }
    }
}

/// Converts a size. One that this machine cannot address counts as no limit.
pub fn saturate(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
