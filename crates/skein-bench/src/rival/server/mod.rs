//! Servers under test: programs that the bench starts on loopback, pins to a core, and stops.
//!
//! ```text
//!   experiment ──► BenchClient ── pipelines over TCP ──► BenchServerProcess: skein, redis, …
//!                    │                                   Noop: the bound; no work per request
//!                    └─ dialect/: a request as bytes, and the bytes that must answer it
//!                                                        (servers run on another core)
//! ```
//!
//! A server is a file here that is listed in [`all`]. Servers are separate programs, so they need
//! no cargo feature: the bench measures those that are installed and reports the others with their
//! package.
//!
//! Order of reading: this file, `process.rs`, `client.rs`, `dialect/mod.rs`; then one file per
//! server: `ours`, `redis`, `valkey`, `memcached`, and `noop`, which does no work.

mod client;
mod dialect;
mod memcached;
mod noop;
mod ours;
mod process;
mod redis;
#[cfg(test)]
mod tests;
mod valkey;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use skein_store::IndexKind;

use crate::{Error, Result};

pub use client::{ANY_DIGITS, BenchClient};
pub use dialect::{
    COLUMNS, Dialect, DialectRequest, KeyValuePair, NeighbourKeys, NeighbourRows, RESP_VALUES, RowColumns,
    resp_any_id, resp_bulk, resp_command, resp_number, score,
};
pub use noop::{ABOUT as NOOP_ABOUT, NAME as NOOP, Noop};
pub use ours::{DISK, NAME as OURS, SCORED as OUR_SCORED, SORTED as OUR_SORTED, TWO_WORKERS};
pub use process::{BenchServerProcess, free_address, version};
pub use redis::{EVERYSEC, NAME as REDIS, SCORED_SET, SORTED_SET};
pub use valkey::NAME as VALKEY;

/// The operations that a server supports.
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerAbilities {
    /// One value per key: get and set.
    pub values: bool,
    /// A request that does nothing.
    pub ping: bool,
    /// Read all columns of a row.
    pub read_columns: bool,
    /// Set one column of a row.
    pub write_column: bool,
    /// Read one column of neighbouring keys.
    pub ranges: bool,
    /// Members of a sorted set in byte order: add, read, and ranges.
    pub ordered: bool,
    /// Members of a sorted set in the order of their scores: add, read, and ranges.
    pub scored: bool,
    /// Values of several keys in one request: get and set.
    pub many: bool,
    /// Lists, sets, streams, scripts and messages.
    pub families: bool,
}

impl ServerAbilities {
    /// No operation.
    pub const NOTHING: Self = Self {
        values: false,
        ping: false,
        read_columns: false,
        write_column: false,
        ranges: false,
        ordered: false,
        scored: false,
        many: false,
        families: false,
    };
}

/// The parameters with which a server is started.
#[derive(Debug, Clone, Copy)]
pub struct ServerLaunch<'a> {
    /// The address to listen on.
    pub address: SocketAddr,
    /// A folder for this server only.
    pub folder: &'a Path,
    /// Whether to log writes to disk, if the server can do that; ours always logs.
    pub logs: bool,
    /// The bytes of keys and values that it will hold.
    pub bytes: u64,
    /// The number of keys.
    pub keys: u64,
    /// The index that our server must use.
    pub index: Option<IndexKind>,
}

/// Returns arguments of a server.
pub type ServerOptions = fn(&ServerLaunch<'_>) -> Vec<String>;

/// A registered server.
#[derive(Debug, Clone, Copy)]
pub struct RegisteredServer {
    /// Its name in reports.
    pub name: &'static str,
    /// The comparisons that it takes part in.
    pub part: ServerRole,
    /// The number of worker threads. A single one has a core to itself; several share all cores
    /// with the client.
    pub workers: usize,
    /// The index that our server must use; `None` for its default.
    pub index: Option<IndexKind>,
    /// Returns the path of the program.
    pub program: fn() -> Option<PathBuf>,
    /// How to install the program.
    pub missing: &'static str,
    /// Returns its configuration: the arguments that reports show.
    pub options: ServerOptions,
    /// Returns its address and folder: the arguments that differ from run to run.
    pub place: ServerOptions,
    /// The representation of a row of columns, for reports.
    pub rows: &'static str,
    /// The protocol.
    pub dialect: &'static dyn Dialect,
    /// The operations that it supports.
    pub can: ServerAbilities,
    /// Checks whether the server accepts a key; otherwise returns which keys it accepts.
    pub takes_key: fn(&[u8]) -> std::result::Result<(), &'static str>,
}

/// The comparisons that a server takes part in, unless `--only` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerRole {
    /// All comparisons.
    Always,
    /// Ours, in experiments that do not compare our indexes.
    OneOfOurs,
    /// Ours, in experiments that compare our indexes.
    EachIndex,
    /// Only the experiments that are about it.
    IfNamed,
}

/// Accepts any key of the bench.
///
/// # Errors
/// Never.
pub fn any_key(_key: &[u8]) -> std::result::Result<(), &'static str> {
    Ok(())
}

/// Returns the servers that the bench knows, installed or not, in the order of reports and of
/// turns.
pub fn all() -> impl Iterator<Item = &'static RegisteredServer> {
    let rivals = redis::ALL.iter().chain([&valkey::ENTRY, &memcached::ENTRY]);
    ours::ALL.iter().chain(ours::each_index()).chain(rivals)
}

/// A running server; dropping the value stops it.
pub trait RunningServer: std::fmt::Debug {
    /// Returns the address that it listens on.
    fn address(&self) -> SocketAddr;

    /// Returns the CPU time of all its threads since they started, in seconds.
    ///
    /// REQUIRES: no thread ends between two calls that are compared.
    ///
    /// # Errors
    /// If the system does not report the time.
    fn cpu_seconds(&self) -> Result<f64>;

    /// Returns its resident bytes; `None` if it is not a process of its own.
    ///
    /// # Errors
    /// If the system does not report them.
    fn resident_bytes(&self) -> Result<Option<u64>>;

    /// Adds the server's own last output to an error, if it has ended.
    fn explain(&mut self, error: Error) -> Error;

    /// Announces the next requests, which are all alike, and their reply. Only the no-op server
    /// needs it.
    fn expect(&self, _request: &[u8], _reply: &[u8]) {}
}

/// Returns the resident bytes of a process, given its folder in `/proc`.
fn resident_bytes(process: &Path) -> Result<u64> {
    let path = process.join("status");
    let text = std::fs::read_to_string(&path).map_err(|error| Error::io("read", &path, error))?;
    let field = text.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    let kilobytes = field.and_then(|field| field.parse::<u64>().ok());
    kilobytes
        .map(|kilobytes| kilobytes << 10)
        .ok_or_else(|| Error::Failed(format!("{} has no VmRSS: {text}", path.display())))
}

/// Returns the CPU time of a thread in seconds, given its folder in `/proc`.
fn thread_cpu_seconds(task: &Path) -> Result<f64> {
    // The first field is the time on a core in nanoseconds. `stat` counts in hundredths of a
    // second.
    let path = task.join("schedstat");
    let text = std::fs::read_to_string(&path).map_err(|error| Error::io("read", &path, error))?;
    let field = text.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    let nanoseconds =
        field.ok_or_else(|| Error::Failed(format!("{} has no time: {text}", path.display())))?;
    Ok(nanoseconds / 1e9)
}
