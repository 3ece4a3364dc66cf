//! Writes to main rows, with the data that depend on them: the expiry index, and the members of
//! collections.

use skein_disk::{DiskTransaction, KeySpace};
use skein_model::{CollectionHead, RowRef};

use super::DiskEngine;
use super::keys::{dead_key, expiry_key};
use super::members::{order_code, remove_members};
use crate::Result;

/// Members that are removed together with their collection, if they fit the transaction. Those of a
/// larger one are removed in the background.
const REMOVED_AT_ONCE: u64 = 64;

/// The parts of a row to which other spaces refer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowReferences {
    pub(super) expires: Option<u64>,
    pub(super) collection: Option<CollectionHead>,
}

impl RowReferences {
    pub(super) fn of(row: Option<RowRef<'_>>) -> Self {
        Self {
            expires: row.and_then(RowRef::expires_at),
            collection: row.and_then(RowRef::stored_collection),
        }
    }
}

/// Sets a key to a row, given as bytes, or removes the key with `None`. `old` and `new` are the
/// references of the row before and after. Counts a removal, and so the replacement of a row that
/// has expired. Returns the version of the row or of the removal.
pub(super) fn write_main_row(
    engine: &DiskEngine,
    transaction: &mut DiskTransaction<'_>,
    key: &[u8],
    bytes: Option<&[u8]>,
    old: RowReferences,
    new: RowReferences,
) -> Result<u64> {
    let version = if let Some(bytes) = bytes {
        if old.expires.is_some_and(|at| at < engine.now()) {
            engine.note_removal(key);
        }
        transaction.set(key, bytes)?
    } else {
        if transaction.remove(key)? {
            engine.note_removal(key);
        }
        transaction.version_of_last()
    };
    replace_references(engine, transaction, key, old, new)?;
    Ok(version)
}

/// Removes a row that has expired, and counts nothing: the caller does, just before the removal is
/// published ([`DiskEngine::removal_counter`]).
pub(super) fn remove_expired_row(
    engine: &DiskEngine,
    transaction: &mut DiskTransaction<'_>,
    key: &[u8],
    old: RowReferences,
) -> Result<()> {
    transaction.remove(key)?;
    replace_references(engine, transaction, key, old, RowReferences::default())
}

fn replace_references(
    engine: &DiskEngine,
    transaction: &mut DiskTransaction<'_>,
    key: &[u8],
    old: RowReferences,
    new: RowReferences,
) -> Result<()> {
    if old.expires != new.expires {
        let mut entry = Vec::new();
        if let Some(at) = old.expires {
            transaction.remove_key(KeySpace::Expiry, expiry_key(&mut entry, at, key))?;
        }
        if let Some(at) = new.expires {
            engine.note_references();
            transaction.insert_key(KeySpace::Expiry, expiry_key(&mut entry, at, key))?;
        }
    }
    match old.collection {
        Some(old) if new.collection.is_none_or(|new| new.id != old.id) => discard(engine, transaction, old),
        _ => Ok(()),
    }
}

/// Removes the members of a collection that no row stands for any more, now or in the background. A
/// transaction of many writes removes as many members itself. Otherwise a large collection that is
/// replaced again and again would leave members faster than the thread removes them.
fn discard(engine: &DiskEngine, transaction: &mut DiskTransaction<'_>, head: CollectionHead) -> Result<()> {
    let (order, writes) = (head.kind.order(), transaction.writes());
    let is_small = head.len <= REMOVED_AT_ONCE;
    let most = if is_small { usize::MAX } else { usize::try_from(writes).unwrap_or(usize::MAX) };
    if (is_small || writes > REMOVED_AT_ONCE)
        && !remove_members(transaction, head.id, order, most, !is_small)?
    {
        return Ok(());
    }
    transaction.set_in(KeySpace::Members, &dead_key(head.id), &[order_code(order)])?;
    engine.wake_cleaner();
    Ok(())
}
