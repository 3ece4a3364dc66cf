//! Pages: takes address space from the system, and returns it, in whole regions of 2 MiB.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::span::SPAN;

/// The size of a region in bytes: one huge page of the common processors. Small under Miri, which
/// is slow.
pub(super) const REGION: usize = if cfg!(miri) { 64 << 10 } else { 2 << 20 };

/// A multiple of the page size of all supported systems.
pub(super) const PAGE: usize = 64 << 10;

/// The source of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageSource {
    /// The system; on huge pages once the arena has two regions.
    HugePages,
    /// The system, on small pages.
    SmallPages,
    /// The process's global allocator, which counts the memory that it hands out.
    Allocator,
}

/// The layout of a region from the global allocator. It is no larger than a region, because
/// allocators round up. The bytes before its first span are lost.
const REGION_BLOCK: Layout = match Layout::from_size_align(REGION, align_of::<usize>()) {
    Ok(layout) => layout,
    Err(_) => panic!("a region is a layout"),
};

/// Maps a region and returns the address of its first span, aligned to [`SPAN`]. A region from
/// [`PageSource::Allocator`] has one span less.
///
/// Aborts the process if there is no memory.
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
    // SAFETY: the block is aligned to words, so `lead` is a whole number of words: at least one, at
    // most a span. So the first span and the word before it lie in the block.
    let first = unsafe {
        let first = block.add(lead);
        first.cast::<usize>().sub(1).write(lead);
        first
    };
    // Invariant 6: headers are found from bare addresses.
    first.as_ptr().expose_provenance();
    first
}

/// Returns the distance from a block's start to its first span: at least 8 bytes. The word before
/// the span stores this number.
fn lead_of(block: NonNull<u8>) -> usize {
    let address = block.addr().get();
    (address + size_of::<usize>()).next_multiple_of(SPAN) - address
}

/// Returns a region to its source.
///
/// # Safety
/// The region must be from [`map_region`] of the same source. It must be returned once, and not
/// be used afterwards.
pub(super) unsafe fn unmap_region(source: PageSource, first: NonNull<u8>) {
    // SAFETY: the caller's contract. The word before the first span of an allocator's region is its
    // lead, written in `map_region`.
    unsafe {
        if source == PageSource::Allocator {
            let lead = first.cast::<usize>().sub(1).read();
            dealloc(first.as_ptr().sub(lead), REGION_BLOCK);
        } else {
            unmap(first, REGION);
        }
    }
}

/// Returns the layout of `len` bytes, a multiple of [`PAGE`]: whole regions are aligned to the size
/// of a region. Aborts the process if there is no such layout.
fn layout(len: usize) -> Layout {
    debug_assert!(len.is_multiple_of(PAGE));
    match Layout::from_size_align(len, if len.is_multiple_of(REGION) { REGION } else { PAGE }) {
        Ok(layout) => layout,
        // It exceeds the address space, so this is out of memory.
        Err(_) => handle_alloc_error(Layout::new::<u8>()),
    }
}

/// Maps `len` bytes, a multiple of [`PAGE`]. The bytes are zeros; with `huge` they lie on huge
/// pages as far as the system agrees.
///
/// Aborts the process if there is no memory, as every allocation in Rust does.
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

/// Asks the system for huge pages. This is a hint: without huge pages, small ones are used.
pub(super) fn advise_huge(mapped: NonNull<u8>, len: usize) {
    system::advise_huge(mapped, len);
}

/// Asks the system for small pages, whatever its default is.
pub(super) fn advise_small(mapped: NonNull<u8>, len: usize) {
    system::advise_small(mapped, len);
}

/// Reserves `len` bytes of address space, a multiple of [`REGION`], without memory. No part of it
/// may be used before it is committed.
///
/// Aborts the process if there is no address space.
pub(super) fn reserve(len: usize) -> NonNull<u8> {
    let layout = layout(len);
    system::reserve(layout).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Commits a part of a reservation: gives it memory, at first zeros.
///
/// Aborts the process if there is no memory.
///
/// # Safety
/// The part must lie in a reservation of [`reserve`], in whole pages of [`PAGE`].
pub(super) unsafe fn commit(part: NonNull<u8>, len: usize, huge: bool) {
    // SAFETY: the caller's contract.
    if unsafe { system::commit(part, len) }.is_none() {
        handle_alloc_error(layout(len));
    }
    if huge {
        advise_huge(part, len);
    }
}

/// Returns the memory of a part of a reservation to the system. The part can still be read and
/// written, and then gets memory again.
///
/// # Safety
/// The part must be committed, and its contents may be lost.
pub(super) unsafe fn decommit(part: NonNull<u8>, len: usize) {
    // SAFETY: the caller's contract.
    unsafe { system::decommit(part, len) };
}

/// Returns a mapping to the system.
///
/// # Safety
/// The mapping must be from [`map`] or [`reserve`] with this `len`. It must be returned once, and
/// not be used afterwards.
pub(super) unsafe fn unmap(mapped: NonNull<u8>, len: usize) {
    // SAFETY: the caller's contract.
    unsafe { system::unmap(mapped, layout(len)) };
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::alloc::Layout;
    use std::ptr::{NonNull, null_mut};

    use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};

    fn map_bytes(len: usize, access: ProtFlags) -> Option<NonNull<u8>> {
        // SAFETY: a private anonymous mapping at an address of the system's choice overlaps
        // nothing.
        let address = unsafe { mmap_anonymous(null_mut(), len, access, MapFlags::PRIVATE) };
        NonNull::new(address.ok()?.cast())
    }

    pub(super) fn map(layout: Layout) -> Option<NonNull<u8>> {
        map_aligned(layout, ProtFlags::READ | ProtFlags::WRITE)
    }

    pub(super) fn reserve(layout: Layout) -> Option<NonNull<u8>> {
        // A mapping without access counts against no memory limit, not even on systems that do not
        // overcommit.
        map_aligned(layout, ProtFlags::empty())
    }

    pub(super) unsafe fn commit(part: NonNull<u8>, len: usize) -> Option<()> {
        // SAFETY: the caller promises that it is a part of our mapping. It gains access rights
        // only.
        unsafe { mprotect(part.as_ptr().cast(), len, MprotectFlags::READ | MprotectFlags::WRITE) }.ok()
    }

    pub(super) unsafe fn decommit(part: NonNull<u8>, len: usize) {
        // SAFETY: the caller promises that it is a part of our mapping and that its contents may be
        // lost. After an error it is unchanged.
        let _ = unsafe { madvise(part.as_ptr().cast(), len, Advice::LinuxDontNeed) };
    }

    fn map_aligned(layout: Layout, access: ProtFlags) -> Option<NonNull<u8>> {
        let (len, align) = (layout.size(), layout.align());
        // The system places mappings one below the other, so once one is aligned the next usually
        // is too.
        let first = map_bytes(len, access)?;
        if first.addr().get().is_multiple_of(align) {
            return Some(first);
        }
        // SAFETY: mapped above, and never shared.
        unsafe { unmap(first, layout) };
        // A range that is longer by one alignment contains an aligned range; the rest is unmapped.
        let wide = map_bytes(len.checked_add(align)?, access)?;
        let lead = wide.addr().get().next_multiple_of(align) - wide.addr().get();
        // SAFETY: `lead < align`, so the range and both ends lie inside the mapping, which only
        // this thread knows. All sizes are multiples of the page size because the layout's size and
        // the mapping's address are.
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
        // SAFETY: the advice changes no contents, and the range is a mapping of ours. Errors (a
        // kernel without huge pages) leave small pages, which are correct.
        let _ = unsafe { madvise(mapped.as_ptr().cast(), len, Advice::LinuxHugepage) };
    }

    pub(super) fn advise_small(mapped: NonNull<u8>, len: usize) {
        // SAFETY: as in `advise_huge`.
        let _ = unsafe { madvise(mapped.as_ptr().cast(), len, Advice::LinuxNoHugepage) };
    }

    pub(super) unsafe fn unmap(mapped: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller gives up the whole mapping. The call can fail only if the kernel
        // cannot split a mapping; then only address space is lost.
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

    /// Systems without these calls provide memory when it is first touched.
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
        // SAFETY: `map` allocated it with the same layout, and the caller gives it up.
        unsafe { std::alloc::dealloc(mapped.as_ptr(), layout) };
    }
}
