//! The memory that a server says it uses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::{Error, Result};

/// Servers free their buffers within this time after the last request.
pub const SETTLE: Duration = Duration::from_millis(1500);

/// The time limit of a reply.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns `used_memory` of INFO, in bytes.
///
/// # Errors
/// If the server does not answer, or if its reply has no such field.
pub fn used_memory(address: SocketAddr) -> Result<f64> {
    let ask = || {
        let mut socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.write_all(b"INFO memory\r\nQUIT\r\n")?;
        let mut text = String::new();
        socket.read_to_string(&mut text).map(|_| text)
    };
    let text = ask().map_err(|error| Error::Failed(format!("INFO memory failed: {error}")))?;
    let field = text.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok());
    field.ok_or_else(|| Error::Failed(format!("INFO memory has no used_memory: {text}")))
}
