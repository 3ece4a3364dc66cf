//! Long values: bytes in a chain of pages. The only pointer to the chain is its first page's id.
//!
//! ```text
//!   node ─► │ next 4 │ 4,076 bytes │ ─► │ next 4 │ 4,076 bytes │ ─► │ none │ the rest, zeros │
//! ```
//!
//! If a walk restarted for each missing page of a long value, it would visit N²/2 pages for N of
//! them. So a walk that meets an unloaded long value stops and reports its id ([`LongValueId`]).
//! The value is then loaded outside of any walk, page after page, and no page has to stay in
//! memory. The restarted walk finds the bytes by the id.
//!
//! # Invariant
//! Two different values never have the same id, because a version belongs to one write. If two
//! valid walks meet the same id, the value and all its pages existed all the time in between. So
//! the bytes that were loaded in between are the value, whatever was published meanwhile, and
//! inconsistent pages among them are damage. (An invalid walk may meet an id before the value's
//! pages exist, so its ids are not loaded.)
//!
//! One exception: a removal from a hash trie's chain of three keys with the same hash may rewrite a
//! value twice under its version, and so reuse an id. No two keys with the same hash were ever
//! seen.

use std::cell::Cell;
use std::collections::BTreeMap;

use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;
use skein_sync::reclaim::PROTECT;

use super::page_view::NO_PAGE_HERE;
use super::{BufferManager, FetchOutcome, UncachedPage, WalkResult, WalkStop};
use crate::Result;
use crate::page::{DiskPageKind, HEAD, PAGE, PageBytes, PageId, u32_at};

/// Bytes of the next page's id.
pub(crate) const NEXT: usize = 4;
/// Bytes of a value in one page.
pub(crate) const PIECE: usize = PAGE - HEAD - NEXT;
/// The next page's id in the last page.
pub(crate) const NO_PAGE: PageId = PageId(u32::MAX);

/// The id of a long value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LongValueId {
    /// The version: the number of the write that set the value.
    pub(crate) version: u64,
    pub(crate) first: PageId,
    /// The length in bytes.
    pub(crate) len: u32,
}

/// A loaded long value: its bytes, or the damaged page with a description.
type LongValueRead = std::result::Result<Vec<u8>, (PageId, String)>;

/// The long values that were loaded for a walk.
#[derive(Debug, Default)]
pub(super) struct LongValueCache(BTreeMap<LongValueId, (LongValueRead, Cell<bool>)>);

impl LongValueCache {
    /// Returns the bytes of a loaded value, or the damage that stops the walk. Returns `None` if
    /// the value was not loaded.
    pub(super) fn get(&self, long: LongValueId) -> Option<WalkResult<&[u8]>> {
        let (read, is_met) = self.0.get(&long)?;
        is_met.set(true);
        Some(match read {
            Ok(bytes) => Ok(bytes),
            Err((id, what)) => Err(WalkStop::Damaged(*id, what.clone())),
        })
    }

    /// Drops the values that no walk has met since the last call; they may not exist any more.
    pub(super) fn drop_unmet(&mut self) {
        self.0.retain(|_, (_, is_met)| is_met.take());
    }

    /// Loads a value that a walk has met.
    ///
    /// # Errors
    /// A page cannot be read.
    pub(super) fn read(&mut self, buffer: &BufferManager, long: LongValueId) -> Result<()> {
        let read = buffer.read_long(long)?;
        self.0.insert(long, (read, Cell::new(true)));
        Ok(())
    }
}

/// An iterator over a value's pages. It notices pages that form a ring (Brent: it remembers the
/// page at each power of two).
#[derive(Debug)]
pub(crate) struct LongValuePieces {
    id: PageId,
    rest: usize,
    remembered: PageId,
    count: usize,
}

impl LongValuePieces {
    pub(crate) fn new(first: PageId, len: u32) -> Self {
        Self { id: first, rest: len as usize, remembered: NO_PAGE, count: 0 }
    }

    /// Returns the next page, or `None` after the last one.
    pub(crate) fn next_page(&self) -> Option<PageId> {
        (self.rest > 0).then_some(self.id)
    }

    /// Returns the piece in the next page, and advances. `page` has the bytes of that page.
    pub(crate) fn piece<'p>(&mut self, page: &'p PageBytes) -> std::result::Result<&'p [u8], String> {
        if self.id == self.remembered {
            return Err("the pages of a value form a ring at it".to_owned());
        }
        if page.kind() != Some(DiskPageKind::Overflow) {
            return Err(format!("it is of the kind {:?}, but a long value leads to it", page.kind()));
        }
        self.count += 1;
        if self.count.is_power_of_two() {
            self.remembered = self.id;
        }
        let (next, bytes) = page.body().split_at(NEXT);
        let piece = &bytes[..self.rest.min(PIECE)];
        self.rest -= piece.len();
        self.id = PageId(u32_at(next, 0));
        Ok(piece)
    }
}

impl BufferManager {
    /// Loads a long value that a walk has met. Allocates only as pages are read, because the length
    /// may be damaged.
    ///
    /// # Errors
    /// A page cannot be read.
    fn read_long(&self, long: LongValueId) -> Result<LongValueRead> {
        let (mut pieces, mut bytes) = (LongValuePieces::new(long.first, long.len), Vec::new());
        let mut count = 0;
        while let Some(id) = pieces.next_page() {
            // A long value uses at most half of the cache. If it is loaded again, its first half is
            // still there.
            let is_cached = count < self.room.capacity() / 2;
            let read =
                self.with_page(id, is_cached, |page| pieces.piece(page).map(|piece| bytes.extend(piece)))?;
            match read {
                Some(Ok(())) => count += 1,
                Some(Err(what)) => return Ok(Err((id, what))),
                None => return Ok(Err((id, NO_PAGE_HERE.to_owned()))),
            }
        }
        Ok(Ok(bytes))
    }

    /// Passes the current version of a page to `look` and keeps nothing. Returns `None` if there is
    /// no such page. A missing page is loaded into the cache or, without `is_cached`, read without
    /// it.
    ///
    /// # Errors
    /// The page cannot be read.
    pub(super) fn with_page<T>(
        &self,
        id: PageId,
        is_cached: bool,
        look: impl FnOnce(&PageBytes) -> T,
    ) -> Result<Option<T>> {
        self.file.check_open()?;
        let Some(entry) = self.table.get(id) else { return Ok(None) };
        loop {
            {
                let _guard = self.collector.enter();
                // SAFETY: the guard protects the frame.
                if let Some(frame) = unsafe { entry.frame.load(PROTECT).as_ref() } {
                    frame.count_use();
                    self.counts.hits.fetch_add(1, Ordering::Relaxed);
                    if self.reports_uses {
                        lock(&self.policy).touch(id);
                    }
                    return Ok(Some(look(&frame.bytes)));
                }
            }
            if is_cached {
                match self.fetch(id)? {
                    FetchOutcome::Loaded(reference) => return Ok(Some(look(&reference.frame.bytes))),
                    FetchOutcome::NoPage => return Ok(None),
                    FetchOutcome::NoRoom => {}
                }
            }
            if let Some(page) = self.read_uncached(id)?.as_ref().and_then(UncachedPage::bytes) {
                return Ok(Some(look(page)));
            }
            // Another thread may have loaded it.
            if !self.is_page(id) {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {

    use super::super::{SharedPages, WantedPages};
    use super::*;
    use crate::test_fixtures::new_file;

    /// Publishes a value of one page.
    fn publish(buffer: &BufferManager, byte: u8) -> PageId {
        let mut writer = buffer.write();
        let id = writer.make(DiskPageKind::Overflow).unwrap();
        writer.page_mut(id).unwrap().body_mut()[NEXT..].fill(byte);
        writer.publish().unwrap();
        id
    }

    #[test]
    fn a_long_value_is_cached_while_walks_meet_it() {
        let (_, buffer) = new_file(16);
        let (one, other) = (publish(&buffer, 1), publish(&buffer, 2));
        let long = |version, first| LongValueId { version, first, len: 100 };
        let wanted = |long| Err(WalkStop::Missing(vec![WantedPages::Long(long)]));
        let mut walks = 0;
        let seen = buffer.read_with(|view| {
            walks += 1;
            let read = |long| view.long(long).map(|read| read.map(<[u8]>::to_vec)).transpose();
            match walks {
                1 => {
                    // This walk is invalid, so it may have met an id of pages that do not exist
                    // yet.
                    publish(&buffer, 3);
                    wanted(long(1, one))
                }
                2 => {
                    assert_eq!(read(long(1, one))?, None);
                    wanted(long(1, one))
                }
                3 => {
                    assert_eq!(read(long(1, one))?, Some(vec![1; 100]));
                    assert_eq!(read(long(2, one))?, None, "another version is another value");
                    wanted(long(2, other))
                }
                4 => {
                    assert_eq!(read(long(2, other))?, Some(vec![2; 100]));
                    wanted(long(3, PageId(99)))
                }
                _ => {
                    assert_eq!(read(long(1, one))?, None, "no walk has met it since");
                    let Some(Err(WalkStop::Damaged(PageId(99), what))) = view.long(long(3, PageId(99)))
                    else {
                        panic!("the page is not there")
                    };
                    assert!(what.contains("there is no such page"), "{what}");
                    Ok(read(long(2, other))?.unwrap())
                }
            }
        });
        assert_eq!((seen.unwrap(), walks), (vec![2; 100], 5));
    }

    /// If a value changes faster than it can be loaded, the reader finally keeps the writer away.
    #[test]
    fn a_long_value_replaced_before_each_walk_is_read_at_last() {
        let (_, buffer) = new_file(16);
        let mut newest = (1, publish(&buffer, 1));
        let mut walks = 0;
        let seen = buffer.read_with(|view| {
            walks += 1;
            assert!(walks < 100);
            let before = newest;
            // No thread can write after the reader has taken the writer's lock.
            if buffer.writing.try_lock().is_ok() && walks % 2 == 0 {
                newest = (newest.0 + 1, publish(&buffer, newest.0 as u8 + 1));
            }
            let long = LongValueId { version: before.0, first: before.1, len: 100 };
            match view.long(long) {
                Some(read) => Ok(read?.to_vec()),
                None => Err(WalkStop::Missing(vec![WantedPages::Long(long)])),
            }
        });
        assert_eq!(seen.unwrap(), vec![newest.0 as u8; 100]);
    }
}
