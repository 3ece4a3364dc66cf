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
use super::span::{ArenaSpan, SPAN, SpanList, base_of, share};

/// Regions are vacated only if they are one part in so many of the memory.
const WORTH_VACATING: usize = 16;

/// How often regions are vacated while the live bytes are about the same.
const VACATED_MAX: usize = 12;

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
    /// The address from which on spans are being vacated: they get no further objects.
    vacated_from: AtomicUsize,
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
    /// The live bytes when regions were vacated, and how often at about so many.
    vacated: (usize, usize),
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
            vacated_from: AtomicUsize::new(usize::MAX),
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

    /// Returns whether the span at an address is being vacated.
    #[inline(always)]
    pub(super) fn is_vacated(&self, address: usize) -> bool {
        // Relaxed: a hint. A span that gets a further object stays a little longer.
        address >= self.vacated_from.load(Ordering::Relaxed)
    }

    /// Returns the list of a span that has room. REQUIRES: the latch of its bin is held.
    #[inline(always)]
    pub(super) fn list_of(&self, span: *mut ArenaSpan) -> SpanList {
        if self.is_vacated(span.addr()) { SpanList::Closed } else { SpanList::Open }
    }

    /// Ends the vacating. Spans that still have objects get further ones. Regions that are nearly empty
    /// keep no memory for their free spans.
    pub(super) fn stop_vacating(&self) {
        let from = self.vacated_from.swap(usize::MAX, Ordering::Relaxed);
        if from == usize::MAX {
            return;
        }
        self.sort_lists();
        // The global allocator knows nothing of pages.
        if self.source != PageSource::Allocator {
            lock(&self.pool).decommit_sparse(from);
        }
    }

    /// Puts all spans with room into the lists where they belong now.
    fn sort_lists(&self) {
        for shard in &self.shards {
            // Acquire: pairs with the Release in `new_shard`.
            let bins = shard.load(Ordering::Acquire).cast::<Bin>();
            for class in 0..if bins.is_null() { 0 } else { CLASSES } {
                // SAFETY: shards live as long as the heap.
                unsafe { Bin::sort_lists(bins.add(class)) };
            }
        }
    }

    /// Begins to vacate the highest regions, as many as the free objects of the others can replace.
    /// From now on their spans get no further objects. Whoever can move objects moves those that are
    /// there. Returns the bytes that are being vacated.
    pub(super) fn vacate(&self) -> usize {
        // Large objects lie outside of the regions.
        let large = self.large_live.iter().map(|live| live.load(Ordering::Relaxed)).sum();
        let live = self.live(share).iter().sum::<usize>().saturating_sub(large);
        let size = spans(self.source) * SPAN;
        let used: Vec<usize> = {
            let mut pool = lock(&self.pool);
            if !pool.may_vacate(live) {
                return 0;
            }
            let used = pool.regions.iter().filter(|(_, free)| **free != all_free(self.source));
            used.map(|(region, _)| *region).collect()
        };
        // Sizes of objects differ, so not all room is room for those that move.
        let room = (used.len() * size).saturating_sub(live) / 8 * 7;
        let count = if room / size * WORTH_VACATING >= used.len() { room / size } else { 0 };
        let kept = used.len() - count.min(used.len());
        let from = used.get(kept).copied().unwrap_or(usize::MAX);
        let before = self.vacated_from.swap(from, Ordering::Relaxed);
        if before == from {
            return 0;
        }
        self.sort_lists();
        // The idle span would keep its region.
        self.put_back(self.idle.swap(0, Ordering::AcqRel));
        (used.len() - kept) * size
    }

    /// Returns an unused span to the pool, if it is one and not 0.
    fn put_back(&self, span: usize) {
        if span != 0
            && let Some(region) = lock(&self.pool).put(span)
        {
            self.reserved.fetch_sub(REGION, Ordering::Relaxed);
            // SAFETY: all its spans are free, and the pool does not hold it any more (invariant 2).
            unsafe { pages::unmap_region(self.source, pointer(region)) };
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
            if this.is_vacated(span) {
                this.put_back(span);
            } else {
                let before = this.idle.swap(span, Ordering::AcqRel);
                assert!(before != span, "a span was given back twice");
                this.put_back(before);
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
        Self { regions: BTreeMap::new(), open: BTreeSet::new(), spare: None, vacated: (0, 0), source }
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

    /// Returns whether to vacate regions, and counts it. Objects that find no room elsewhere come back to
    /// the regions that they left. So it is tried a few times, until the live bytes have changed.
    fn may_vacate(&mut self, live: usize) -> bool {
        let (before, times) = self.vacated;
        let is_new = live.abs_diff(before) > before / WORTH_VACATING;
        self.vacated = if is_new { (live, 1) } else { (before, times + 1) };
        self.vacated.1 <= VACATED_MAX
    }

    /// Returns the memory of free spans to the system, in regions from an address on that are nearly
    /// empty.
    fn decommit_sparse(&self, from: usize) {
        for (&region, free) in self.regions.range(from..) {
            let count = free.count_ones() as usize;
            if 4 * count < 3 * SPANS || *free == all_free(self.source) {
                continue;
            }
            // Else the system would fill the gaps to make a huge page again.
            pages::advise_small(pointer(region), REGION);
            for index in (0..SPANS).filter(|index| free >> index & 1 != 0) {
                // SAFETY: the span is free, and the pool is locked, so nobody takes it meanwhile.
                unsafe { pages::decommit(pointer(region + index * SPAN), SPAN) };
            }
        }
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
