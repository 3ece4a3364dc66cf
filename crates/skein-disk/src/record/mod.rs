//! Records: byte strings of variable length in pages. A record keeps its id until it is removed.
//!
//! ```text
//!   RecordId   page id 4 │ slot 4        8 bytes in a pointer from another record
//!                 │         │
//!                 ▼         ▼
//!   page of kind Records ── slotted.rs: directory of slots ──► bytes
//! ```
//!
//! `slotted.rs` has the layout of a page. This file has the ids and the access through
//! [`PageReader`].
//!
//! Source: section 3.1 (a pointer is 8 bytes: 4 for the page, 4 for the index of the node in it).
//!
//! Design: `docs/design/disk.md`.

mod slotted;
#[cfg(test)]
mod tests;

pub(crate) use slotted::{BODY, PageRecords, PageRecordsMut, SLOT, prefetch_slot};

use crate::Result;
pub(crate) use crate::buffer::{PageReader, WalkResult};
use crate::buffer::{PageWriter, WalkStop};
use crate::page::{DiskPageKind, PageBytes, PageId, u32_at};

/// Bytes of a pointer: a record's id in another record.
pub(crate) const POINTER: usize = 8;

/// The id of a record: its page and its slot there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordId {
    pub(crate) page: PageId,
    pub(crate) slot: u16,
}

impl RecordId {
    /// The null id.
    pub(crate) const NONE: Self = Self { page: PageId(u32::MAX), slot: u16::MAX };

    pub(crate) fn bytes(self) -> [u8; POINTER] {
        let mut bytes = [0; POINTER];
        bytes[..4].copy_from_slice(&self.page.0.to_le_bytes());
        bytes[4..].copy_from_slice(&u32::from(self.slot).to_le_bytes());
        bytes
    }

    /// Decodes an id from [`POINTER`] bytes. Returns [`NONE`](Self::NONE) if they are not a valid
    /// id.
    #[inline]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let page = PageId(u32_at(bytes, 0));
        u16::try_from(u32_at(bytes, 4)).map_or(Self::NONE, |slot| Self { page, slot })
    }
}

/// Returns the body of a page, which must be of this kind.
#[inline]
pub(crate) fn body(pages: &mut impl PageReader, id: PageId, kind: DiskPageKind) -> WalkResult<&[u8]> {
    body_of(pages.page(id)?, id, kind)
}

/// Returns the body of a page that the caller has, and that must be of this kind.
#[inline]
pub(crate) fn body_of(page: &PageBytes, id: PageId, kind: DiskPageKind) -> WalkResult<&[u8]> {
    if page.kind() == Some(kind) { Ok(page.body()) } else { Err(another_kind(id, page.kind(), kind)) }
}

#[cold]
fn another_kind(id: PageId, is: Option<DiskPageKind>, kind: DiskPageKind) -> WalkStop {
    WalkStop::Damaged(id, format!("it is of the kind {is:?}, but a pointer expects the kind {kind:?}"))
}

#[inline]
pub(crate) fn records(pages: &mut impl PageReader, id: PageId) -> WalkResult<PageRecords<'_>> {
    records_of(body(pages, id, DiskPageKind::Records)?, id)
}

/// Returns the records in a page's body that the caller has.
#[inline]
pub(crate) fn records_of(body: &[u8], id: PageId) -> WalkResult<PageRecords<'_>> {
    PageRecords::of(body).map_err(|what| WalkStop::Damaged(id, what))
}

/// Returns the bytes of a record.
pub(crate) fn record(pages: &mut impl PageReader, id: RecordId) -> WalkResult<&[u8]> {
    records(pages, id.page)?.get(id.slot).map_err(|what| WalkStop::Damaged(id.page, what))
}

/// Changes the records of a page with `change`.
pub(crate) fn change<T>(
    writer: &mut PageWriter<'_>,
    id: PageId,
    change: impl FnOnce(&mut PageRecordsMut<'_>) -> std::result::Result<T, String>,
) -> Result<T> {
    let changed = match writer.page_mut(id) {
        Ok(page) => PageRecordsMut::of(page.body_mut()).and_then(|mut records| change(&mut records)),
        Err(error) => return Err(error),
    };
    changed.map_err(|what| writer.fault(WalkStop::Damaged(id, what)))
}
