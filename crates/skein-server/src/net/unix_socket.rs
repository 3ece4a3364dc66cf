//! Listens on a Unix socket. Clients cannot connect before the mode is set, and a socket that
//! another server uses is never removed.
//!
//! ```text
//!   bind (makes the file; connecting is refused) ─► chmod ─► listen (connecting works)
//! ```

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use mio::net::UnixListener;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::net::transport::Listener;

/// An additional Unix socket of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixSocket {
    /// The path of the socket, which the server creates and removes; at most 107 bytes.
    pub path: PathBuf,
    /// Its permissions, at most 0o777. A client needs write permission to connect.
    pub mode: u32,
}

/// The longest path of a Unix socket, in bytes.
pub(crate) const PATH_BYTES_MAX: usize = 107;
/// The greatest mode.
pub(crate) const MODE_MAX: u32 = 0o777;

/// Listens. At most `backlog` connections may wait to be accepted.
pub(crate) fn listen(socket: &UnixSocket, backlog: i32) -> io::Result<Listener> {
    let path = &socket.path;
    remove_stale_socket(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let file = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::bind(&file, &SocketAddrUnix::new(path)?)?;
    let listening = fs::set_permissions(path, Permissions::from_mode(socket.mode))
        .and_then(|()| Ok(rustix::net::listen(&file, backlog)?));
    if let Err(cause) = listening {
        let _ = fs::remove_file(path);
        return Err(cause);
    }
    let listener = UnixListener::from_std(std::os::unix::net::UnixListener::from(file));
    Ok(Listener::Unix(listener, path.as_path().into()))
}

/// Removes the socket of a server that ended without removing it.
fn remove_stale_socket(path: &Path) -> io::Result<()> {
    let other = |what: &str| Err(io::Error::other(what));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => return other("there is a file that is not a socket"),
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => other("another server listens on it"),
    }
}
