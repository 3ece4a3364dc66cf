//! Messages to the service manager: the server is ready, or it stops. The protocol is systemd's: a
//! datagram to the socket in `NOTIFY_SOCKET`, which is a path, or a name without a file if it
//! begins with `@`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The service manager, if one expects messages.
#[derive(Debug, Clone)]
pub struct ServiceManager(Option<OsString>);

impl ServiceManager {
    /// Returns the service manager that started this process.
    pub fn of_this_process() -> Self {
        Self(std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()))
    }

    /// Reports that the server accepts clients at this address.
    pub fn ready(&self, address: std::net::SocketAddr) {
        self.tell(&format!("READY=1\nSTATUS=listening on {address}\n"));
    }

    /// Reports the server's status before it is ready.
    pub fn status(&self, status: &str) {
        self.tell(&format!("STATUS={status}\n"));
    }

    /// Reports that the server stops, which may take a while.
    pub fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=stopping\n");
    }

    fn tell(&self, state: &str) {
        if let Some(name) = &self.0
            && let Err(cause) = send(name, state)
        {
            tracing::warn!(%cause, "cannot tell the service manager");
        }
    }
}

fn send(name: &OsStr, state: &str) -> io::Result<()> {
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}
