//! The file mapped into memory, as the paper reads it (section 2.1).
//!
//! ```text
//!   places    │ 0 ............ 262,143 │ 262,144 ............ │ ...
//!             └ part of 1 GiB ─────────┴ mapped when it is first read
//! ```
//!
//! The mapping is read-only. Through a writable mapping the system could write a page back before
//! its log record, and an error would become a signal. A read has the second problem, too: a page
//! that cannot be read, or a file that is cut off, ends the process (SIGBUS). So reading by calls
//! is the default, and the mapping is an option.
//!
//! # Invariants
//! 1. A part stays mapped as long as a page of it is in use.
//! 2. A page in use has a reason to keep its place (`free_space.rs`), so nobody overwrites it. The
//!    system does not change its bytes after a failed sync either, because only synced places are
//!    read through the mapping (`unsynced.rs`).
//! 3. The folder stays locked until the store and its snapshots are dropped. So no other store
//!    writes to the file while a read that began before `close` uses a page. The promise of
//!    [`ReadMode::mapping`](super::ReadMode::mapping) excludes all other writers.

use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use skein_log::storage::StorageFile;
use skein_sync::locks::lock;

use super::FreeSpaceMap;
use crate::page::{PAGE, PageBytes, PagePlace};

/// Pages of a part.
const PART: u32 = 1 << 18;

/// A mapped part of the file.
#[derive(Debug)]
struct MappedPart(NonNull<PageBytes>);

// SAFETY: nobody writes to the memory, and it is unmapped once.
unsafe impl Send for MappedPart {}
// SAFETY: as above.
unsafe impl Sync for MappedPart {}

impl MappedPart {
    const LEN: usize = PART as usize * PAGE;

    fn new(file: &dyn StorageFile, number: u32) -> std::io::Result<Self> {
        let file = file.descriptor().ok_or_else(|| {
            std::io::Error::new(std::io::ErrorKind::Unsupported, "this storage cannot be mapped into memory")
        })?;
        let offset = u64::from(number) * Self::LEN as u64;
        // SAFETY: the system selects the address, so nothing is overwritten.
        let mapped =
            unsafe { mmap(ptr::null_mut(), Self::LEN, ProtFlags::READ, MapFlags::SHARED, file, offset) }?;
        // SAFETY: just mapped. The advice is a hint: pages are read in random order.
        _ = unsafe { madvise(mapped, Self::LEN, Advice::Random) };
        NonNull::new(mapped.cast()).map(Self).ok_or_else(|| std::io::Error::other("mapped at address 0"))
    }
}

impl Drop for MappedPart {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and no page of it is in use (invariant 1).
        _ = unsafe { munmap(self.0.as_ptr().cast(), Self::LEN) };
    }
}

#[derive(Debug, Default)]
pub(super) struct FileMapping(Mutex<Vec<Option<Arc<MappedPart>>>>);

impl FileMapping {
    /// Returns the page at a place of the file, which must be within the file. The returned page
    /// holds a reason to keep the place.
    pub(super) fn page(
        &self,
        file: &dyn StorageFile,
        place: PagePlace,
        places: &Arc<Mutex<FreeSpaceMap>>,
    ) -> std::io::Result<MappedPage> {
        let number = place.0 / PART;
        let mut parts = lock(&self.0);
        let wanted = number as usize + 1;
        if parts.len() < wanted {
            parts.resize(wanted, None);
        }
        let part = match &parts[number as usize] {
            Some(part) => part.clone(),
            None => parts[number as usize].insert(Arc::new(MappedPart::new(file, number)?)).clone(),
        };
        drop(parts);
        lock(places).retain(place);
        Ok(MappedPage { part, at: (place.0 % PART) as usize, place, places: places.clone() })
    }
}

/// A page in the mapping.
#[derive(Debug)]
pub(crate) struct MappedPage {
    part: Arc<MappedPart>,
    at: usize,
    place: PagePlace,
    places: Arc<Mutex<FreeSpaceMap>>,
}

impl MappedPage {
    #[inline]
    pub(super) fn bytes(&self) -> &PageBytes {
        // SAFETY: the page lies in the part, which is mapped (invariant 1), and its bytes do not
        // change (invariant 2). Any bytes are a valid page.
        unsafe { self.part.0.add(self.at).as_ref() }
    }
}

impl Drop for MappedPage {
    fn drop(&mut self) {
        lock(&self.places).release(self.place);
    }
}
