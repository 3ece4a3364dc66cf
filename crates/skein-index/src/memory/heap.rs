//! The heap behind an arena's handles: shards of bins, and the pool of regions and spans.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use skein_sync::locks::lock;

use super::arena::{MemoryPart, PARTS};
use super::bin::Bin;
use super::large_objects::LargeList;
use super::pages::{self, PageSource, REGION};
use super::size_class::{CLASSES, size_of_class};
use super::span::{SPAN, base_of};

/// The number of spans in a region.
const SPANS: usize = REGION / SPAN;

/// The state that an arena's handles share. It lives as long as it has claims (invariant 1).
pub(super) struct Heap {
    shards: Box<[AtomicPtr<[Bin; CLASSES]>]>,
    pool: Mutex<RegionPool>,
    /// The source of regions and arrays.
    pub(super) source: PageSource,
    /// Bytes of mapped regions, of large objects and of arrays.
    pub(super) reserved: AtomicUsize,
    /// Bytes of spans that bins hold, of large objects and of arrays.
    pub(super) taken: AtomicUsize,
    /// Bytes of large objects and of arrays, by part.
    large_live: [AtomicUsize; PARTS],
    pub(super) large: Mutex<LargeList>,
    /// The span that was returned last, or 0. It is handed out first, so a bin that becomes empty and
    /// is needed again at once waits for no lock. Its bit is not set in the region's mask.
    idle: AtomicUsize,
}

/// The regions, and which of their spans are free.
struct RegionPool {
    /// Every region's mask of free spans, by the address of its first span.
    regions: BTreeMap<usize, u32>,
    /// Regions with both free and used spans. The lowest is used first, so that high regions become
    /// empty.
    open: BTreeSet<usize>,
    /// A region with only free spans. It is kept so that taking and returning one span repeatedly
    /// makes no system calls.
    spare: Option<usize>,
    source: PageSource,
}

// SAFETY: the raw pointers in bins and headers lead to memory that the heap owns and guards as
// invariants 2 and 3 say. Everything else is `Send` and `Sync` itself.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

/// Converts the address of a region or span to a pointer (invariant 6).
fn pointer(address: usize) -> NonNull<u8> {
    let pointer = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: regions come from `pages::map`, never null.
    unsafe { NonNull::new_unchecked(pointer) }
}

/// Returns a number for the calling thread: 0 for the first thread, and so on.
#[inline(always)]
fn thread_number() -> usize {
    use std::cell::Cell;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! { static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) } }
    NUMBER.with(|number| {
        if number.get() == usize::MAX {
            // Relaxed: the numbers must differ, and nothing else depends on them.
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

impl Heap {
    /// Returns an empty heap on memory from this source.
    pub(super) fn new(source: PageSource) -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(8, usize::from);
        // Twice the cores, because threads take shards in turn and not all of them allocate.
        let shards = (2 * cores).next_power_of_two().min(256);
        Arc::new(Self {
            shards: (0..shards).map(|_| AtomicPtr::new(null_mut())).collect(),
            pool: Mutex::new(RegionPool::new(source)),
            source,
            reserved: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            large_live: Default::default(),
            large: Mutex::default(),
            idle: AtomicUsize::new(0),
        })
    }

    /// Returns the calling thread's bin for `class`.
    ///
    /// # Safety
    /// `heap` must be from `Arc::as_ptr` (bins count claims through it), and the caller must have
    /// a claim.
    #[inline(always)]
    pub(super) unsafe fn bin(heap: *const Heap, class: usize) -> *const Bin {
        // SAFETY: alive by the caller's claim.
        let shards = unsafe { &(*heap).shards };
        let shard = &shards[thread_number() & (shards.len() - 1)];
        // Acquire: pairs with the Release in `new_shard`.
        let mut bins = shard.load(Ordering::Acquire);
        if bins.is_null() {
            bins = Self::new_shard(heap, shard);
        }
        // SAFETY: shards live as long as the heap, and `class < CLASSES`.
        unsafe { bins.cast::<Bin>().add(class) }
    }

    #[cold]
    fn new_shard(heap: *const Heap, shard: &AtomicPtr<[Bin; CLASSES]>) -> *mut [Bin; CLASSES] {
        let bins = std::array::from_fn(|class| Bin::new(heap, size_of_class(class)));
        let made = Box::into_raw(Box::new(bins));
        // Release: pairs with the Acquire in `bin`. Acquire: this thread may use the shard of the
        // thread that won.
        match shard.compare_exchange(null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => made,
            Err(other) => {
                // SAFETY: made above, and never published.
                drop(unsafe { Box::from_raw(made) });
                other
            }
        }
    }

    /// Returns the live bytes of each part. `weight` returns how many bytes count for an object of
    /// a size.
    pub(super) fn live(&self, weight: fn(usize) -> usize) -> [usize; PARTS] {
        let mut sums = std::array::from_fn(|part| self.large_live[part].load(Ordering::Relaxed));
        for shard in &self.shards {
            // Acquire: pairs with the Release in `new_shard`.
            let bins = shard.load(Ordering::Acquire);
            // SAFETY: shards live as long as the heap.
            for bin in unsafe { bins.as_ref() }.into_iter().flatten() {
                bin.add_live(&mut sums, weight);
            }
        }
        sums
    }

    /// Counts bytes that lie outside the regions.
    pub(super) fn count(&self, bytes: usize, part: MemoryPart) {
        for counter in [&self.reserved, &self.taken, &self.large_live[part as usize]] {
            counter.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Stops counting bytes that lie outside the regions.
    pub(super) fn uncount(&self, bytes: usize, part: MemoryPart) {
        for counter in [&self.reserved, &self.taken, &self.large_live[part as usize]] {
            counter.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Counts bytes that lie outside the regions as another part.
    pub(super) fn recount(&self, bytes: usize, from: MemoryPart, to: MemoryPart) {
        self.large_live[from as usize].fetch_sub(bytes, Ordering::Relaxed);
        self.large_live[to as usize].fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns a span for a bin, with a claim on the heap.
    ///
    /// # Safety
    /// `heap` must be from `Heap::new`, and the caller must have a claim on it.
    pub(super) unsafe fn give_span(heap: *const Heap) -> NonNull<u8> {
        // SAFETY: alive by the caller's claim; the span takes its own (invariant 1).
        let this = unsafe {
            Arc::increment_strong_count(heap);
            &*heap
        };
        this.taken.fetch_add(SPAN, Ordering::Relaxed);
        // Acquire: pairs with the swap in `take_span_back`, after the last use of the span.
        match this.idle.swap(0, Ordering::Acquire) {
            0 => lock(&this.pool).take(&this.reserved),
            span => pointer(span),
        }
    }

    /// Takes back an empty span, given by any address inside it, and gives up its claim.
    ///
    /// # Safety
    /// The span must be from `give_span` of this heap. No object of it may be live, and no bin
    /// may list it.
    #[cold]
    pub(super) unsafe fn take_span_back(heap: *const Heap, span: *mut u8) {
        {
            // SAFETY: alive by the span's claim.
            let this = unsafe { &*heap };
            this.taken.fetch_sub(SPAN, Ordering::Relaxed);
            let span = base_of(span.addr());
            // Release: pairs with the swap in `give_span`. Acquire: with this one of the span before.
            let before = this.idle.swap(span, Ordering::AcqRel);
            assert!(before != span, "a span was given back twice");
            if before != 0
                && let Some(region) = lock(&this.pool).put(before)
            {
                this.reserved.fetch_sub(REGION, Ordering::Relaxed);
                // SAFETY: all its spans are free, and the pool does not hold it any more (invariant
                // 2).
                unsafe { pages::unmap_region(this.source, pointer(region)) };
            }
        }
        // SAFETY: the span's own claim; the heap is not used after this.
        unsafe { Arc::decrement_strong_count(heap) };
    }

    /// Frees every span and every large object, in use or not, with their claims.
    ///
    /// # Safety
    /// The caller must have a claim of its own. From now on no object may be used or freed, no
    /// other thread may be inside the heap, and no bin may be used.
    pub(super) unsafe fn discard(heap: *const Heap) {
        // SAFETY: alive by the caller's claim.
        let this = unsafe { &*heap };
        let pool = std::mem::replace(&mut *lock(&this.pool), RegionPool::new(this.source));
        let mut claims = 0;
        for (region, free) in pool.regions {
            claims += spans(this.source) - free.count_ones() as usize;
            // SAFETY: the caller promises that no object is used again.
            unsafe { pages::unmap_region(this.source, pointer(region)) };
        }
        // Acquire: as in `give_span`.
        claims -= usize::from(this.idle.swap(0, Ordering::Acquire) != 0);
        // SAFETY: likewise.
        claims += unsafe { lock(&this.large).free_all() };
        for _ in 0..claims {
            // SAFETY: one claim per span and per large object (invariant 1), and all of them are
            // freed.
            unsafe { Arc::decrement_strong_count(heap) };
        }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // No claims are left, so no span is in use. The remaining regions are unused: at most the
        // spare one, and that of the idle span.
        let pool = self.pool.get_mut().unwrap_or_else(PoisonError::into_inner);
        for &region in pool.regions.keys() {
            // SAFETY: unused, and no other thread knows it.
            unsafe { pages::unmap_region(self.source, pointer(region)) };
        }
        for shard in &mut self.shards {
            let bins = *shard.get_mut();
            if !bins.is_null() {
                // SAFETY: from `Box::into_raw` in `new_shard`, published once.
                drop(unsafe { Box::from_raw(bins) });
            }
        }
    }
}

/// Returns the number of spans in a region from this source. A region from the global allocator may
/// begin at any address, so its first span begins later and it has one span less.
fn spans(source: PageSource) -> usize {
    if source == PageSource::Allocator { SPANS - 1 } else { SPANS }
}

/// Returns the free mask of a region with no span in use.
fn all_free(source: PageSource) -> u32 {
    u32::MAX >> (32 - spans(source))
}

impl RegionPool {
    fn new(source: PageSource) -> Self {
        Self { regions: BTreeMap::new(), open: BTreeSet::new(), spare: None, source }
    }

    /// Returns a free span. Maps a region if no span is free.
    fn take(&mut self, reserved: &AtomicUsize) -> NonNull<u8> {
        let region = match (self.open.first(), self.spare.take()) {
            (Some(&region), spare) => {
                self.spare = spare;
                region
            }
            (None, Some(spare)) => spare,
            (None, None) => self.grow(reserved),
        };
        let free = self.regions.get_mut(&region).expect("a region of the pool");
        let index = free.trailing_zeros();
        *free &= !(1 << index);
        if *free == 0 {
            self.open.remove(&region);
        } else {
            self.open.insert(region);
        }
        pointer(region + index as usize * SPAN)
    }

    fn grow(&mut self, reserved: &AtomicUsize) -> usize {
        let region = pages::map_region(self.source).addr().get();
        // The first region stays on small pages, so that a small arena takes little memory. With a
        // second region the arena is no longer small, and the kernel may move the first onto a huge
        // page too.
        if self.source == PageSource::HugePages && !self.regions.is_empty() {
            let first = if self.regions.len() == 1 { self.regions.keys().next() } else { None };
            for &region in first.into_iter().chain([&region]) {
                pages::advise_huge(pointer(region), REGION);
            }
        }
        self.regions.insert(region, all_free(self.source));
        reserved.fetch_add(REGION, Ordering::Relaxed);
        region
    }

    /// Takes a span back. Returns a region that the caller must unmap, if there is one; the pool no
    /// longer holds it.
    fn put(&mut self, span: usize) -> Option<usize> {
        let (&region, free) =
            self.regions.range_mut(..=span).next_back().expect("a span comes from a region of the pool");
        let bit = 1 << ((span - region) / SPAN);
        assert!(*free & bit == 0, "a span was given back twice");
        *free |= bit;
        if *free != all_free(self.source) {
            self.open.insert(region);
            return None;
        }
        self.open.remove(&region);
        // Of two empty regions, the lower one is kept.
        let surplus = match self.spare {
            None => {
                self.spare = Some(region);
                return None;
            }
            Some(spare) => spare.max(region),
        };
        self.spare = Some(self.spare.map_or(region, |spare| spare.min(region)));
        self.regions.remove(&surplus);
        Some(surplus)
    }
}
