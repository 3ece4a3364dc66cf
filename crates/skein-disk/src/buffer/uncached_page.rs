//! Pages that were read past the cache: because there is no room for them, or so that they do not leave before they have been looked at.

use skein_sync::locks::lock;
use skein_sync::reclaim::PROTECT;

use super::BufferManager;
use super::frame::PageFrame;
use crate::Result;
use crate::page::{PageBytes, PageId, PagePlace};
use crate::page_buf::PageBuf;
use crate::page_file::PageMemory;

/// A page that was read past the cache. Its place stays its own: so as long as the page's newest form lies there, this is it.
#[derive(Debug)]
pub(super) struct UncachedPage<'b> {
    buffer: &'b BufferManager,
    id: PageId,
    place: PagePlace,
    /// None once somebody has taken it.
    page: Option<PageMemory>,
}

impl UncachedPage<'_> {
    /// The bytes, if this is the page, and nothing newer was written.
    pub(super) fn bytes_of(&self, id: PageId) -> Option<&PageBytes> {
        let newest = self.buffer.table.get(id)?.place();
        self.page.as_deref().filter(|_| self.id == id && newest == Some(self.place))
    }

    /// The bytes, also if they are not the page's any more.
    pub(super) fn bytes(&self) -> Option<&PageBytes> {
        self.page.as_deref()
    }

    /// The page, to be changed.
    pub(super) fn into_copy(mut self) -> Option<PageBuf> {
        self.page.take().map(PageMemory::into_copy)
    }

    /// Brings it to the cache, unless it is there, or there is no room: it was of use, and will be again if it lies on the way to others.
    pub(super) fn move_to_cache(mut self) {
        let (buffer, id) = (self.buffer, self.id);
        let Some(entry) = buffer.table.get(id) else { return };
        if !entry.frame.load(PROTECT).is_null() || buffer.reserve().is_err() {
            return;
        }
        let came = {
            let _stripe = lock(buffer.stripe(id));
            let page = self.page.take().filter(|_| entry.place() == Some(self.place));
            page.is_some_and(|page| {
                BufferManager::install_frame(entry, PageFrame::read(id, page, self.place))
            })
        };
        if came { lock(&buffer.policy).insert(id) } else { buffer.release_reserved() }
    }
}

impl Drop for UncachedPage<'_> {
    fn drop(&mut self) {
        lock(&self.buffer.places).release(self.place);
    }
}

impl BufferManager {
    /// Reads a page past the cache; none if there is no such page, or it is in memory by now.
    pub(super) fn read_past(&self, id: PageId) -> Result<Option<UncachedPage<'_>>> {
        let Some(entry) = self.table.get(id) else { return Ok(None) };
        let _stripe = lock(self.stripe(id));
        if !entry.frame.load(PROTECT).is_null() {
            return Ok(None);
        }
        let Some((place, page)) = self.read_page(id, entry)? else { return Ok(None) };
        lock(&self.places).retain(place);
        Ok(Some(UncachedPage { buffer: self, id, place, page: Some(page) }))
    }
}
