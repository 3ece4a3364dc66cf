//! Tests of the arena: objects do not overlap, alignment, exact accounting, reuse of memory, many
//! threads. `vacating` has those of vacated regions.

mod vacating;

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::mpsc;

use proptest::prelude::*;

use super::pages::REGION;
use super::{Arena, MemoryPart};

const PARTS: [MemoryPart; 4] = [MemoryPart::Nodes, MemoryPart::Keys, MemoryPart::Rows, MemoryPart::Retired];

/// An object under test: filled with one byte, which must still be there when it is freed.
struct FilledObject {
    pointer: NonNull<u8>,
    size: usize,
    part: MemoryPart,
    fill: u8,
}

// SAFETY: the memory of an object belongs to its owner only.
unsafe impl Send for FilledObject {}

impl FilledObject {
    fn new(arena: &Arena, size: usize, part: MemoryPart, fill: u8) -> Self {
        Self::filled(arena.alloc(size, part), size, part, fill)
    }

    /// Makes an object where the thread that made `other` would.
    fn beside(arena: &Arena, other: &Self, size: usize, part: MemoryPart, fill: u8) -> Self {
        // SAFETY: the other object is live, and from this arena.
        let pointer = unsafe { arena.alloc_beside(other.pointer, other.size, size, part) };
        Self::filled(pointer, size, part, fill)
    }

    fn filled(pointer: NonNull<u8>, size: usize, part: MemoryPart, fill: u8) -> Self {
        // SAFETY: the arena returned `size` bytes.
        unsafe { pointer.write_bytes(fill, size) };
        Self { pointer, size, part, fill }
    }

    fn is_vacated(&self, arena: &Arena) -> bool {
        arena.is_vacated(self.pointer, self.size)
    }

    /// Makes a copy beside the object, and frees the object.
    fn moved(self, arena: &Arena) -> Self {
        let copy = Self::beside(arena, &self, self.size, self.part, self.fill);
        self.free();
        copy
    }

    fn free(self) {
        // SAFETY: allocated and filled in `new`; freed once, because `self` is consumed.
        unsafe {
            let bytes = std::slice::from_raw_parts(self.pointer.as_ptr(), self.size);
            // Compared as a whole: byte by byte takes minutes under Miri.
            assert!(bytes == vec![self.fill; self.size], "an object of {} was overwritten", self.size);
            Arena::free(self.pointer, self.size, self.part);
        }
    }
}

fn assert_empty(arena: &Arena) {
    for part in PARTS {
        assert_eq!(arena.live(part), 0, "{part:?}");
    }
    assert_eq!(arena.taken(), 0);
    assert!(arena.reserved() <= 2 * REGION, "{} bytes kept", arena.reserved());
}

#[test]
fn alignment_follows_the_size() {
    let arena = Arena::new();
    let mut objects = Vec::new();
    for size in (1..=9000).step_by(if cfg!(miri) { 61 } else { 1 }) {
        let object = FilledObject::new(&arena, size, MemoryPart::Rows, size as u8);
        let address = object.pointer.addr().get();
        let wanted = (1 << size.next_multiple_of(8).trailing_zeros()).min(64);
        assert_eq!(address % wanted, 0, "size {size}");
        objects.push(object);
    }
    objects.into_iter().for_each(FilledObject::free);
    assert_empty(&arena);
}

#[test]
fn freed_memory_is_reused_and_returned() {
    let arena = Arena::new();
    // The number of objects in a span depends on its colour. So many objects need the same number
    // of regions with all colours.
    let count = if cfg!(miri) { 500 } else { 40_000 };
    let mut reserved = 0;
    for round in 0..3u8 {
        let objects: Vec<_> =
            (0..count).map(|_| FilledObject::new(&arena, 320, MemoryPart::Nodes, round)).collect();
        assert_eq!(arena.live(MemoryPart::Nodes), count * 320);
        assert!(arena.reserved() >= arena.live(MemoryPart::Nodes));
        assert!(arena.reserved() < arena.live(MemoryPart::Nodes) * 11 / 10 + 2 * REGION, "{arena:?}");
        assert!(round == 0 || arena.reserved() == reserved, "the arena grew in round {round}");
        reserved = arena.reserved();
        objects.into_iter().for_each(FilledObject::free);
        assert_empty(&arena);
    }
}

#[test]
fn one_free_slot_per_span_is_found() {
    let arena = Arena::new();
    let count = if cfg!(miri) { 500 } else { 20_000 };
    let mut objects: Vec<_> =
        (0..count).map(|_| FilledObject::new(&arena, 128, MemoryPart::Nodes, 1)).collect();
    let taken = arena.taken();
    for step in 0..count / 100 {
        objects.swap_remove(step * 7 % objects.len()).free();
    }
    while objects.len() < count {
        objects.push(FilledObject::new(&arena, 128, MemoryPart::Nodes, 2));
    }
    assert_eq!(arena.taken(), taken, "freed slots were not used again");
    objects.into_iter().for_each(FilledObject::free);
    assert_empty(&arena);
}

#[test]
fn parts_are_counted_apart_and_can_change() {
    let arena = Arena::new();
    let node = FilledObject::new(&arena, 250, MemoryPart::Nodes, 1);
    let mut large = FilledObject::new(&arena, 100_000, MemoryPart::Keys, 2);
    assert_eq!(arena.live(MemoryPart::Nodes), 256);
    assert_eq!(arena.live(MemoryPart::Keys), Arena::rounded(100_000));
    assert!((100_000..100_200).contains(&arena.live(MemoryPart::Keys)));
    // SAFETY: both are live and counted as said.
    unsafe {
        Arena::recount(node.pointer, 250, MemoryPart::Nodes, MemoryPart::Rows);
        Arena::recount(large.pointer, 100_000, MemoryPart::Keys, MemoryPart::Retired);
    }
    large.part = MemoryPart::Retired;
    assert_eq!((arena.live(MemoryPart::Nodes), arena.live(MemoryPart::Rows)), (0, 256));
    assert_eq!(arena.live(MemoryPart::Keys), 0);
    FilledObject { part: MemoryPart::Rows, ..node }.free();
    large.free();
    assert_empty(&arena);
}

#[test]
fn objects_outlive_the_arena() {
    let arena = Arena::new();
    let objects: Vec<_> = [8, 64, 1000, 8192, 20_000]
        .into_iter()
        .map(|size| FilledObject::new(&arena, size, MemoryPart::Rows, 9))
        .collect();
    drop(arena);
    objects.into_iter().for_each(FilledObject::free);
}

#[test]
fn discard_frees_every_object() {
    let arena = Arena::new();
    let other = arena.clone();
    for size in 1..300 {
        let _ = FilledObject::new(&arena, size * 40, MemoryPart::Rows, 9);
    }
    // SAFETY: no object is used again, and the other handle only drops.
    unsafe { arena.discard() };
    drop(other);
}

#[test]
fn freeing_with_a_wrong_size_panics() {
    let arena = Arena::new();
    for (size, wrong) in [(128, 64), (20_000, 20_001)] {
        let object = FilledObject::new(&arena, size, MemoryPart::Rows, 3);
        let pointer = object.pointer;
        // SAFETY: the object is live. The wrong size is the subject of the test, and panics before
        // any change.
        let freed =
            std::panic::catch_unwind(move || unsafe { Arena::free(pointer, wrong, MemoryPart::Rows) });
        let message = *freed.expect_err("must panic").downcast::<String>().expect("a formatted message");
        assert_eq!(message, format!("freed as {wrong} bytes, allocated as {size}"));
        object.free();
    }
    assert_empty(&arena);
}

/// Each thread allocates, keeps some objects, frees some, and sends the rest to its neighbour,
/// which frees them.
#[test]
fn threads_free_what_others_allocated() {
    let (threads, rounds) = if cfg!(miri) { (3, 60) } else { (4, 30_000) };
    let arena = Arena::new();
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..threads).map(|_| mpsc::channel::<FilledObject>()).unzip();
    let inboxes: Vec<_> = std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for (number, inbox) in receivers.into_iter().enumerate() {
            let outbox = senders[(number + 1) % threads].clone();
            let arena = &arena;
            workers.push(scope.spawn(move || {
                let mut kept = Vec::new();
                let mut random = 0x9E37_79B9_7F4A_7C15u64.wrapping_mul(number as u64 + 1);
                for _ in 0..rounds {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let size =
                        if random.is_multiple_of(199) { 10_000 } else { (random >> 32) % 400 } as usize;
                    let object = FilledObject::new(arena, size, PARTS[random as usize % 4], random as u8);
                    match (random >> 8) % 3 {
                        0 => kept.push(object),
                        1 => outbox.send(object).expect("the neighbour still receives"),
                        _ => object.free(),
                    }
                    if kept.len() > 500 {
                        kept.swap_remove((random >> 16) as usize % 500).free();
                    }
                    inbox.try_iter().take(2).for_each(FilledObject::free);
                }
                kept.into_iter().for_each(FilledObject::free);
                inbox
            }));
        }
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).collect()
    });
    inboxes.iter().flat_map(mpsc::Receiver::try_iter).for_each(FilledObject::free);
    assert_empty(&arena);
}

/// Two threads free the last objects of an arena after its handle is dropped.
#[test]
fn the_last_free_frees_the_heap_once() {
    for _ in 0..if cfg!(miri) { 20 } else { 500 } {
        let arena = Arena::new();
        let mut halves = [Vec::new(), Vec::new()];
        for index in 0..64 {
            halves[index % 2].push(FilledObject::new(&arena, 40, MemoryPart::Keys, index as u8));
        }
        std::thread::scope(|scope| {
            for half in halves {
                scope.spawn(move || half.into_iter().for_each(FilledObject::free));
            }
            drop(arena);
        });
    }
}

/// The maximum number of steps of a case of the test below, and the number of cases. Each step
/// reads all counters of all bins.
const STEPS: usize = if cfg!(miri) { 60 } else { 200 };
const CASES: u32 = if cfg!(miri) { 2 } else { 200 };

proptest! {
    #![proptest_config(ProptestConfig {
        cases: CASES, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Compares an arena with a model: ranges never overlap, contents stay, and the accounting is
    /// exact at each step.
    #[test]
    fn behaves_like_its_model(steps in proptest::collection::vec((0usize..12_000, 0usize..4, any::<u16>(), any::<bool>()), 1..STEPS)) {
        let arena = Arena::new();
        let mut live: BTreeMap<usize, FilledObject> = BTreeMap::new();
        let mut bytes = [0usize; 4];
        for (size, part, pick, frees) in steps {
            // Most sizes are small, so that spans fill.
            let size = if pick % 8 == 0 { size } else { size / 40 };
            if pick % 32 == 1 {
                arena.vacate();
            }
            if frees && !live.is_empty() {
                let key = *live.keys().nth(pick as usize % live.len()).expect("not empty");
                let object = live.remove(&key).expect("present");
                bytes[object.part as usize] -= Arena::rounded(object.size);
                object.free();
            } else {
                let other = live.values().nth(pick as usize % (2 * live.len()).max(1));
                let object = match other {
                    Some(other) => FilledObject::beside(&arena, other, size, PARTS[part], pick as u8),
                    None => FilledObject::new(&arena, size, PARTS[part], pick as u8),
                };
                let start = object.pointer.addr().get();
                if let Some((&before, other)) = live.range(..=start).next_back() {
                    prop_assert!(before + other.size.max(1) <= start);
                }
                if let Some((&after, _)) = live.range(start..).next() {
                    prop_assert!(start + size.max(1) <= after);
                }
                bytes[part] += Arena::rounded(size);
                live.insert(start, object);
            }
            for part in PARTS {
                prop_assert_eq!(arena.live(part), bytes[part as usize]);
            }
            prop_assert!(arena.taken() >= bytes.iter().sum::<usize>());
            prop_assert!(arena.reserved() >= arena.taken());
        }
        live.into_values().for_each(FilledObject::free);
        assert_empty(&arena);
    }
}

/// Objects of many sizes in an arena on the global allocator are aligned, do not overlap, and
/// return their memory when they are freed.
#[test]
fn an_arena_lies_on_the_global_allocator() {
    let arena = Arena::on_global_allocator();
    let mut objects = Vec::new();
    for round in 0..if cfg!(miri) { 600 } else { 200_000_usize } {
        let size = 8 + round % 90 * 8;
        let object = arena.alloc(size, MemoryPart::Nodes);
        assert_eq!(object.addr().get() % 8, 0);
        // SAFETY: this test owns the object, which has this length.
        unsafe { object.write_bytes(round as u8, size) };
        objects.push((object, size, round as u8));
    }
    let words = super::AtomicWords::new(&arena, 100_000, true);
    assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
    assert!(arena.reserved() >= arena.taken());
    for (object, size, byte) in objects {
        // SAFETY: allocated above with this size and part, written afterwards, and freed once.
        unsafe {
            let bytes = std::slice::from_raw_parts(object.as_ptr(), size);
            assert!(bytes.iter().all(|found| *found == byte));
            Arena::free(object, size, MemoryPart::Nodes);
        }
    }
    drop(words);
    assert_eq!((arena.live(MemoryPart::Nodes), arena.taken()), (0, 0));
}
