//! Overflow values: a value that is too long for its node lies in a chain of pages.
//!
//! ```text
//!   node ─► │ next 4 │ 4,076 bytes │ ─► │ next 4 │ 4,076 bytes │ ─► │ none │ the rest, zeros │
//! ```
//!
//! `buffer/long_values.rs` explains how readers load such a value.

use std::ops::ControlFlow;

use crate::Result;
use crate::buffer::{LongValueId, LongValuePieces, NEXT, NO_PAGE, PIECE, PageWriter, WalkStop, WantedPages};
use crate::page::{DiskPageKind, PageId};
use crate::record::{PageReader, WalkResult};

/// The first page of a long value, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverflowChain {
    pub(crate) first: PageId,
    /// The length in bytes.
    pub(crate) len: u32,
}

impl OverflowChain {
    /// Returns the number of pages.
    fn count(self) -> usize {
        (self.len as usize).div_ceil(PIECE)
    }

    /// Writes a value, from its last page to its first.
    pub(crate) fn write(writer: &mut PageWriter<'_>, value: &[u8]) -> Result<Self> {
        let mut next = NO_PAGE;
        for piece in value.chunks(PIECE).rev() {
            let id = writer.make(DiskPageKind::Overflow)?;
            let body = writer.page_mut(id)?.body_mut();
            body[..NEXT].copy_from_slice(&next.0.to_le_bytes());
            body[NEXT..NEXT + piece.len()].copy_from_slice(piece);
            next = id;
        }
        Ok(Self { first: next, len: value.len() as u32 })
    }

    /// Calls `visit` with each page and its piece of the value, until `visit` breaks.
    pub(crate) fn visit(
        self,
        pages: &mut impl PageReader,
        mut visit: impl FnMut(PageId, &[u8]) -> ControlFlow<()>,
    ) -> WalkResult<()> {
        let mut pieces = LongValuePieces::new(self.first, self.len);
        while let Some(id) = pieces.next_page() {
            let visited = pages
                .with_page(id, |page| pieces.piece(page).map(|piece| visit(id, piece)))?
                .map_err(|what| WalkStop::Damaged(id, what))?;
            if visited.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Appends the value of this version to `out`. Allocates only as pages are read, because the
    /// length may be damaged. If a page is missing, the walk requests the whole value
    /// (`buffer/long_values.rs`).
    pub(crate) fn read(self, pages: &mut impl PageReader, version: u64, out: &mut Vec<u8>) -> WalkResult<()> {
        let long = LongValueId { version, first: self.first, len: self.len };
        let start = out.len();
        if let Some(read) = pages.long(long) {
            out.extend_from_slice(read?);
            return Ok(());
        }
        let read = self.visit(pages, |_, piece| {
            out.extend_from_slice(piece);
            ControlFlow::Continue(())
        });
        if let Err(WalkStop::Missing(_)) = read {
            out.truncate(start);
            return Err(WalkStop::Missing(vec![WantedPages::Long(long)]));
        }
        read
    }

    pub(crate) fn pages(self, pages: &mut impl PageReader) -> WalkResult<Vec<PageId>> {
        let mut ids = Vec::with_capacity(self.count().min(1 << 10));
        self.visit(pages, |id, _| {
            ids.push(id);
            ControlFlow::Continue(())
        })?;
        Ok(ids)
    }

    pub(crate) fn free(self, writer: &mut PageWriter<'_>) -> WalkResult<()> {
        let ids = self.pages(writer)?;
        for id in ids {
            writer.free(id);
        }
        Ok(())
    }
}
