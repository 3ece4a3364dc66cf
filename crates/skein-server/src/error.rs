//! Why a server did not start.

use std::net::SocketAddr;

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
    /// The address cannot be listened on.
    #[error("cannot listen on {listen}: {cause}; choose another address or stop who has it")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// What the system said.
        cause: std::io::Error,
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
