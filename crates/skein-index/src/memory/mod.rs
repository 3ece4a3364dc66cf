//! The memory allocator for the indexes and for the store's rows: slab arenas on huge pages, arrays
//! of atomic words, and prefetch.
//!
//! ```text
//!   Arena ──► shard (by thread) ──► bin (by size class, one latch) ──► spans with room
//!                                                                        │
//!   region, 2 MiB on one huge page:  [span 64 KiB][span][span] ... 32 in all
//!                                       │
//!   span:  [gap][header][object][object][object] ...      all objects of one class
//! ```
//!
//! A tree lookup is a chain of dependent reads, and a TLB miss adds one more to it. So nodes lie on
//! huge pages (Masstree, section 6.2: superpages gave 27 to 37 %). Masking an object's address
//! gives the header of its span. So an object can be freed with only its pointer and size, which is
//! all that a reclamation callback has.
//!
//! Read the files in this order: `size_class.rs`, `span.rs`, `bin.rs`, `heap.rs`, `pages.rs`,
//! `arena.rs`; then `large_objects.rs`, `atomic_words.rs`, `growing_words.rs`. `short_copy.rs`
//! copies a few bytes.
//!
//! # Invariants
//! Safety comments in this folder cite these by number.
//!
//! 1. **Claims.** A `Heap` lives as long as it has claims, counted as an `Arc`'s strong references:
//!    one per `Arena` handle, one per span that a bin holds, one per large object. So the owner of
//!    a live object may access its heap, and its bin, which the heap owns.
//! 2. **Spans.** A span belongs to the pool (its bit is set in its region's free mask), or it is the
//!    heap's idle span, or it belongs to exactly one bin. Its header's `bin` and `size` are written
//!    before the first object is handed out, and do not change until the last object is freed.
//! 3. **Latch.** The rest of a header (its `state`), the links of free objects, and a bin's list
//!    are read and written only under the bin's latch, or by the one thread that took the span from
//!    the pool and has not linked it yet, or has unlinked it and not returned it yet.
//! 4. **List.** A bin's list holds those of its spans that have room, but not those that are being
//!    vacated. (If they are not vacated after all, the next object that is freed there puts them
//!    back.) A span with no objects in use is in no list once the latch is free: the thread that
//!    freed its last object returns it to the pool.
//! 5. **Objects.** Every object lies wholly inside its span, behind the header, and is in one of
//!    three states: never handed out (at or beyond `fresh`), in the free list, or owned by a user.
//! 6. **Addresses.** Spans are aligned to their size, and their addresses are exposed when their
//!    region is mapped. So a header's pointer may be made from any address inside its span while
//!    the region is mapped. (Regions from the system are aligned to their own size too. Those from
//!    the global allocator are not, and have one span less.)
//!
//! Design: `docs/design/memory.md`.

mod address;
mod arena;
mod atomic_words;
mod bin;
mod growing_words;
mod heap;
mod large_objects;
mod pages;
mod short_copy;
mod size_class;
mod span;
#[cfg(test)]
mod tests;

pub(crate) use address::{address_of, at_address};
pub use arena::{Arena, MemoryPart, PARTS};
pub use atomic_words::AtomicWords;
pub use growing_words::GrowingWords;
pub use short_copy::copy_short;
pub use skein_sync::cache::{CACHE_LINE, CachePadded, prefetch_lines, prefetch_read};
