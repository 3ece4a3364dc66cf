//! What a service manager is told: that the server is ready, and that it stops. systemd's protocol: a datagram to the socket that
//! `NOTIFY_SOCKET` names (a path, or with `@` a name that is no file).

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The service manager, if there is one that wants to be told.
#[derive(Debug, Clone)]
pub struct ServiceManager(Option<OsString>);

impl ServiceManager {
    /// The one that started this process.
    pub fn of_this_process() -> Self {
        Self(std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()))
    }

    /// Clients are served from now on, at this address.
    pub fn ready(&self, address: std::net::SocketAddr) {
        self.tell(&format!("READY=1\nSTATUS=listening on {address}\n"));
    }

    /// What the server is at, before it is ready.
    pub fn status(&self, status: &str) {
        self.tell(&format!("STATUS={status}\n"));
    }

    /// The server stops, which may take a while.
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
