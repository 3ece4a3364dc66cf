//! Servers under test: programs that the bench starts on loopback, pins to a core, and stops.
//!
//! ```text
//!   experiment ──► Client ── pipelines over TCP ──►  Process: skein, redis-server, memcached      another core
//!                    │                               Noop: answers without doing anything, the bound
//!                    └─ dialect/: a Request as bytes, and the bytes that must answer it
//! ```
//!
//! A server is a file here that registers itself. They are programs and not part of this one, so no feature is needed: those
//! that are installed are measured, those that are not are named, with their package.

mod client;
mod dialect;
mod memcached;
mod noop;
mod ours;
mod process;
mod redis;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use linkme::distributed_slice;
use skein_store::IndexKind;

use crate::{Error, Result};

pub use client::BenchClient;
pub use dialect::{
    COLUMNS, Dialect, DialectRequest, KeyValuePair, NeighbourKeys, NeighbourRows, RESP_VALUES, RowColumns,
    score,
};
pub use noop::{ABOUT as NOOP_ABOUT, NAME as NOOP, Noop};
pub use ours::{DISK, NAME as OURS, SCORED as OUR_SCORED, SORTED as OUR_SORTED, TWO_WORKERS};
pub use process::{ServerProcess, free_address, version};
pub use redis::{EVERYSEC, SCORED_SET, SORTED_SET};

/// What can be asked of a server.
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerAbilities {
    /// One value per key, read and set.
    pub values: bool,
    /// Nothing.
    pub ping: bool,
    /// All columns of a row.
    pub read_columns: bool,
    /// One column of a row, set.
    pub write_column: bool,
    /// One column of neighbouring keys.
    pub ranges: bool,
    /// Members of a sorted set in the order of their bytes: added, read, and ranges of them.
    pub ordered: bool,
    /// Members of a sorted set in the order of their scores: added, read, and ranges of them.
    pub scored: bool,
    /// Values of several keys in one request, read and set.
    pub many: bool,
}

impl ServerAbilities {
    /// Nothing at all.
    pub const NOTHING: Self = Self {
        values: false,
        ping: false,
        read_columns: false,
        write_column: false,
        ranges: false,
        ordered: false,
        scored: false,
        many: false,
    };
}

/// How a server is started.
#[derive(Debug, Clone, Copy)]
pub struct ServerLaunch<'a> {
    /// Where it has to listen.
    pub address: SocketAddr,
    /// A folder of its own.
    pub folder: &'a Path,
    /// Whether writes are logged to disk, where it can do that; ours always logs.
    pub logs: bool,
    /// Bytes of keys and values that are going to be in it.
    pub bytes: u64,
    /// How many keys.
    pub keys: u64,
    /// The index of ours that it is told to use.
    pub index: Option<IndexKind>,
}

/// A server, known by name.
#[derive(Debug)]
pub struct RegisteredServer {
    /// Its name in reports.
    pub name: &'static str,
    /// Where it stands in reports and whose turn it is: ours first.
    pub rank: u32,
    /// When it takes part.
    pub part: ServerRole,
    /// Threads that answer: one of them has a core to itself, more have all cores, that of the client too.
    pub workers: usize,
    /// The index of ours that it is told to use; its own choice if none.
    pub index: Option<IndexKind>,
    /// Finds the program.
    pub program: fn() -> Option<PathBuf>,
    /// What brings the program in, if it is not there.
    pub missing: &'static str,
    /// How it is configured: arguments that reports show.
    pub options: fn(&ServerLaunch<'_>) -> Vec<String>,
    /// Where it listens and keeps its files: arguments that differ from run to run.
    pub place: fn(&ServerLaunch<'_>) -> Vec<String>,
    /// What a row of columns is to it, for reports.
    pub rows: &'static str,
    /// How it is spoken to.
    pub dialect: &'static dyn Dialect,
    /// What can be asked of it.
    pub can: ServerAbilities,
    /// Whether it takes such a key; if not, which keys it takes.
    pub takes_key: fn(&[u8]) -> std::result::Result<(), &'static str>,
}

/// When a server takes part, if `--only` does not name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerRole {
    /// Always.
    Always,
    /// Ours, where the experiment does not compare our indexes.
    OneOfOurs,
    /// Ours, where the experiment compares our indexes.
    EachIndex,
    /// Never, unless the experiment is about it.
    IfNamed,
}

/// For servers that take any key of the bench.
///
/// # Errors
/// Never.
pub fn any_key(_key: &[u8]) -> std::result::Result<(), &'static str> {
    Ok(())
}

/// What registers here; use [`all`], which sorts.
#[distributed_slice]
pub static SERVERS: [RegisteredServer];

/// The servers that the bench knows, ours first, installed or not.
pub fn all() -> Vec<&'static RegisteredServer> {
    let mut all: Vec<_> = SERVERS.iter().chain(ours::each_index()).chain(ours::each_index_sorted()).collect();
    all.sort_by_key(|entry| (entry.rank, entry.name));
    all
}

/// A server that runs; it ends with the value.
pub trait RunningServer: std::fmt::Debug {
    /// Where it listens.
    fn address(&self) -> SocketAddr;

    /// CPU time of all its threads since they began, in seconds. REQUIRES: none of them ends between two calls that are
    /// compared.
    ///
    /// # Errors
    /// If the system does not tell.
    fn cpu_seconds(&self) -> Result<f64>;

    /// Bytes of its memory that are in the machine's; none if it is no process of its own.
    ///
    /// # Errors
    /// If the system does not tell.
    fn resident_bytes(&self) -> Result<Option<u64>>;

    /// Adds to an error what became of the server, if that says more.
    fn explain(&mut self, error: Error) -> Error;

    /// What is going to be asked, over and over, and how it must be answered: only one that does nothing has to be told.
    fn expect(&self, _request: &[u8], _reply: &[u8]) {}
}

/// The program of this name on the path.
pub fn on_path(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(runs)
}

/// Bytes of a process that are in memory, by its folder in `/proc`.
fn resident_bytes(process: &Path) -> Result<u64> {
    let path = process.join("status");
    let text = std::fs::read_to_string(&path).map_err(|error| Error::io("read", &path, error))?;
    let field = text.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    let kilobytes = field.and_then(|field| field.parse::<u64>().ok());
    kilobytes
        .map(|kilobytes| kilobytes << 10)
        .ok_or_else(|| Error::Failed(format!("{} has no VmRSS: {text}", path.display())))
}

/// CPU time of a thread, by its folder in `/proc`, in seconds.
fn thread_cpu_seconds(task: &Path) -> Result<f64> {
    // The first field is the time on a core, to the nanosecond (`stat` counts in hundredths of a second).
    let path = task.join("schedstat");
    let text = std::fs::read_to_string(&path).map_err(|error| Error::io("read", &path, error))?;
    let field = text.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    let nanoseconds =
        field.ok_or_else(|| Error::Failed(format!("{} has no time: {text}", path.display())))?;
    Ok(nanoseconds / 1e9)
}
