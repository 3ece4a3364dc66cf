//! The memory that a server says it uses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::server_under_test::{CLIENT_CORE, ServerUnderTest};
use crate::sys::pinned;
use crate::{Error, Result};

/// Servers free their buffers within this time after the last request.
const SETTLE: Duration = Duration::from_millis(1500);

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

/// Loads each server, and returns by how much its sizes have grown.
///
/// # Errors
/// If a server fails or answers wrongly.
pub fn growth<const N: usize>(
    targets: &mut [ServerUnderTest<'_>],
    sizes: impl Fn(&ServerUnderTest<'_>) -> Result<[f64; N]>,
    load: impl Fn(&mut ServerUnderTest<'_>) -> Result<()>,
) -> Result<Vec<[f64; N]>> {
    let mut before = Vec::new();
    for target in &mut *targets {
        before.push(sizes(target)?);
        pinned(CLIENT_CORE, || load(target))??;
    }
    std::thread::sleep(SETTLE);
    let grown = targets.iter().zip(before).map(|(target, before)| {
        let after = sizes(target)?;
        Ok(std::array::from_fn(|size| after[size] - before[size]))
    });
    grown.collect()
}
