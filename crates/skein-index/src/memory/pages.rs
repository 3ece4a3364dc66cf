//! Regions: 2 MiB of address space each, from the system and back to it.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;

/// Bytes in a region: one huge page of the common processors. Small under Miri, which is slow.
pub(super) const REGION: usize = if cfg!(miri) { 64 << 10 } else { 2 << 20 };

const LAYOUT: Layout = match Layout::from_size_align(REGION, REGION) {
    Ok(layout) => layout,
    Err(_) => panic!("a region is a power of two in size"),
};

/// Takes a region from the system, aligned to its size, on a huge page if `huge` and the system agrees.
///
/// Aborts, as every allocation in Rust does, if there is no memory.
pub(super) fn map(huge: bool) -> NonNull<u8> {
    let Some(region) = system::map() else { handle_alloc_error(LAYOUT) };
    if huge {
        advise_huge(region);
    }
    // Invariant 6: headers are found from bare addresses.
    region.as_ptr().expose_provenance();
    region
}

/// Asks for the region to be put on a huge page. A hint: if the system has none, small pages serve.
pub(super) fn advise_huge(region: NonNull<u8>) {
    system::advise_huge(region);
}

/// Asks for the region to stay on pages of the common size, whatever the system's habit.
pub(super) fn advise_small(region: NonNull<u8>) {
    system::advise_small(region);
}

/// Gives a region back.
///
/// # Safety
/// It came from [`map`], is given back once, and nothing in it is used again.
pub(super) unsafe fn unmap(region: NonNull<u8>) {
    // SAFETY: passed on to the caller.
    unsafe { system::unmap(region) };
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::ptr::{NonNull, null_mut};

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    use super::REGION;

    fn map_bytes(len: usize) -> Option<NonNull<u8>> {
        // SAFETY: a private anonymous mapping at an address of the system's choice overlaps nothing.
        let address =
            unsafe { mmap_anonymous(null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) };
        NonNull::new(address.ok()?.cast())
    }

    pub(super) fn map() -> Option<NonNull<u8>> {
        // The system places mappings one below the other, so once one is aligned the next mostly is.
        let first = map_bytes(REGION)?;
        if first.addr().get().is_multiple_of(REGION) {
            return Some(first);
        }
        // SAFETY: mapped above, known to nobody else.
        unsafe { unmap(first) };
        // Twice the size holds an aligned region; the rest goes back.
        let wide = map_bytes(2 * REGION)?;
        let lead = wide.addr().get().next_multiple_of(REGION) - wide.addr().get();
        // SAFETY: `lead < REGION`, so the region and both ends lie inside the mapping, which is ours alone;
        // all sizes are multiples of the page size because REGION and the mapping's address are.
        unsafe {
            let region = wide.add(lead);
            if lead > 0 {
                let _ = munmap(wide.as_ptr().cast(), lead);
            }
            let _ = munmap(region.add(REGION).as_ptr().cast(), REGION - lead);
            Some(region)
        }
    }

    pub(super) fn advise_huge(region: NonNull<u8>) {
        // SAFETY: the advice changes no contents, and the range is a region of ours. Errors (a kernel
        // without huge pages) leave small pages, which are correct.
        let _ = unsafe { madvise(region.as_ptr().cast(), REGION, Advice::LinuxHugepage) };
    }

    pub(super) fn advise_small(region: NonNull<u8>) {
        // SAFETY: as in `advise_huge`.
        let _ = unsafe { madvise(region.as_ptr().cast(), REGION, Advice::LinuxNoHugepage) };
    }

    pub(super) unsafe fn unmap(region: NonNull<u8>) {
        // SAFETY: the caller gives up the whole region. It can fail only where the kernel cannot split a
        // mapping; the address space is then lost, and nothing else.
        let _ = unsafe { munmap(region.as_ptr().cast(), REGION) };
    }
}

#[cfg(any(miri, not(target_os = "linux")))]
mod system {
    use std::ptr::NonNull;

    use super::LAYOUT;

    pub(super) fn map() -> Option<NonNull<u8>> {
        // SAFETY: the layout's size is not zero.
        NonNull::new(unsafe { std::alloc::alloc(LAYOUT) })
    }

    pub(super) fn advise_huge(_region: NonNull<u8>) {}

    pub(super) fn advise_small(_region: NonNull<u8>) {}

    pub(super) unsafe fn unmap(region: NonNull<u8>) {
        // SAFETY: `map` made it with the same layout, and the caller gives it up.
        unsafe { std::alloc::dealloc(region.as_ptr(), LAYOUT) };
    }
}
