//! Ranges within one keyspace: the bounds that the engine gets, and the names that its caller sees.
//!
//! ```text
//!   default keyspace    …  z │ ff 53 4b 00 …  other keyspaces  … │ ff 53 4b 01  …
//!                       first piece          skipped              second piece
//!   another keyspace         ff 53 4b 00 number │ name            one piece, names without prefix
//! ```
//!
//! The keys of other keyspaces are skipped by a second search, and not visited. An engine without
//! an order has no pieces: its keys are visited, and those of other keyspaces are left out.
//!
//! # The rows that a server keeps for itself
//! ```text
//!   ff 53 4b 00 │ 00 00 00 00        its functions, or nothing
//!   ff 53 4b 00 │ 00 00 00 00 │ fd   the keyspaces of its databases
//! ```
//! They have forms that no name in the library's catalog takes. Rows of the catalog are not
//! evicted, backups have them, and no request can name a reserved key.

use std::ops::{Bound, ControlFlow};

use skein_store::{AFTER_RESERVED, RESERVED, StoredKeyspace, is_reserved, name_within};

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

/// Bounds of keys of the engine that make one range of names.
pub(crate) struct KeyspacePieces<'b> {
    keyspace: StoredKeyspace,
    lower: Bound<StoredName<'b>>,
    upper: Bound<StoredName<'b>>,
}

type StoredName<'b> = std::borrow::Cow<'b, [u8]>;

impl<'b> KeyspacePieces<'b> {
    /// Returns the pieces of a range of names.
    pub(crate) fn new(keyspace: StoredKeyspace, (lower, upper): EngineBounds<'b>) -> Self {
        let stored = |bound: Bound<&'b [u8]>| bound.map(|name| keyspace.stored(name));
        let (mut lower, mut upper) = (stored(lower), stored(upper));
        if !keyspace.is_default() {
            if lower == Bound::Unbounded {
                lower = Bound::Included(keyspace.prefix().to_vec().into());
            }
            if upper == Bound::Unbounded {
                let end =
                    keyspace.number().checked_add(1).map(|next| StoredKeyspace::of_number(next).prefix());
                let end = end.map_or(AFTER_RESERVED.to_vec(), |end| end.to_vec());
                upper = Bound::Excluded(end.into());
            }
        }
        Self { keyspace, lower, upper }
    }

    /// Returns the bounds without the gap.
    pub(crate) fn whole(&self) -> EngineBounds<'_> {
        (self.lower.as_ref().map(|key| &**key), self.upper.as_ref().map(|key| &**key))
    }

    /// Returns the pieces in the order of their keys.
    pub(crate) fn in_order(&self) -> [Option<EngineBounds<'_>>; 2] {
        let whole @ (lower, upper) = self.whole();
        if !self.keyspace.is_default() {
            return [Some(whole), None];
        }
        let (starts, ends) = match (lower, upper) {
            (Bound::Included(lower) | Bound::Excluded(lower), _) if lower >= &AFTER_RESERVED[..] => {
                return [None, Some(whole)];
            }
            (_, Bound::Included(upper)) if upper < &RESERVED[..] => return [Some(whole), None],
            (_, Bound::Excluded(upper)) if upper <= &RESERVED[..] => return [Some(whole), None],
            (lower, upper) => (is_before_gap(lower), is_behind_gap(upper)),
        };
        [
            starts.then_some((lower, Bound::Excluded(&RESERVED[..]))),
            ends.then_some((Bound::Included(&AFTER_RESERVED[..]), upper)),
        ]
    }
}

fn is_before_gap(lower: Bound<&[u8]>) -> bool {
    match lower {
        Bound::Included(lower) | Bound::Excluded(lower) => lower < &RESERVED[..],
        Bound::Unbounded => true,
    }
}

fn is_behind_gap(upper: Bound<&[u8]>) -> bool {
    match upper {
        Bound::Included(upper) => upper >= &AFTER_RESERVED[..],
        Bound::Excluded(upper) => upper > &AFTER_RESERVED[..],
        Bound::Unbounded => true,
    }
}

/// Calls `each` with the rows of a range of names, which `scan` reads piece by piece.
pub(crate) fn scan_pieces(
    keyspace: StoredKeyspace,
    bounds: EngineBounds<'_>,
    direction: ScanDirection,
    mut each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    mut scan: impl FnMut(EngineBounds<'_>, &mut dyn FnMut(&[u8], RowView<'_>) -> ControlFlow<()>) -> Result<()>,
) -> Result<()> {
    let pieces = KeyspacePieces::new(keyspace, bounds);
    let mut in_order = pieces.in_order();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> [bool; 2] {
        KeyspacePieces::new(StoredKeyspace::DEFAULT, (lower, upper)).in_order().map(|piece| piece.is_some())
    }

    #[test]
    fn the_default_keyspace_leaves_out_the_reserved_keys() {
        use Bound::{Excluded, Included, Unbounded};
        let (before, inside, after): (&[u8], &[u8], &[u8]) = (b"a", b"\xffSK\0\0\0\0\x01", b"\xffSK\x01");
        for (lower, upper, expected) in [
            (Unbounded, Unbounded, [true, true]),
            (Included(before), Excluded(inside), [true, false]),
            (Included(before), Included(&b"b"[..]), [true, false]),
            (Unbounded, Excluded(&RESERVED[..]), [true, false]),
            (Unbounded, Included(&RESERVED[..]), [true, false]),
            (Excluded(inside), Unbounded, [false, true]),
            (Excluded(inside), Included(inside), [false, false]),
            (Excluded(inside), Excluded(after), [false, false]),
            (Excluded(inside), Included(after), [false, true]),
            (Included(after), Unbounded, [false, true]),
            (Included(&b"\xffT"[..]), Included(&b"\xffU"[..]), [false, true]),
        ] {
            assert_eq!(pieces(lower, upper), expected, "{lower:?} {upper:?}");
        }
    }

    #[test]
    fn another_keyspace_is_one_range() {
        let last =
            KeyspacePieces::new(StoredKeyspace::of_number(u32::MAX), (Bound::Unbounded, Bound::Unbounded));
        assert_eq!(last.whole().1, Bound::Excluded(&AFTER_RESERVED[..]));
        let third = StoredKeyspace::of_database(3);
        let some = KeyspacePieces::new(third, (Bound::Excluded(&b"a"[..]), Bound::Unbounded));
        let (lower, end) = (third.stored(b"a"), StoredKeyspace::of_database(4).prefix());
        assert_eq!(some.in_order(), [Some((Bound::Excluded(&*lower), Bound::Excluded(&end[..]))), None]);
    }
}
