//! Listening on a Unix socket: nobody gets in before its mode is set, and a socket that is in use is not taken away.
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

use crate::transport::Listener;

/// Where a server listens besides its TCP port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixSocket {
    /// The socket's file, which the server makes and removes; at most 107 bytes long.
    pub path: PathBuf,
    /// Its permissions; connecting needs that of writing. At most 0o777.
    pub mode: u32,
}

/// The longest path that a socket's address has room for.
pub(crate) const PATH_BYTES_MAX: usize = 107;
/// The greatest mode.
pub(crate) const MODE_MAX: u32 = 0o777;

/// Listens. `backlog` connections may wait to be accepted.
pub(crate) fn listen(socket: &UnixSocket, backlog: i32) -> io::Result<Listener> {
    let path = &socket.path;
    make_way(path)?;
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

/// Removes the socket of a server that has ended without doing so.
fn make_way(path: &Path) -> io::Result<()> {
    let other = |what: &str| Err(io::Error::other(what));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => return other("there is a file that is no socket"),
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => other("another server listens on it"),
    }
}
