//! Ranges within one keyspace: the bounds that the engine gets, and the names that its caller sees.
//!
//! The engine's bounds are the pieces of `skein_model::StoredKeyspace::pieces`. An engine without an
//! order has no pieces: its keys are visited, and those of other keyspaces are left out.
//!
//! # The rows that a server keeps for itself
//! ```text
//!   ff 53 4b 00 │ 00 00 00 00        its functions, or nothing
//!   ff 53 4b 00 │ 00 00 00 00 │ fd   the keyspaces of its databases
//! ```
//! They have forms that no name in the library's catalog takes. Rows of the catalog are not
//! evicted, backups have them, and no request can name a reserved key.

use std::ops::ControlFlow;

use skein_model::{StoredKeyspace, borrowed_bounds, is_reserved, name_within};

use crate::{EngineBounds, Result, RowView, ScanDirection};

/// The key of a server's functions; see "Keyspaces" in `docs/format.md`.
pub const FUNCTIONS_KEY: &[u8] = b"\xffSK\0\0\0\0\0";

/// The key of the keyspaces of a server's databases; see "Keyspaces" in `docs/format.md`.
pub const DATABASES_KEY: &[u8] = b"\xffSK\0\0\0\0\0\xfd";

/// Returns whether this is the key of a row that a server keeps for itself.
#[inline]
pub fn is_private_key(key: &[u8]) -> bool {
    is_reserved(key) && (key == FUNCTIONS_KEY || key == DATABASES_KEY)
}

/// Calls `each` with the rows of a range of names, which `scan` reads piece by piece.
pub(crate) fn scan_pieces(
    keyspace: StoredKeyspace,
    bounds: EngineBounds<'_>,
    direction: ScanDirection,
    mut each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    mut scan: impl FnMut(EngineBounds<'_>, &mut dyn FnMut(&[u8], RowView<'_>) -> ControlFlow<()>) -> Result<()>,
) -> Result<()> {
    let stored = keyspace.bounds(bounds);
    let mut in_order = keyspace.pieces(borrowed_bounds(&stored));
    if direction == ScanDirection::Backward {
        in_order.reverse();
    }
    let (mut broke, cut) = (false, keyspace.prefix_bytes());
    for piece in in_order.into_iter().flatten() {
        scan(piece, &mut |key, row| {
            let flow = each(&key[cut..], row);
            broke = flow.is_break();
            flow
        })?;
        if broke {
            break;
        }
    }
    Ok(())
}

/// Returns `each` for the keys of one keyspace among all keys, for an engine without an order.
pub(crate) fn within(
    keyspace: StoredKeyspace,
    mut each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
) -> impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()> {
    move |key, row| match StoredKeyspace::holding(key) {
        Some(holding) if holding == keyspace => each(name_within(key), row),
        _ => ControlFlow::Continue(()),
    }
}
