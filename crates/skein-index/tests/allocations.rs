//! Counts the heap allocations of a typed map of MlpIndex: zero, except for new keys and for scans
//! that the caller collects.
#![cfg(not(any(skein_loom, miri)))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use skein_index::{Inline, MlpError, MlpMap};

thread_local! {
    /// The number of allocations of this thread.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator with a counter.
struct HeapCallCounter;

// SAFETY: every call is passed on unchanged to the system's allocator. Counting in a thread-local
// cell without a destructor allocates nothing.
unsafe impl GlobalAlloc for HeapCallCounter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: HeapCallCounter = HeapCallCounter;

/// Spreads a number over the key range, so that cursors move from one prefix of three bytes to the
/// next.
fn spread(number: i64) -> i64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed())
}

#[test]
fn operations_on_a_typed_map_allocate_nothing() -> Result<(), MlpError> {
    let map = MlpMap::<i64, Inline<u64>>::new();
    let guard = map.collector().enter();
    for number in 0..50_000 {
        map.insert(spread(number), Inline(1), &guard)?;
    }
    let before = ASKED.get();
    assert!(before > 0, "the allocator does not count");
    let mut seen = 0;
    for number in 0..1_000 {
        let key = spread(number);
        seen += usize::from(map.get(key, &guard).is_some());
        map.get_many(&[key, !key], &guard, |_, found| seen += usize::from(found.is_some()));
        seen += usize::from(map.insert(key, Inline(2), &guard)?.is_some());
        seen += usize::from(map.insert_if_absent(key, Inline(2), &guard)?.is_some());
        seen += usize::from(map.increment(key, 1, &guard)? == 3);
        seen += usize::from(map.lower_bound(key, &guard)?.is_some_and(|found| found.0 == key));
        seen += usize::from(map.upper_bound(key, &guard)?.is_none_or(|found| found.0 > key));
        seen += usize::from(map.predecessor(key, &guard)?.is_none_or(|found| found.0 < key));
    }
    assert!(map.first(&guard) < map.last(&guard));
    seen += map.range(.., &guard)?.count() + map.range(0.., &guard)?.rev().take(1_000).count();
    assert_eq!(ASKED.get() - before, 0);
    assert_eq!(seen, 8 * 1_000 + 50_000 + 1_000);
    Ok(())
}
