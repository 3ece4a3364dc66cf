//! The options of a client's CLIENT TRACKING.

use std::collections::BTreeSet;

/// Bytes of a prefix besides its name, here and in the server's table.
const PREFIX: usize = 128;

/// The tracking of a client.
#[expect(clippy::struct_excessive_bools, reason = "one for each word")]
#[derive(Debug, Default, Clone)]
pub(crate) struct ClientTracking {
    pub broadcast: bool,
    /// Only keys read after CLIENT CACHING YES are tracked.
    pub opt_in: bool,
    /// Keys read after CLIENT CACHING NO are not tracked.
    pub opt_out: bool,
    pub no_loop: bool,
    /// CLIENT CACHING was given for the next request.
    pub caching: bool,
    pub prefixes: BTreeSet<Vec<u8>>,
}

impl ClientTracking {
    /// Returns whether the keys of the next read are tracked.
    pub(crate) fn tracks_reads(&self) -> bool {
        let declined = if self.caching { self.opt_out } else { self.opt_in };
        !(self.broadcast || declined)
    }

    /// Returns the bytes of the prefixes.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>() + self.prefixes.iter().map(|prefix| PREFIX + 2 * prefix.len()).sum::<usize>()
    }
}
