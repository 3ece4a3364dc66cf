//! A free port for a server that cannot report which port the system selected for it.

use std::net::TcpListener;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Lies below the ports that Linux gives to port 0 and to outgoing connections (32,768 and above).
/// In that range another test's client or server could take the port before the server does. A
/// client that repeats its attempts could even be connected to itself.
const PORTS: Range<u32> = 12_000..32_000;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Returns a port of loopback that was free a moment ago. One process gets each port once, and
/// processes begin at different ports.
pub fn free_port() -> u16 {
    let begin = std::process::id().wrapping_mul(37);
    let mut candidates = PORTS.map(|_| {
        let place = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        u16::try_from(PORTS.start + place % (PORTS.end - PORTS.start)).expect("a port below 32,000")
    });
    candidates.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}
