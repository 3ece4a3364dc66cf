//! What the threads that accept connections have in common, while the data is loading and later.

use std::io;
use std::time::Duration;

/// How long such a thread rests when the system has no more file descriptors.
pub(crate) const REST: Duration = Duration::from_millis(50);

/// The error of protected mode, in Redis's words.
pub(crate) const NO_PASSWORD: &[u8] = b"-DENIED the default user has no password, so only clients on this machine are accepted; set a password from there with CONFIG SET requirepass\r\n";

pub(crate) const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";

/// Returns whether the error concerns one client only, which has closed its connection already, or
/// was a signal. Then accepting may continue immediately.
pub(crate) fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), Interrupted | ConnectionAborted | ConnectionReset)
}
