//! Why a server did not start.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An address that others can reach, and no password.
    #[error(
        "{listen} can be reached from other machines, and there is no password; \
         set one, or listen on 127.0.0.1"
    )]
    NoPassword {
        /// Where the server should have listened.
        listen: SocketAddr,
    },
    /// An option has a value that cannot work.
    #[error("option {name} {why}")]
    BadOption {
        /// The option's name.
        name: &'static str,
        /// Why it cannot work, and what can.
        why: String,
    },
    /// The ACL file cannot be used.
    #[error("cannot use the ACL file {}: {why}; mend it, or begin with an empty one", path.display())]
    AclFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {listen}: {cause}; choose another address or stop who has it")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The Unix socket cannot be listened on.
    #[error("cannot listen on {}: {cause}; choose another path or stop who has it", path.display())]
    UnixSocket {
        /// The socket's path.
        path: std::path::PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A file of TLS cannot be used.
    #[error("cannot use {} for TLS: {why}; {way_out}", path.display())]
    TlsFile {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        why: String,
        /// What to do.
        way_out: &'static str,
    },
    /// No descriptor is left for a client.
    #[error(
        "the limit on open files is {limit}, and {kept} are kept for logs, checkpoints and what is open;          raise it (ulimit -n) above {kept}"
    )]
    TooFewFiles {
        /// The limit.
        limit: u64,
        /// How many are kept.
        kept: usize,
    },
    /// The system refused a thread or an event queue.
    #[error("cannot start {what}: {cause}; raise the limits of this process")]
    System {
        /// What was to be started.
        what: &'static str,
        /// What the system said.
        cause: std::io::Error,
    },
}
