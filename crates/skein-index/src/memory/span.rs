//! Spans: 64 KiB of objects of one size. The header can be found from the address of any object.
//!
//! ```text
//!   span base           header (one line)          objects ...
//!   │◄── colour × 64 ──►│ bin size free fresh ... │ o0 │ o1 │ o2 │ ...
//! ```
//!
//! The header's position varies with the span's address (cache colouring). If it were always at the
//! span's start, the headers of a large arena would share a few cache sets and evict each other.

use std::ptr::{NonNull, null_mut};

use super::bin::Bin;

/// The size of a span in bytes.
pub(super) const SPAN: usize = if cfg!(miri) { 16 << 10 } else { 64 << 10 };

/// The number of positions that a header can have.
const COLOURS: usize = 16;

/// The header of a span. While any object is live, every thread may read `bin` and `size`, so a
/// `&mut` to the whole header must never be made. The bin's latch guards the rest.
#[repr(C, align(64))]
pub(super) struct ArenaSpan {
    /// The bin that holds the span (invariant 2).
    pub(super) bin: *const Bin,
    /// Bytes per object (invariant 2).
    pub(super) size: u32,
    /// The fields that change (invariant 3).
    pub(super) state: SpanState,
}

/// The lists of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanList {
    /// Spans that get further objects.
    Open,
    /// Spans that are being vacated.
    Closed,
}

/// The part of a header that the bin's latch guards.
pub(super) struct SpanState {
    /// The number of objects that users own.
    pub(super) used: u32,
    /// The offset of the first object in the free list, from the span's base; 0 if the list is
    /// empty. A free object begins with the offset of the next.
    free: u32,
    /// The offset of the first object that was never handed out.
    fresh: u32,
    /// The list of its bin that the span is in.
    pub(super) list: Option<SpanList>,
    /// The neighbours in this list.
    pub(super) prev: *mut ArenaSpan,
    /// See `prev`.
    pub(super) next: *mut ArenaSpan,
}

const _: () = assert!(size_of::<ArenaSpan>() == 64);

/// Returns the base address of the span around `address`.
#[inline(always)]
pub(super) fn base_of(address: usize) -> usize {
    address & !(SPAN - 1)
}

/// Returns the address of the header of the span around `address`.
#[inline(always)]
fn header_address(address: usize) -> usize {
    let base = base_of(address);
    let number = base / SPAN;
    base + ((number ^ (number / 32)) % COLOURS) * size_of::<ArenaSpan>()
}

/// Returns a pointer to the header of the span that holds the object at `object`.
///
/// Making the pointer is always safe; reading through it requires a live span (invariant 6).
#[inline(always)]
pub(super) fn span_of(object: NonNull<u8>) -> *mut ArenaSpan {
    std::ptr::with_exposed_provenance_mut(header_address(object.addr().get()))
}

/// Returns the share of a span that an object of `size` bytes takes, including about its part of
/// the bytes at the end that are too few for one more object.
pub(super) fn share(size: usize) -> usize {
    SPAN / ((SPAN - COLOURS / 2 * size_of::<ArenaSpan>()) / size)
}

impl ArenaSpan {
    /// Makes the memory at `base` a span of objects of `size` bytes for `bin`.
    ///
    /// # Safety
    /// `base` must be a span of a mapped region that belongs to the calling thread alone.
    pub(super) unsafe fn init(base: NonNull<u8>, bin: *const Bin, size: u32) -> *mut ArenaSpan {
        let span = span_of(base);
        let first = header_address(base.addr().get()) - base.addr().get() + size_of::<ArenaSpan>();
        // SAFETY: the header lies inside the span, is aligned to 64 as the span is, and belongs to
        // the caller.
        unsafe {
            let (prev, next) = (null_mut(), null_mut());
            span.write(ArenaSpan {
                bin,
                size,
                state: SpanState { used: 0, free: 0, fresh: first as u32, list: None, prev, next },
            });
        }
        span
    }

    /// Returns true if no object is left to hand out. REQUIRES: the bin's latch.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.state.free == 0 && self.state.fresh as usize + self.size as usize > SPAN
    }

    /// Hands an object out.
    ///
    /// # Safety
    /// The caller must hold the bin's latch, and the span must not be full.
    #[inline(always)]
    pub(super) unsafe fn take(span: *mut ArenaSpan) -> NonNull<u8> {
        // SAFETY: the latch guards the state (invariant 3), and the caller holds it.
        let (this, size) = unsafe { (&mut (*span).state, (*span).size) };
        let base = base_of(span.addr());
        let offset = if this.free == 0 {
            let offset = this.fresh;
            this.fresh += size;
            offset
        } else {
            let offset = this.free;
            let link = std::ptr::with_exposed_provenance::<u32>(base + offset as usize);
            // SAFETY: a free object begins with its link (invariant 5), and its pages are exposed
            // (invariant 6).
            this.free = unsafe { link.read() };
            offset
        };
        this.used += 1;
        let object = std::ptr::with_exposed_provenance_mut(base + offset as usize);
        // SAFETY: an address inside a mapped region is not null.
        unsafe { NonNull::new_unchecked(object) }
    }

    /// Takes an object back.
    ///
    /// # Safety
    /// The caller must hold the bin's latch. The object must be one of this span's, and its
    /// contents are lost.
    #[inline(always)]
    pub(super) unsafe fn give(span: *mut ArenaSpan, object: NonNull<u8>) {
        // SAFETY: the latch guards the state (invariant 3), and the caller holds it.
        let this = unsafe { &mut (*span).state };
        let address = object.addr().get();
        let link = std::ptr::with_exposed_provenance_mut::<u32>(address);
        // SAFETY: objects are at least 8 bytes long and aligned to 8 (invariant 5), and this one is
        // free now.
        unsafe { link.write(this.free) };
        this.free = (address - base_of(address)) as u32;
        this.used -= 1;
    }
}
