//! Overflow: a value too long for its node lies in pages of its own, one after the other.
//!
//! ```text
//!   node ─► │ next page 4 │ 4,076 bytes │ ─► │ next page 4 │ 4,076 bytes │ ─► │ none │ the rest, zeros │
//! ```

use crate::Result;
use crate::buffer::{Stop, Writer};
use crate::page::{Kind, PageId, u32_at};
use crate::record::{BODY, Pages, Walked, body};

const NEXT: usize = 4;
/// Bytes of a value in one page.
const PIECE: usize = BODY - NEXT;
const NO_PAGE: PageId = PageId(u32::MAX);

/// Where a long value begins, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) first: PageId,
    /// In bytes.
    pub(crate) len: u32,
}

impl Chain {
    /// How many pages it has.
    fn count(self) -> usize {
        (self.len as usize).div_ceil(PIECE)
    }

    /// Writes a value, from its last page to its first.
    pub(crate) fn write(writer: &mut Writer<'_>, value: &[u8]) -> Result<Self> {
        let mut next = NO_PAGE;
        for piece in value.chunks(PIECE).rev() {
            let id = writer.make(Kind::Overflow)?;
            let body = writer.page_mut(id)?.body_mut();
            body[..NEXT].copy_from_slice(&next.0.to_le_bytes());
            body[NEXT..NEXT + piece.len()].copy_from_slice(piece);
            next = id;
        }
        Ok(Self { first: next, len: value.len() as u32 })
    }

    /// Its pages, each with the piece that it has. Pages in a ring are noticed (Brent: the page at each power of two is remembered).
    fn visit(self, pages: &mut impl Pages, mut visit: impl FnMut(PageId, &[u8])) -> Walked<()> {
        let (mut id, mut rest) = (self.first, self.len as usize);
        let (mut remembered, mut count) = (NO_PAGE, 0_usize);
        while rest > 0 {
            if id == remembered {
                return Err(Stop::Wrong(id, "the pages of a value lead back to it".to_owned()));
            }
            count += 1;
            if count.is_power_of_two() {
                remembered = id;
            }
            let body = body(pages, id, Kind::Overflow)?;
            let piece = rest.min(PIECE);
            visit(id, &body[NEXT..NEXT + piece]);
            rest -= piece;
            id = PageId(u32_at(body, 0));
        }
        Ok(())
    }

    /// Appends the value. Its length is not believed before its pages were seen.
    pub(crate) fn read(self, pages: &mut impl Pages, out: &mut Vec<u8>) -> Walked<()> {
        self.visit(pages, |_, piece| out.extend_from_slice(piece))
    }

    /// The ids of its pages.
    pub(crate) fn pages(self, pages: &mut impl Pages) -> Walked<Vec<PageId>> {
        let mut ids = Vec::with_capacity(self.count().min(1 << 10));
        self.visit(pages, |id, _| ids.push(id))?;
        Ok(ids)
    }

    /// Gives its pages back.
    pub(crate) fn free(self, writer: &mut Writer<'_>) -> Walked<()> {
        let ids = self.pages(writer)?;
        for id in ids {
            writer.free(id);
        }
        Ok(())
    }
}
