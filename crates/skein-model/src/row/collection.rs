//! Rows that stand for a collection. In memory such a row owns a reference to it
//! (`shared_collection`). An engine that keeps collections elsewhere has their heads in rows. Small
//! collections are in the row itself, whatever the engine.

use std::ptr::NonNull;
use std::sync::Arc;

use super::shared_collection::{CollectionPointer, ResidentCollection, SharedCollection};
use super::{BODY, LEN_MASK, Row, RowAllocator, RowKind, RowRef};
use crate::{CollectionKind, PackedMembers};

/// Bytes of a [`CollectionHead`] in a row.
pub(super) const HEAD: usize = 2 * size_of::<u64>();

/// A collection that an engine keeps outside of memory, as its row describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectionHead {
    /// The kind of the collection.
    pub kind: CollectionKind,
    /// The number that its members have before their names. It is never used again.
    pub id: u64,
    /// The number of its members.
    pub len: u64,
}

impl CollectionHead {
    pub(super) fn code(self) -> u32 {
        self.kind.stored_code()
    }

    pub(super) fn to_bytes(self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&self.id.to_le_bytes());
        bytes[8..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    /// Returns the head in the body of a row. `None` if the code is not that of a stored collection
    /// or the body has another length.
    pub(super) fn parse(code: u32, body: &[u8]) -> Option<Self> {
        let kind = CollectionKind::of_stored_code(code)?;
        let (id, len) = body.split_first_chunk()?;
        Some(Self { kind, id: u64::from_le_bytes(*id), len: u64::from_le_bytes(len.try_into().ok()?) })
    }
}

/// The bits of a code in the length field of a row of kind `other`. Those above are the length of
/// packed members.
const CODE_BITS: u32 = 5;
const CODE_MASK: u32 = (1 << CODE_BITS) - 1;

/// The most bytes of packed members.
pub(super) const PACKED_BYTES_MAX: usize = (LEN_MASK >> CODE_BITS) as usize;

/// Returns the length field of a row with packed members. REQUIRES: a kind that has such rows.
pub(super) fn packed_len(kind: CollectionKind, bytes: usize) -> usize {
    bytes << CODE_BITS | usize::from(kind.packed_code().unwrap_or_default())
}

/// Returns the bytes of the body of rows of kind `other`, by their length field.
#[inline]
pub(super) fn body_len(field: u32) -> usize {
    let code = field & CODE_MASK;
    if is_pointer(field) {
        size_of::<CollectionPointer>()
    } else if field > CODE_MASK {
        (field >> CODE_BITS) as usize
    } else if CollectionKind::of_stored_code(code).is_some() {
        HEAD
    } else {
        0
    }
}

/// Returns whether the body of a row of kind `other` with this length field is a pointer.
#[inline]
pub(super) fn is_pointer(field: u32) -> bool {
    CollectionKind::is_row_code(field & CODE_MASK)
}

impl Row {
    /// Makes a row that stands for a collection. The code is that of the collection's kind.
    pub(super) fn of_collection(
        rows: &RowAllocator,
        code: u32,
        collection: CollectionPointer,
        expires: Option<u64>,
    ) -> Self {
        let mut row = Self::with_body(rows, RowKind::Other, code as usize, expires);
        // SAFETY: the body of these codes has room for a pointer, at any alignment; the row owns
        // the reference (invariant 6).
        unsafe { row.body_mut().cast::<CollectionPointer>().write_unaligned(collection) };
        row
    }

    /// Makes a row that stands for a collection outside of memory.
    pub(super) fn of_stored(rows: &RowAllocator, head: CollectionHead, expires: Option<u64>) -> Self {
        let mut row = Self::with_body(rows, RowKind::Other, head.code() as usize, expires);
        // SAFETY: the body of these codes has room for the bytes of a head, at any alignment.
        unsafe { row.body_mut().cast::<[u8; HEAD]>().write_unaligned(head.to_bytes()) };
        row
    }

    /// Makes a row that has the members of a small collection. REQUIRES: they are at most
    /// [`PACKED_BYTES_MAX`] bytes.
    pub(super) fn of_packed(rows: &RowAllocator, packed: PackedMembers<'_>, expires: Option<u64>) -> Self {
        let bytes = packed.as_bytes();
        let mut row = Self::with_body(rows, RowKind::Other, packed_len(packed.kind(), bytes.len()), expires);
        // SAFETY: the body is as long as the bytes, and fresh, so it does not overlap them.
        unsafe { row.body_mut().copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        row
    }

    /// Releases the reference to a collection, if the row has one. REQUIRES: the row is being
    /// dropped.
    pub(super) fn drop_collection(&mut self) {
        if let Some(pointer) = self.as_ref().pointer() {
            // SAFETY: the pointer owns a reference (invariant 6), which is given up here, once.
            unsafe { pointer.release() };
        }
    }
}

impl<'g> RowRef<'g> {
    /// Returns the code of a row of kind `other`.
    #[inline]
    pub(super) fn code(self) -> u32 {
        self.tag() & CODE_MASK
    }

    /// Returns the members of a small collection, if the row has them.
    #[inline]
    pub fn packed(self) -> Option<PackedMembers<'g>> {
        if self.kind() != RowKind::Other {
            return None;
        }
        let kind = CollectionKind::of_packed_code(self.code() as u8)?;
        Some(PackedMembers::trusted(kind, self.body()))
    }

    /// Returns the members in the row, with the code of such rows in records and on disk.
    pub fn packed_with_code(self) -> Option<(PackedMembers<'g>, u8)> {
        self.packed().and_then(|packed| Some((packed, packed.kind().packed_code()?)))
    }

    /// Returns the pointer to the collection to which the row owns a reference.
    #[inline]
    pub(super) fn pointer(self) -> Option<CollectionPointer> {
        let is_pointer = self.kind() == RowKind::Other && is_pointer(self.code());
        // SAFETY: the body of these codes is a pointer (invariant 6), and the row lives for `'g`
        // (invariant 5).
        is_pointer.then(|| unsafe { self.start.add(BODY).cast::<CollectionPointer>().read_unaligned() })
    }

    /// Returns the collection of the row, if the row owns a reference to one of this type.
    #[inline]
    pub fn collection<C: ResidentCollection>(self) -> Option<&'g C> {
        // SAFETY: the row owns a reference to it (invariant 6) and lives for `'g` (invariant 5).
        self.pointer().and_then(|pointer| unsafe { pointer.get() }).map(|shared| &**shared)
    }

    /// Returns a new reference to the collection of the row, if it is of this type.
    #[inline]
    pub fn shared_collection<C: ResidentCollection>(self) -> Option<Arc<SharedCollection<C>>> {
        // SAFETY: as in `collection`.
        self.pointer().and_then(|pointer| unsafe { pointer.to_arc() })
    }

    /// Returns the collection in memory of the row, whatever its type.
    #[inline]
    pub(super) fn resident_collection(self) -> Option<&'g dyn ResidentCollection> {
        // SAFETY: as in `collection`.
        self.pointer().map(|pointer| unsafe { pointer.contents() })
    }

    /// Returns the head of a collection that the engine keeps outside of memory; `None` for other
    /// rows.
    pub fn stored_collection(self) -> Option<CollectionHead> {
        (self.kind() == RowKind::Other).then(|| CollectionHead::parse(self.code(), self.body())).flatten()
    }

    /// Returns the kind of the collection that the row stands for, wherever its members are.
    pub fn collection_kind(self) -> Option<CollectionKind> {
        (self.kind() == RowKind::Other).then(|| CollectionKind::of_any_row_code(self.code())).flatten()
    }

    /// Returns whether the key holds spread columns.
    pub fn is_hash(self) -> bool {
        self.collection_kind() == Some(CollectionKind::Hash)
    }

    /// Returns how many commands have changed the sorted set or the spread columns of the row since
    /// they were loaded into memory; `None` for other rows. Compare the numbers only for the same
    /// row of the same key.
    pub fn changes(self) -> Option<u64> {
        self.resident_collection().map(ResidentCollection::changes)
    }
}
