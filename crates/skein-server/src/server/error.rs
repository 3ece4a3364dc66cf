//! The errors of starting a server.

use std::net::SocketAddr;
use std::path::PathBuf;

/// The reason why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Other machines can reach the address, and there is no password.
    #[error(
        "{listen} can be reached from other machines, and there is no password; \
         set one, or listen on 127.0.0.1"
    )]
    NoPassword {
        /// The address.
        listen: SocketAddr,
    },
    /// An option has an invalid value.
    #[error("option {name} {why}")]
    BadOption {
        /// The option's name.
        name: &'static str,
        /// The reason, and the values that are valid.
        why: String,
    },
    /// The ACL file cannot be used.
    #[error("cannot use the ACL file {}: {why}; correct it, or start with an empty file", path.display())]
    AclFile {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The server cannot listen on the address.
    #[error("cannot listen on {listen}: {cause}; choose another address, or stop the program that uses it")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The server cannot listen on the Unix socket.
    #[error("cannot listen on {}: {cause}; choose another path, or stop the program that uses it", path.display())]
    UnixSocket {
        /// The socket's path.
        path: std::path::PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// A TLS file cannot be used.
    #[error("cannot use {} for TLS: {why}; {way_out}", path.display())]
    TlsFile {
        /// The file.
        path: std::path::PathBuf,
        /// The reason.
        why: String,
        /// The way to solve it.
        way_out: &'static str,
    },
    /// The libraries of functions that the data has cannot be read.
    #[error("cannot read the functions: {why}; raise max-script-memory if it is low, or restore a backup")]
    Functions {
        /// The reason.
        why: String,
    },
    /// The table of databases that the data has cannot be read.
    #[error("cannot read which keys are in which database: {why}; restore a backup")]
    Databases {
        /// The reason.
        why: String,
    },
    /// No file descriptor is left for a client.
    #[error(
        "the limit on open files is {limit}, and {kept} files are reserved for logs, checkpoints and files that \
         are open already; raise the limit (ulimit -n) above {kept}"
    )]
    TooFewFiles {
        /// The limit.
        limit: u64,
        /// The number of descriptors that are reserved.
        kept: usize,
    },
    /// The system refused a thread or an event queue.
    #[error("cannot start {what}: {cause}; raise the limits of this process")]
    System {
        /// The thread or event queue.
        what: &'static str,
        /// The system's error.
        cause: std::io::Error,
    },
}
