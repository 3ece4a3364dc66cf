//! Pages in memory with concurrent threads: references, retired frames, and whole writes while
//! pages are loaded and evicted.

use std::time::Duration;

use skein_sync::atomic::{AtomicBool, Ordering};
use skein_sync::locks::lock;

use super::*;
use crate::buffer::{FetchOutcome, PageReference};
use crate::page::PagePlace;

fn refer(buffer: &BufferManager, id: PageId) -> Option<PageReference<'_>> {
    match buffer.fetch(id).unwrap() {
        FetchOutcome::Loaded(reference) => Some(reference),
        FetchOutcome::NoRoom => None,
        FetchOutcome::NoPage => panic!("page {} was freed", id.0),
    }
}

/// Incident: a hundred readers each found room before any had taken it, and referenced all 16 pages
/// of a cache, so a writer could evict no page. Consequence: two thirds of the writes were refused.
/// Fix: a reader first takes one of a limited number of slots, half as many as the cache has pages,
/// or reads without the cache. A writer has its pages in memory already, so it may exceed the cache
/// while no page can be evicted.
#[test]
fn referenced_pages_stay_and_a_writer_finds_room() {
    for cache in [16, 17] {
        let (_, buffer) = new_file(cache);
        let ids = make_pages(&buffer, 0..40);
        let references: Vec<_> = ids.iter().map_while(|id| refer(&buffer, *id)).collect();
        assert_eq!((references.len(), buffer.stats().referred), (8, 8));
        assert!(refer(&buffer, ids[20]).is_none());
        assert_eq!(read(&buffer, ids[20]).unwrap(), 20, "a reader reads without the cache");
        change(&buffer, &ids[21..36], 5);
        assert!(buffer.stats().resident <= 8 + 15, "{:?}", buffer.stats());
        assert_eq!(read(&buffer, ids[21]).unwrap(), 5);
        for (reference, to) in references.iter().zip(0..) {
            assert_eq!(number(reference.bytes()), Ok(to));
        }
        drop(references);
        assert_eq!(buffer.stats().referred, 0);
        assert!(refer(&buffer, ids[20]).is_some());
        assert!(buffer.stats().resident <= cache, "the next eviction shrinks the cache to its size");
    }
}

/// Incident: a write held a guard of the collector from its start to its end, and a transaction
/// lasts as long as its caller likes. Consequence: every page that readers evicted meanwhile stayed
/// in memory (3.4 GB beside a cache of 256 KiB), and kept its reason for its place; a place can
/// have 255 reasons. Fix: a write pins the page that it reads, and retired frames are counted and
/// bounded.
#[test]
fn pages_evicted_during_an_open_write_are_freed() {
    let (_, buffer) = new_file(16);
    let ids = make_pages(&buffer, 0..40);
    let mut writer = buffer.write();
    writer.page(ids[0]).unwrap();
    let most = std::thread::scope(|scope| {
        let reads = || {
            let read = |at: usize| {
                assert_eq!(read(&buffer, ids[at % 40]).unwrap(), at as u64 % 40);
                buffer.stats().retired
            };
            (0..20_000).map(read).max()
        };
        scope.spawn(reads).join().unwrap().unwrap()
    });
    assert!(buffer.stats().evictions > 10_000);
    assert!(most <= 256, "{most} pages wait");
    assert_eq!(number(writer.page(ids[0]).unwrap()), Ok(0));
}

/// As above: while a walk does not end, the number of retired frames is bounded, and reads
/// continue.
#[test]
fn retired_frames_are_bounded_during_an_endless_walk() {
    let (_, buffer) = new_file(16);
    let ids = make_pages(&buffer, 0..40);
    let walk = buffer.collector.enter();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for at in 0..10_000 {
                assert_eq!(read(&buffer, ids[at % 40]).unwrap(), at as u64 % 40);
            }
            let stats = buffer.stats();
            assert!((1_024..1_100).contains(&stats.retired), "{stats:?}");
            change(&buffer, &ids[1..2], 7);
        });
    });
    drop(walk);
    (0..64 * 40).for_each(|at| _ = read(&buffer, ids[at % 40]).unwrap());
    assert!(buffer.stats().retired < 256, "{:?}", buffer.stats());
    assert_eq!(read(&buffer, ids[1]).unwrap(), 7);
}

/// Writers keep the sum of all pages constant. A reader that sees another sum has seen two moments.
#[test]
fn readers_see_whole_writes_while_pages_are_evicted() {
    let (_, buffer) = new_file(17);
    let ids = make_all(&buffer, [1_000; 8]).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut sums = 0;
                while !done.load(Ordering::Relaxed) || sums < 100 {
                    assert_eq!(read_all(&buffer, &ids).iter().sum::<u64>(), 8_000);
                    sums += 1;
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                checkpoint(&buffer, 1).unwrap();
            }
        });
        for step in 0..4_000_u64 {
            let mut writer = buffer.write();
            let (from, to) = (ids[(step % 8) as usize], ids[(step * 5 % 7) as usize]);
            move_one(&mut writer, from, to);
            // Further pages are made and freed, so that these are evicted now and then.
            let other = writer.make(DiskPageKind::Records).unwrap();
            set(writer.page_mut(other).unwrap(), step);
            writer.publish().unwrap();
            if step % 3 == 0 {
                free(&buffer, other);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Guards the places of the last checkpoint until both headers have the next one (invariant 3 of
/// `page_file/headers.rs`). A write beside the checkpoint could take them earlier, and a power cut
/// then would leave neither of the two.
#[test]
fn old_places_are_kept_until_the_checkpoint_has_ended() {
    let (storage, buffer) = new_file(16);
    let ids = make_pages(&buffer, 0..12);
    checkpoint(&buffer, 1).unwrap();
    let old = lock(&buffer.durable).places.clone();
    change(&buffer, &ids, 2);
    // Between two operations there is time to look.
    storage.slow_down(Duration::from_millis(5));
    let are_kept = || {
        let places = lock(&buffer.places);
        old.iter().all(|place| *place == 0 || places.is_kept(PagePlace(*place)))
    };
    let released_at = std::thread::scope(|scope| {
        let ended = scope.spawn(|| checkpoint(&buffer, 2).unwrap());
        while are_kept() && !ended.is_finished() {
            std::thread::yield_now();
        }
        storage.operations()
    });
    assert!(!are_kept(), "a checkpoint releases them");
    assert_eq!(released_at, storage.operations(), "the checkpoint went on for some operations");
}

/// Incident: the length of the table was read before the lock under which it grows. Consequence:
/// pages that a concurrent write allocated and gave up were subtracted but never counted, so the
/// result was too small or overflowed. Fix: both are read under the lock.
#[test]
fn pages_in_use_are_counted_during_dropped_writes() {
    for round in 0..200 {
        let (_, buffer) = new_file(16);
        make_pages(&buffer, 0..3);
        let begun = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let mut writer = buffer.write();
            let count = scope.spawn(|| {
                begun.store(true, Ordering::Release);
                buffer.ids_in_use()
            });
            while !begun.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            // So that in some rounds the count has reached the lock.
            (0..round).for_each(|_| std::thread::yield_now());
            (0..20).for_each(|_| _ = writer.make(DiskPageKind::Records).unwrap());
            drop(writer);
            assert_eq!(count.join().unwrap(), 3, "round {round}");
        });
    }
}
