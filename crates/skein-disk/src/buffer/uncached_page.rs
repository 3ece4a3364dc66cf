//! Pages that are read without the cache: because it has no room, or because they must not be
//! evicted before their use.

use skein_sync::locks::lock;
use skein_sync::reclaim::PROTECT;

use super::BufferManager;
use super::frame::PageFrame;
use crate::Result;
use crate::page::{PageBytes, PageId, PagePlace};
use crate::page_buf::PageBuf;
use crate::page_file::PageMemory;

/// A page that was read without the cache. It keeps its place from being reused. So it is the
/// page's newest version as long as that version lies at this place.
#[derive(Debug)]
pub(super) struct UncachedPage<'b> {
    buffer: &'b BufferManager,
    id: PageId,
    place: PagePlace,
    /// `None` after the page was taken.
    page: Option<PageMemory>,
}

impl UncachedPage<'_> {
    /// Returns the bytes if this is the newest written version of the page `id`.
    pub(super) fn bytes_of(&self, id: PageId) -> Option<&PageBytes> {
        let newest = self.buffer.table.get(id)?.place();
        self.page.as_deref().filter(|_| self.id == id && newest == Some(self.place))
    }

    /// Returns the bytes, even if there is a newer version.
    pub(super) fn bytes(&self) -> Option<&PageBytes> {
        self.page.as_deref()
    }

    /// Takes the page for changing.
    pub(super) fn into_copy(mut self) -> Option<PageBuf> {
        self.page.take().map(PageMemory::into_copy)
    }

    /// Moves the page to the cache, unless it is there already or the cache has no room. Pages near
    /// the root are needed again soon.
    pub(super) fn move_to_cache(mut self) {
        let (buffer, id) = (self.buffer, self.id);
        let Some(entry) = buffer.table.get(id) else { return };
        if !entry.frame.load(PROTECT).is_null() || buffer.reserve().is_err() {
            return;
        }
        let is_stored = {
            let _stripe = buffer.lock_stripe(id);
            let page = self.page.take().filter(|_| entry.place() == Some(self.place));
            page.is_some_and(|page| {
                BufferManager::install_frame(entry, PageFrame::read(id, page, self.place))
            })
        };
        if is_stored { lock(&buffer.policy).insert(id) } else { buffer.release_reserved() }
    }
}

impl Drop for UncachedPage<'_> {
    fn drop(&mut self) {
        lock(&self.buffer.places).release(self.place);
    }
}

impl BufferManager {
    /// Reads a page without the cache. Returns `None` if there is no such page or it is in memory.
    pub(super) fn read_uncached(&self, id: PageId) -> Result<Option<UncachedPage<'_>>> {
        let Some(entry) = self.table.get(id) else { return Ok(None) };
        let _stripe = self.lock_stripe(id);
        if !entry.frame.load(PROTECT).is_null() {
            return Ok(None);
        }
        let Some((place, page)) = self.read_page(id, entry)? else { return Ok(None) };
        lock(&self.places).retain(place);
        Ok(Some(UncachedPage { buffer: self, id, place, page: Some(page) }))
    }
}
