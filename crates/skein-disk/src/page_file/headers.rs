//! The two headers: they are written one after the other, so one of them may be damaged at any
//! time.
//!
//! ```text
//!                                           header A   header B
//!   before the end of a checkpoint          n          n
//!   one header written and synced           n+1        n
//!   other header written and synced         n+1        n+1       the checkpoint has ended
//! ```
//!
//! In the first and last state, the file survives damage of either header. A crash in the middle
//! leaves n+1, or a torn header and n.
//!
//! # Invariants
//! 1. A header is written only while the other one is intact and durable.
//! 2. When a checkpoint has ended, both headers have its state. So damage of one header at rest
//!    loses nothing, whether or not the log has later writes. An intact header that is older than
//!    the other one belongs to a checkpoint that never ended.
//! 3. A page that a header leads to is overwritten only when both headers have a later state.

use super::header::{FileHeader, HEADERS};
use super::{DiskError, PageFile, PagePlace, Result};
use crate::page::PAGE;

impl PageFile {
    /// Writes a header to both places, first to `first`. The header at the other place must be
    /// intact. If this fails, all later writes are refused.
    pub(crate) fn write_headers(&self, header: &FileHeader, first: PagePlace) -> Result<()> {
        for place in [first, PagePlace(HEADERS - 1 - first.0)] {
            let written = self.write_raw(place, &header.bytes());
            self.gate.stop_on_error(written)?;
            self.sync()?;
        }
        Ok(())
    }

    /// Returns the newest intact header.
    pub(crate) fn header(&self) -> Result<FileHeader> {
        let len = self.file.len().map_err(|error| DiskError::io("read the length of", &self.path, &error))?;
        if len < u64::from(HEADERS) * PAGE as u64 {
            return Err(self.foreign_file(format!("it has {len} bytes, fewer than its headers")));
        }
        let mut newest: Option<FileHeader> = None;
        let mut wrong = None;
        for place in (0..HEADERS).map(PagePlace) {
            match self.read_raw(place).and_then(|page| FileHeader::parse(&page.0, place, self)) {
                Ok(header) if newest.as_ref().is_none_or(|newest| header.generation > newest.generation) => {
                    newest = Some(header);
                }
                Ok(_) => {}
                Err(error @ (DiskError::Io { .. } | DiskError::UnknownFormat { .. })) => return Err(error),
                Err(error) => wrong = wrong.or(Some(error)),
            }
        }
        newest.ok_or_else(|| wrong.unwrap_or_else(|| self.foreign_file("it has no header".to_owned())))
    }

    /// Returns the place of a header that exists but is not intact: a checkpoint did not end, or
    /// the header is damaged. Returns `None` if both are intact.
    pub(crate) fn unfinished_header(&self) -> Result<Option<PagePlace>> {
        for place in (0..HEADERS).map(PagePlace) {
            let page = self.read_raw(place)?;
            let is_new = page.0.iter().all(|byte| *byte == 0);
            if !is_new && FileHeader::parse(&page.0, place, self).is_err() {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }
}
