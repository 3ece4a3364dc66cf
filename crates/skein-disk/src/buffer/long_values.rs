//! Long values: bytes in pages one after the other, which only the first one's id leads to.
//!
//! ```text
//!   node ─► │ next page 4 │ 4,076 bytes │ ─► │ next page 4 │ 4,076 bytes │ ─► │ none │ the rest, zeros │
//! ```
//!
//! A walk that began anew for each page of a long value that is not in memory would look at N²/2 pages for N of them. So a walk that meets such a value tells
//! its name ([`Long`]) and stops. The value is read outside of any walk, page after page, none of which has to stay; and the walk that begins anew then finds
//! its bytes by the name.
//!
//! # Invariant
//! Two values that ever were have different names, since a version is that of one write. So who meets a name in a walk that counts, and has met it in one before, knows
//! that the value was there all the time between, and all its pages: what was read from them is the value, whatever was published meanwhile. And what did
//! not hold together in them is damage. (A walk that does not count may meet a name before the value's pages are there: its names are not followed.)
//! A removal from a hash trie's chain of three keys of one hash may write a value anew under its version, twice, and so give a name again; no two keys of one hash were ever seen.

use std::cell::Cell;
use std::collections::BTreeMap;

use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;
use skein_sync::reclaim::PROTECT;

use super::{BufferManager, FetchOutcome, UncachedPage, WalkStop};
use crate::Result;
use crate::page::{DiskPageKind, HEAD, PAGE, PageBytes, PageId, u32_at};

/// Bytes of the next page's id.
pub(crate) const NEXT: usize = 4;
/// Bytes of a value in one page.
pub(crate) const PIECE: usize = PAGE - HEAD - NEXT;
/// What the last page has for a next one.
pub(crate) const NO_PAGE: PageId = PageId(u32::MAX);

/// The name of a long value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LongValueId {
    /// Of the write that set it.
    pub(crate) version: u64,
    pub(crate) first: PageId,
    /// In bytes.
    pub(crate) len: u32,
}

/// A long value as it was read: its bytes; or the page that is not as it must be, and how.
type LongValueRead = std::result::Result<Vec<u8>, (PageId, String)>;

/// Long values that were read for a walk.
#[derive(Debug, Default)]
pub(super) struct LongValueCache(BTreeMap<LongValueId, (LongValueRead, Cell<bool>)>);

impl LongValueCache {
    /// The bytes of a value, if it was read; or why it stops the walk.
    pub(super) fn get(&self, long: LongValueId) -> Option<std::result::Result<&[u8], WalkStop>> {
        let (read, is_met) = self.0.get(&long)?;
        is_met.set(true);
        Some(match read {
            Ok(bytes) => Ok(bytes),
            Err((id, what)) => Err(WalkStop::Wrong(*id, what.clone())),
        })
    }

    /// Lets go of those that no walk has met since this was called last: they may be no more.
    pub(super) fn drop_unmet(&mut self) {
        self.0.retain(|_, (_, is_met)| is_met.take());
    }

    /// Reads a value that a walk has met.
    ///
    /// # Errors
    /// A page that cannot be read.
    pub(super) fn read(&mut self, buffer: &BufferManager, long: LongValueId) -> Result<()> {
        let read = buffer.read_long(long)?;
        self.0.insert(long, (read, Cell::new(true)));
        Ok(())
    }
}

/// A way along a value's pages. Pages in a ring are noticed (Brent: the page at each power of two is remembered).
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

    /// The page that comes next; none after the last one.
    pub(crate) fn next_page(&self) -> Option<PageId> {
        (self.rest > 0).then_some(self.id)
    }

    /// The piece that the page has, which is the one that comes next; what comes next is behind it then.
    pub(crate) fn piece<'p>(&mut self, page: &'p PageBytes) -> std::result::Result<&'p [u8], String> {
        if self.id == self.remembered {
            return Err("the pages of a value lead back to it".to_owned());
        }
        if page.kind() != Some(DiskPageKind::Overflow) {
            return Err(format!("it is of the kind {:?}, and is referred to as a value's", page.kind()));
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
    /// Reads a long value that a walk has met. Its length is not believed before its pages were seen.
    ///
    /// # Errors
    /// A page that cannot be read.
    fn read_long(&self, long: LongValueId) -> Result<LongValueRead> {
        let (mut pieces, mut bytes) = (LongValuePieces::new(long.first, long.len), Vec::new());
        let mut count = 0;
        while let Some(id) = pieces.next_page() {
            // Half of the cache stays to others, however long it is; and if it is read again, its first half is still there.
            let is_cached = count < self.cache / 2;
            let read =
                self.glance(id, is_cached, |page| pieces.piece(page).map(|piece| bytes.extend(piece)))?;
            match read {
                Some(Ok(())) => count += 1,
                Some(Err(what)) => return Ok(Err((id, what))),
                None => return Ok(Err((id, "there is no such page, and it is referred to".to_owned()))),
            }
        }
        Ok(Ok(bytes))
    }

    /// Looks at a page as it is now, and keeps nothing; none if there is no such page. One that is not in memory comes to the cache, or is read past it.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn glance<T>(
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
                // SAFETY: the guard keeps it.
                if let Some(frame) = unsafe { entry.frame.load(PROTECT).as_ref() } {
                    frame.count_use();
                    self.counts.hits.fetch_add(1, Ordering::Relaxed);
                    if self.tells_uses {
                        lock(&self.policy).touch(id);
                    }
                    return Ok(Some(look(&frame.bytes)));
                }
            }
            if is_cached {
                match self.fetch(id)? {
                    FetchOutcome::Here(reference) => return Ok(Some(look(&reference.frame.bytes))),
                    FetchOutcome::Gone => return Ok(None),
                    FetchOutcome::NoRoom => {}
                }
            }
            if let Some(page) = self.read_past(id)?.as_ref().and_then(UncachedPage::bytes) {
                return Ok(Some(look(page)));
            }
            // Somebody may have brought it meanwhile.
            if !self.is_page(id) {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use skein_log::storage::sim::SimStorage;

    use super::super::WantedPages;
    use super::super::tests::open;
    use super::*;

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
        let storage = SimStorage::new();
        let buffer = open(&storage, 16).unwrap();
        let (one, other) = (publish(&buffer, 1), publish(&buffer, 2));
        let long = |version, first| LongValueId { version, first, len: 100 };
        let wanted = |long| Err(WalkStop::Missing(vec![WantedPages::Long(long)]));
        let mut walks = 0;
        let seen = buffer.read_with(|view| {
            walks += 1;
            let read = |long| view.long(long).map(|read| read.map(<[u8]>::to_vec)).transpose();
            match walks {
                1 => {
                    // This walk does not count, so it may have met a name whose pages are not there yet.
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
                    let Some(Err(WalkStop::Wrong(PageId(99), what))) = view.long(long(3, PageId(99))) else {
                        panic!("the page is not there")
                    };
                    assert!(what.contains("there is no such page"), "{what}");
                    Ok(read(long(2, other))?.unwrap())
                }
            }
        });
        assert_eq!((seen.unwrap(), walks), (vec![2; 100], 5));
    }

    /// What comes and goes faster than it is read: the writer is kept away at last.
    #[test]
    fn a_long_value_replaced_before_each_walk_is_read_at_last() {
        let storage = SimStorage::new();
        let buffer = open(&storage, 16).unwrap();
        let mut newest = (1, publish(&buffer, 1));
        let mut walks = 0;
        let seen = buffer.read_with(|view| {
            walks += 1;
            assert!(walks < 100);
            let before = newest;
            // Nobody can write any more once the reader holds the writer's lock.
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
