//! Finds the collection that a write of a set or a list changes, or makes it.

use super::RowWriter;
use super::member_store::{MemberStore, StoredCollection};
use crate::collection::CollectionKind;
use crate::row::RowRef;
use crate::{Error, Result};

/// Returns the collection that a row stands for; `None` without a row. Errors for another kind.
pub(super) fn collection_in<C: StoredCollection>(
    row: Option<RowRef<'_>>,
    kind: CollectionKind,
) -> Result<Option<C>> {
    let Some(row) = row else { return Ok(None) };
    let found = C::of(row).filter(|found| found.kind() == kind);
    let wrong = || Error::WrongKind { found: row.holds(), needed: kind.contents() };
    found.ok_or_else(wrong).map(Some)
}

/// Changes the collection of a key, or makes one, if the key is absent and `make` says so. Returns
/// `None` if there is none. `change` runs again if another writer changes the key meanwhile.
pub(super) fn change_or_make<W: RowWriter + ?Sized, R, E: From<Error> + From<W::Error>>(
    writer: &mut W,
    kind: CollectionKind,
    key: &[u8],
    make: bool,
    mut change: impl FnMut(&mut dyn MemberStore) -> std::result::Result<R, E>,
) -> std::result::Result<Option<R>, E> {
    writer.check_sizes(key, 0)?;
    loop {
        let done = match writer.begin_at(key, |row| collection_in(row, kind))?? {
            Some(collection) => writer.change_collection(key, &collection, &mut change)?,
            None if make => {
                let made = writer.make_collection(key, kind, None, None, &mut change)?;
                made.map(|(answer, _)| answer)
            }
            None => return Ok(None),
        };
        // Without an answer, the collection died or was created meanwhile.
        if done.is_some() {
            return Ok(done);
        }
    }
}
