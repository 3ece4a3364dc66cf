//! The two headers: one is written after the other, so that either of them may be damaged.
//!
//! ```text
//!   before a checkpoint ends            n     n          damage at one: the other has the state
//!   written, synced                     n+1   n          a crash leaves n+1, or a torn header and n
//!   written, synced: the checkpoint     n+1   n+1        damage at one: the other has the state
//!   has ended; what only n led to is free
//! ```
//!
//! # Invariants
//! 1. A header is written only while the other one is whole, and durable.
//! 2. Once a checkpoint has ended, both headers are of its state. So one that is damaged at rest costs nothing, whether a log
//!    has later writes or none; and a whole header that is older than the other one is of a checkpoint that never ended.
//! 3. What a header leads to is written over only after both are of a later state.

use super::header::{FileHeader, HEADERS};
use super::{DiskError, PageFile, PagePlace, Result};
use crate::page::PAGE;

impl PageFile {
    /// Makes a state the file's, in both headers; the one at `first` becomes it first. The other one is whole. If that fails,
    /// nothing is written any more.
    pub(crate) fn write_headers(&self, header: &FileHeader, first: PagePlace) -> Result<()> {
        for place in [first, PagePlace(HEADERS - 1 - first.0)] {
            let written = self.write_raw(place, &header.bytes());
            self.gate.or_stop(written)?;
            self.sync()?;
        }
        Ok(())
    }

    /// The newest header that is whole.
    pub(crate) fn header(&self) -> Result<FileHeader> {
        let len = self.file.len().map_err(|error| DiskError::io("read the length of", &self.path, &error))?;
        if len < u64::from(HEADERS) * PAGE as u64 {
            return Err(self.not_ours(format!("it has {len} bytes, and the headers alone have more")));
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
        newest.ok_or_else(|| wrong.unwrap_or_else(|| self.not_ours("it has no header".to_owned())))
    }

    /// A header that is there and not whole, if one is: that of a checkpoint that was never ended, or a damaged one.
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
