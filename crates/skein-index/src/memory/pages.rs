//! Address space from the system and back to it, in whole regions of 2 MiB.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::span::SPAN;

/// Bytes in a region: one huge page of the common processors. Small under Miri, which is slow.
pub(super) const REGION: usize = if cfg!(miri) { 64 << 10 } else { 2 << 20 };

/// A multiple of the page size of all systems that we know.
pub(super) const PAGE: usize = 64 << 10;

/// Where memory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageSource {
    /// The system, on huge pages as soon as there is much.
    HugePages,
    /// The system, on pages of the common size.
    SmallPages,
    /// The process's global allocator, which counts what it hands out.
    Allocator,
}

/// A block of the allocator for a region: no more than its size, since allocators round up; what lies before its first span is lost.
const REGION_BLOCK: Layout = match Layout::from_size_align(REGION, align_of::<usize>()) {
    Ok(layout) => layout,
    Err(_) => panic!("a region is a layout"),
};

/// A region; the address is that of its first span, aligned to [`SPAN`]. With [`Source::Allocator`] it has one span less.
///
/// Aborts if there is no memory.
pub(super) fn map_region(source: PageSource) -> NonNull<u8> {
    if source != PageSource::Allocator {
        let region = map(REGION, false);
        if source == PageSource::SmallPages {
            advise_small(region, REGION);
        }
        return region;
    }
    // SAFETY: the layout's size is not zero.
    let Some(block) = NonNull::new(unsafe { alloc(REGION_BLOCK) }) else { handle_alloc_error(REGION_BLOCK) };
    let lead = lead_of(block);
    // SAFETY: `lead` is at most a span, and one word of it is there: the block is aligned to words, so that what is added is one at least.
    let first = unsafe {
        let first = block.add(lead);
        first.cast::<usize>().sub(1).write(lead);
        first
    };
    // Invariant 6: headers are found from bare addresses.
    first.as_ptr().expose_provenance();
    first
}

/// From a block's begin to its first span: 8 bytes at least, which hold this number in front of the span.
fn lead_of(block: NonNull<u8>) -> usize {
    let address = block.addr().get();
    (address + size_of::<usize>()).next_multiple_of(SPAN) - address
}

/// Gives a region back.
///
/// # Safety
/// It came from [`map_region`] of the same source, is given back once, and nothing in it is used again.
pub(super) unsafe fn unmap_region(source: PageSource, first: NonNull<u8>) {
    // SAFETY: passed on to the caller; in front of the first span of an allocator's region is its lead, written in `map_region`.
    unsafe {
        if source == PageSource::Allocator {
            let lead = first.cast::<usize>().sub(1).read();
            dealloc(first.as_ptr().sub(lead), REGION_BLOCK);
        } else {
            unmap(first, REGION);
        }
    }
}

/// What `len` bytes, a multiple of [`PAGE`], are taken as: whole regions are aligned to regions.
fn layout(len: usize) -> Layout {
    debug_assert!(len.is_multiple_of(PAGE));
    match Layout::from_size_align(len, if len.is_multiple_of(REGION) { REGION } else { PAGE }) {
        Ok(layout) => layout,
        // No address space holds it: as much out of memory as any.
        Err(_) => handle_alloc_error(Layout::new::<u8>()),
    }
}

/// Takes `len` bytes, a multiple of [`PAGE`], from the system: zeros, and if `huge` on huge pages as far as the system agrees.
///
/// Aborts, as every allocation in Rust does, if there is no memory.
pub(super) fn map(len: usize, huge: bool) -> NonNull<u8> {
    let layout = layout(len);
    let Some(mapped) = system::map(layout) else { handle_alloc_error(layout) };
    if huge {
        advise_huge(mapped, len);
    }
    // Invariant 6: headers are found from bare addresses.
    mapped.as_ptr().expose_provenance();
    mapped
}

/// Asks for huge pages. A hint: if the system has none, small pages serve.
pub(super) fn advise_huge(mapped: NonNull<u8>, len: usize) {
    system::advise_huge(mapped, len);
}

/// Asks for pages of the common size, whatever the system's habit.
pub(super) fn advise_small(mapped: NonNull<u8>, len: usize) {
    system::advise_small(mapped, len);
}

/// Takes `len` bytes of address space, a multiple of [`REGION`], without memory: nothing of it may be used before it is committed.
///
/// Aborts if there is none.
pub(super) fn reserve(len: usize) -> NonNull<u8> {
    let layout = layout(len);
    system::reserve(layout).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Gives memory to a part of a reservation, zeros at first.
///
/// Aborts if there is none.
///
/// # Safety
/// The part lies in what [`reserve`] returned, in whole pages of [`PAGE`].
pub(super) unsafe fn commit(part: NonNull<u8>, len: usize, huge: bool) {
    // SAFETY: passed on to the caller.
    if unsafe { system::commit(part, len) }.is_none() {
        handle_alloc_error(layout(len));
    }
    if huge {
        advise_huge(part, len);
    }
}

/// Takes the memory of a part of a reservation back; it can still be read and written, and then has memory again.
///
/// # Safety
/// The part was committed, and what is in it may be lost.
pub(super) unsafe fn decommit(part: NonNull<u8>, len: usize) {
    // SAFETY: passed on to the caller.
    unsafe { system::decommit(part, len) };
}

/// Gives a mapping back.
///
/// # Safety
/// It came from [`map`] or [`reserve`] with this `len`, is given back once, and nothing in it is used again.
pub(super) unsafe fn unmap(mapped: NonNull<u8>, len: usize) {
    // SAFETY: passed on to the caller.
    unsafe { system::unmap(mapped, layout(len)) };
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::alloc::Layout;
    use std::ptr::{NonNull, null_mut};

    use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};

    fn map_bytes(len: usize, access: ProtFlags) -> Option<NonNull<u8>> {
        // SAFETY: a private anonymous mapping at an address of the system's choice overlaps nothing.
        let address = unsafe { mmap_anonymous(null_mut(), len, access, MapFlags::PRIVATE) };
        NonNull::new(address.ok()?.cast())
    }

    pub(super) fn map(layout: Layout) -> Option<NonNull<u8>> {
        map_aligned(layout, ProtFlags::READ | ProtFlags::WRITE)
    }

    pub(super) fn reserve(layout: Layout) -> Option<NonNull<u8>> {
        // Without access it counts nowhere, not even where the system gives no more than it has.
        map_aligned(layout, ProtFlags::empty())
    }

    pub(super) unsafe fn commit(part: NonNull<u8>, len: usize) -> Option<()> {
        // SAFETY: a part of a mapping of ours, says the caller, which gains rights only.
        unsafe { mprotect(part.as_ptr().cast(), len, MprotectFlags::READ | MprotectFlags::WRITE) }.ok()
    }

    pub(super) unsafe fn decommit(part: NonNull<u8>, len: usize) {
        // SAFETY: a part of a mapping of ours, says the caller, whose contents may be lost. An error leaves it as it is.
        let _ = unsafe { madvise(part.as_ptr().cast(), len, Advice::LinuxDontNeed) };
    }

    fn map_aligned(layout: Layout, access: ProtFlags) -> Option<NonNull<u8>> {
        let (len, align) = (layout.size(), layout.align());
        // The system places mappings one below the other, so once one is aligned the next mostly is.
        let first = map_bytes(len, access)?;
        if first.addr().get().is_multiple_of(align) {
            return Some(first);
        }
        // SAFETY: mapped above, known to nobody else.
        unsafe { unmap(first, layout) };
        // One alignment more holds an aligned range; the rest goes back.
        let wide = map_bytes(len.checked_add(align)?, access)?;
        let lead = wide.addr().get().next_multiple_of(align) - wide.addr().get();
        // SAFETY: `lead < align`, so the range and both ends lie inside the mapping, which is ours alone;
        // all sizes are multiples of the page size because the layout's and the mapping's address are.
        unsafe {
            let aligned = wide.add(lead);
            if lead > 0 {
                let _ = munmap(wide.as_ptr().cast(), lead);
            }
            let _ = munmap(aligned.add(len).as_ptr().cast(), align - lead);
            Some(aligned)
        }
    }

    pub(super) fn advise_huge(mapped: NonNull<u8>, len: usize) {
        // SAFETY: the advice changes no contents, and the range is a mapping of ours. Errors (a kernel
        // without huge pages) leave small pages, which are correct.
        let _ = unsafe { madvise(mapped.as_ptr().cast(), len, Advice::LinuxHugepage) };
    }

    pub(super) fn advise_small(mapped: NonNull<u8>, len: usize) {
        // SAFETY: as in `advise_huge`.
        let _ = unsafe { madvise(mapped.as_ptr().cast(), len, Advice::LinuxNoHugepage) };
    }

    pub(super) unsafe fn unmap(mapped: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller gives up the whole mapping. It can fail only where the kernel cannot split a
        // mapping; the address space is then lost, and nothing else.
        let _ = unsafe { munmap(mapped.as_ptr().cast(), layout.size()) };
    }
}

#[cfg(any(miri, not(target_os = "linux")))]
mod system {
    use std::alloc::Layout;
    use std::ptr::NonNull;

    pub(super) fn map(layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the layout's size is not zero.
        NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })
    }

    /// Systems without these calls give memory as it is touched.
    pub(super) fn reserve(layout: Layout) -> Option<NonNull<u8>> {
        map(layout)
    }

    pub(super) unsafe fn commit(_part: NonNull<u8>, _len: usize) -> Option<()> {
        Some(())
    }

    pub(super) unsafe fn decommit(_part: NonNull<u8>, _len: usize) {}

    pub(super) fn advise_huge(_mapped: NonNull<u8>, _len: usize) {}

    pub(super) fn advise_small(_mapped: NonNull<u8>, _len: usize) {}

    pub(super) unsafe fn unmap(mapped: NonNull<u8>, layout: Layout) {
        // SAFETY: `map` made it with the same layout, and the caller gives it up.
        unsafe { std::alloc::dealloc(mapped.as_ptr(), layout) };
    }
}
