//! The file as memory: how the paper reads it (section 2.1).
//!
//! ```text
//!   places    │ 0 ............ 262,143 │ 262,144 ............ │ ...        parts of 1 GiB, each mapped when it is first read
//! ```
//!
//! The mapping is for reading alone: through one that can be written, the system may write a page back before the log has its record, and an error becomes a
//! signal. That second thing is so for reading, too: a page that cannot be read, or a file that somebody cuts off, ends the process (SIGBUS). So
//! reading by calls is the default, and this is an option.
//!
//! # Invariants
//! 1. A part stays mapped as long as a page of it is in use.
//! 2. A page in use has a reason to be kept in its place (`places.rs`), so nobody writes there: the bytes do not change. Nor does the
//!    system change them after a failed sync: only places that were synced are mapped (`unsynced.rs`).
//! 3. The folder stays locked until the store is dropped, so that no other store writes there while a read that was under
//!    way when this one was closed looks at a page. The promise of [`Reading::mapping`](super::Reading::mapping) keeps away
//!    all others.

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

// SAFETY: memory that nobody writes, and that is given back once.
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
        // SAFETY: the system chooses where, so nothing is there yet.
        let mapped =
            unsafe { mmap(ptr::null_mut(), Self::LEN, ProtFlags::READ, MapFlags::SHARED, file, offset) }?;
        // A hint: what is read comes in no order.
        // SAFETY: just mapped.
        _ = unsafe { madvise(mapped, Self::LEN, Advice::Random) };
        NonNull::new(mapped.cast()).map(Self).ok_or_else(|| std::io::Error::other("mapped at address 0"))
    }
}

impl Drop for MappedPart {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and nobody uses a page of it (invariant 1).
        _ = unsafe { munmap(self.0.as_ptr().cast(), Self::LEN) };
    }
}

/// The parts that are mapped.
#[derive(Debug, Default)]
pub(super) struct FileMapping(Mutex<Vec<Option<Arc<MappedPart>>>>);

impl FileMapping {
    /// The page at a place of a file, which has so many pages. A reason to keep the place is the page's from now on.
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
        // SAFETY: in the part, which is mapped (invariant 1), and whose bytes here do not change (invariant 2); any bytes make a page.
        unsafe { self.part.0.add(self.at).as_ref() }
    }
}

impl Drop for MappedPage {
    fn drop(&mut self) {
        lock(&self.places).release(self.place);
    }
}
