//! Records: pieces of variable length in pages, each with a name that it keeps.
//!
//! ```text
//!   RecordId   page id 4 │ slot 4        8 bytes where records name each other
//!                 │         │
//!                 ▼         ▼
//!   page of kind Records ── slotted.rs: directory of slots ──► bytes
//! ```
//!
//! Source: section 3.1 (a pointer is 8 bytes: 4 for the page, 4 for the index of the node in it).

mod slotted;
#[cfg(test)]
mod tests;

pub(crate) use slotted::{BODY, PageRecords, PageRecordsMut, SLOT, prefetch_slot};

use crate::Result;
use crate::buffer::{FrozenPages, LongValueId, PageView, PageWriter, WalkStop};
use crate::page::{DiskPageKind, PageBytes, PageId, u32_at};

/// What a walk over pages gives, or why it stopped.
pub(crate) type WalkResult<T> = std::result::Result<T, WalkStop>;

/// Bytes of a record's name in another record.
pub(crate) const POINTER: usize = 8;

/// The name of a record: its page, and its slot there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordId {
    pub(crate) page: PageId,
    pub(crate) slot: u16,
}

impl RecordId {
    /// The name of no record.
    pub(crate) const NONE: Self = Self { page: PageId(u32::MAX), slot: u16::MAX };

    pub(crate) fn bytes(self) -> [u8; POINTER] {
        let mut bytes = [0; POINTER];
        bytes[..4].copy_from_slice(&self.page.0.to_le_bytes());
        bytes[4..].copy_from_slice(&u32::from(self.slot).to_le_bytes());
        bytes
    }

    /// The name that [`POINTER`] bytes hold; [`NONE`](Self::NONE) if they hold what is none.
    #[inline]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let page = PageId(u32_at(bytes, 0));
        u16::try_from(u32_at(bytes, 4)).map_or(Self::NONE, |slot| Self { page, slot })
    }
}

/// Where pages are read: by a walk of a reader, or by the writer.
pub(crate) trait PageReader {
    /// The bytes of a page.
    fn page(&mut self, id: PageId) -> WalkResult<&PageBytes>;

    /// Looks at a page that is not needed any more then.
    fn glance<T>(&mut self, id: PageId, look: impl FnOnce(&PageBytes) -> T) -> WalkResult<T> {
        self.page(id).map(look)
    }

    /// The bytes of a long value that was read as a whole, or why that could not be; none if it is to be read from its pages.
    fn long(&mut self, _: LongValueId) -> Option<WalkResult<&[u8]>> {
        None
    }
}

impl PageReader for &PageView<'_> {
    fn page(&mut self, id: PageId) -> WalkResult<&PageBytes> {
        PageView::page(self, id)
    }

    fn long(&mut self, long: LongValueId) -> Option<WalkResult<&[u8]>> {
        PageView::long(self, long)
    }
}

impl PageReader for PageWriter<'_> {
    fn page(&mut self, id: PageId) -> WalkResult<&PageBytes> {
        Ok(PageWriter::page(self, id)?)
    }

    fn glance<T>(&mut self, id: PageId, look: impl FnOnce(&PageBytes) -> T) -> WalkResult<T> {
        Ok(PageWriter::glance(self, id, look)?)
    }
}

impl PageReader for FrozenPages<'_, '_> {
    fn page(&mut self, id: PageId) -> WalkResult<&PageBytes> {
        Ok(FrozenPages::page(self, id)?)
    }
}

/// The body of a page that is to be of this kind.
#[inline]
pub(crate) fn body(pages: &mut impl PageReader, id: PageId, kind: DiskPageKind) -> WalkResult<&[u8]> {
    body_of(pages.page(id)?, id, kind)
}

/// The body of a page that is at hand, and is to be of this kind.
#[inline]
pub(crate) fn body_of(page: &PageBytes, id: PageId, kind: DiskPageKind) -> WalkResult<&[u8]> {
    if page.kind() == Some(kind) { Ok(page.body()) } else { Err(another_kind(id, page.kind(), kind)) }
}

#[cold]
fn another_kind(id: PageId, is: Option<DiskPageKind>, kind: DiskPageKind) -> WalkStop {
    WalkStop::Wrong(id, format!("it is of the kind {is:?}, and is referred to as {kind:?}"))
}

/// The records of a page.
#[inline]
pub(crate) fn records(pages: &mut impl PageReader, id: PageId) -> WalkResult<PageRecords<'_>> {
    records_of(body(pages, id, DiskPageKind::Records)?, id)
}

/// The records of a page's body that is at hand.
#[inline]
pub(crate) fn records_of(body: &[u8], id: PageId) -> WalkResult<PageRecords<'_>> {
    PageRecords::of(body).map_err(|what| WalkStop::Wrong(id, what))
}

/// The bytes of a record.
pub(crate) fn record(pages: &mut impl PageReader, id: RecordId) -> WalkResult<&[u8]> {
    records(pages, id.page)?.get(id.slot).map_err(|what| WalkStop::Wrong(id.page, what))
}

/// Changes the records of a page.
pub(crate) fn change<T>(
    writer: &mut PageWriter<'_>,
    id: PageId,
    change: impl FnOnce(&mut PageRecordsMut<'_>) -> std::result::Result<T, String>,
) -> Result<T> {
    let changed = match writer.page_mut(id) {
        Ok(page) => PageRecordsMut::of(page.body_mut()).and_then(|mut records| change(&mut records)),
        Err(error) => return Err(error),
    };
    changed.map_err(|what| writer.fault(WalkStop::Wrong(id, what)))
}
