//! The row that a server keeps for itself among its clients' keys: its libraries of functions.
//!
//! ```text
//!   ff 53 4b 00 │ 00 00 00 00      the catalog of keyspaces, with an empty name
//! ```
//!
//! The key has a form that no key of the library takes, and that every index accepts. Rows of the
//! catalog are not evicted, and backups have them. [`EngineKeys`](crate::EngineKeys) hides the row
//! from ranges; the server refuses requests that name it.

use std::ops::{Bound, ControlFlow, RangeBounds};

use crate::{EngineBounds, EngineKeys, RangeRemovalStep, Result, RowView};

/// The key of the row; see "Keyspaces" in `docs/format.md`.
pub const PRIVATE_KEY: &[u8] = b"\xffSK\0\0\0\0\0";

/// Returns whether this is the key of the private row.
#[inline]
pub fn is_private_key(key: &[u8]) -> bool {
    key == PRIVATE_KEY
}

/// Returns whether the bounds contain the private row.
fn cover(bounds: EngineBounds<'_>) -> bool {
    RangeBounds::<[u8]>::contains(&bounds, PRIVATE_KEY)
}

/// Returns `each` without the private row.
pub(crate) fn without(
    mut each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
) -> impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()> {
    move |key, row| if is_private_key(key) { ControlFlow::Continue(()) } else { each(key, row) }
}

impl EngineKeys<'_> {
    /// Counts the first `most` keys of a range as `count_all` does, without the private row.
    pub(crate) fn count_without(
        &mut self,
        bounds: EngineBounds<'_>,
        count_all: impl FnOnce(&mut Self) -> Result<(usize, Option<Vec<u8>>)>,
    ) -> Result<(usize, Option<Vec<u8>>)> {
        let (count, last) = count_all(self)?;
        let counted = (bounds.0, last.as_deref().map_or(bounds.1, Bound::Included));
        let has_it = cover(counted) && self.get_with(PRIVATE_KEY, |row| matches!(row, Ok(Some(_))));
        Ok((count - usize::from(has_it), last))
    }

    /// Removes the first keys of a range as `remove_all` does, without the private row: first the
    /// keys before it, then those behind it. Keys without an order have it in any place; there the
    /// engine leaves it out.
    pub(crate) fn remove_without<'b>(
        &mut self,
        bounds: EngineBounds<'b>,
        remove_all: impl FnOnce(&mut Self, EngineBounds<'b>) -> Result<RangeRemovalStep>,
    ) -> Result<RangeRemovalStep> {
        if !self.is_ordered() || !cover(bounds) {
            return remove_all(self, bounds);
        }
        let mut step = remove_all(self, (bounds.0, Bound::Excluded(PRIVATE_KEY)))?;
        step.rest.get_or_insert_with(|| Bound::Excluded(PRIVATE_KEY.to_vec()));
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_cover_the_row_or_not() {
        let after: &[u8] = b"\xffSK\0\0\0\0\x01";
        for (bounds, expected) in [
            ((Bound::Unbounded, Bound::Unbounded), true),
            ((Bound::Included(PRIVATE_KEY), Bound::Unbounded), true),
            ((Bound::Excluded(PRIVATE_KEY), Bound::Unbounded), false),
            ((Bound::Unbounded, Bound::Excluded(PRIVATE_KEY)), false),
            ((Bound::Unbounded, Bound::Included(PRIVATE_KEY)), true),
            ((Bound::Included(&b"a"[..]), Bound::Included(after)), true),
            ((Bound::Included(after), Bound::Unbounded), false),
            ((Bound::Unbounded, Bound::Included(&b"\xff"[..])), false),
        ] {
            assert_eq!(cover(bounds), expected, "{bounds:?}");
        }
    }
}
