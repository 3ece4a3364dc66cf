//! Tests of vacated regions: they are given back, get no objects while there is room elsewhere, and
//! take objects again afterwards.

use std::sync::atomic::AtomicBool;

use super::*;

/// The objects of a vacating test, of one size that fills spans well.
const VACATED: usize = if cfg!(miri) { 2_048 } else { 512 };

/// Returns an arena with objects in many regions, of which only one in `one_in` is left, here and
/// there.
fn sparse_arena(one_in: usize) -> (Arena, Vec<FilledObject>) {
    let arena = Arena::new();
    let count = 10 * REGION / VACATED;
    let made = (0..count).map(|at| FilledObject::new(&arena, VACATED, MemoryPart::Nodes, at as u8));
    let made: Vec<_> = made.collect();
    let mut kept = Vec::new();
    for (at, object) in made.into_iter().enumerate() {
        if at.is_multiple_of(one_in) { kept.push(object) } else { object.free() }
    }
    (arena, kept)
}

/// Moves all objects that should.
fn move_all(arena: &Arena, objects: Vec<FilledObject>) -> Vec<FilledObject> {
    let moved = |object: FilledObject| if object.is_vacated(arena) { object.moved(arena) } else { object };
    objects.into_iter().map(moved).collect()
}

#[test]
fn moved_objects_give_their_regions_back() {
    let (arena, mut objects) = sparse_arena(4);
    let before = arena.reserved();
    let mut rounds = 0;
    while arena.vacate() > 0 {
        let vacated = objects.iter().filter(|object| object.is_vacated(&arena)).count();
        assert!(vacated > 0, "there is nothing to move");
        objects = move_all(&arena, objects);
        let left = objects.iter().filter(|object| object.is_vacated(&arena)).count();
        assert_eq!(left, 0, "an object moved to where it should not be");
        rounds += 1;
        assert!(rounds < 20, "vacating does not end");
    }
    let live = arena.live(MemoryPart::Nodes);
    assert!(arena.reserved() <= live * 4 / 3 + 3 * REGION, "{before} bytes, then {arena:?}");
    assert!(3 * arena.reserved() < 2 * before, "{before} bytes, then {arena:?}");
    objects.into_iter().for_each(FilledObject::free);
    assert_empty(&arena);
}

#[test]
fn freed_objects_give_their_vacated_regions_back() {
    let (arena, objects) = sparse_arena(2);
    assert!(arena.vacate() > 0);
    let before = arena.reserved();
    let (gone, kept): (Vec<_>, Vec<_>) = objects.into_iter().partition(|object| object.is_vacated(&arena));
    let regions = gone.len() * VACATED / REGION;
    gone.into_iter().for_each(FilledObject::free);
    assert!(arena.reserved() + regions * REGION <= before, "{before} bytes, then {arena:?}");
    kept.into_iter().for_each(FilledObject::free);
    assert_empty(&arena);
}

/// New objects of all sizes take room elsewhere, also after objects of the vacated spans were freed.
#[test]
fn vacated_spans_get_no_objects() {
    let (arena, mut objects) = sparse_arena(2);
    let room = objects.len() / 8;
    assert!(arena.vacate() > 0);
    let at = objects.iter().position(|object| object.is_vacated(&arena)).expect("one is vacated");
    objects.swap_remove(at).free();
    for _ in 0..room {
        let object = FilledObject::new(&arena, VACATED, MemoryPart::Nodes, 1);
        assert!(!object.is_vacated(&arena));
        objects.push(object);
    }
    objects.into_iter().for_each(FilledObject::free);
    assert_empty(&arena);
}

/// Incident: the span that was returned last was handed out first, also if it was vacated.
/// Consequence: it kept its region. Fix: it goes back to the pool.
#[test]
#[cfg_attr(miri, ignore = "regions are so small that there is no free span elsewhere")]
fn an_idle_span_is_not_vacated() {
    let (arena, objects) = sparse_arena(2);
    let highest = objects.iter().map(|object| object.pointer.addr().get()).max().expect("an object");
    let span = |object: &FilledObject| crate::memory::span::base_of(object.pointer.addr().get());
    let is_last = |object: &FilledObject| span(object) == crate::memory::span::base_of(highest);
    let (last, kept): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_last);
    last.into_iter().for_each(FilledObject::free);
    assert!(arena.vacate() > 0);
    let other = FilledObject::new(&arena, 64, MemoryPart::Keys, 1);
    assert!(!other.is_vacated(&arena));
    other.free();
    kept.into_iter().for_each(FilledObject::free);
    assert_empty(&arena);
}

/// Large objects lie outside of the regions, and do not count as objects in them.
#[test]
fn large_objects_do_not_keep_regions() {
    let (arena, objects) = sparse_arena(4);
    let large = FilledObject::new(&arena, 20 * REGION, MemoryPart::Keys, 1);
    assert!(arena.vacate() > 0);
    assert!(!large.is_vacated(&arena));
    large.free();
    objects.into_iter().for_each(FilledObject::free);
    assert_empty(&arena);
}

#[test]
fn full_regions_are_not_vacated() {
    let (arena, objects) = sparse_arena(1);
    assert_eq!(arena.vacate(), 0);
    assert!(objects.iter().all(|object| !object.is_vacated(&arena)));
    objects.into_iter().for_each(FilledObject::free);
    assert_eq!(arena.vacate(), 0);
    assert_empty(&arena);
}

/// After the vacating, a span that was not emptied takes objects again once one of its objects is
/// freed. What lies in nearly empty regions stays as it is, though their free spans lose their memory.
#[test]
fn spans_take_objects_again_after_the_vacating() {
    let (arena, objects) = sparse_arena(4);
    assert!(arena.vacate() > 0);
    let (mut vacated, mut objects): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|object| object.is_vacated(&arena));
    // All but a few leave, so the regions become nearly empty.
    for (at, object) in std::mem::take(&mut vacated).into_iter().enumerate() {
        let stays = at.is_multiple_of(REGION / VACATED / 2);
        if stays { vacated.push(object) } else { objects.push(object.moved(&arena)) }
    }
    arena.stop_vacating();
    assert!(vacated.iter().all(|object| !object.is_vacated(&arena)));
    let object = vacated.pop().expect("one is left");
    let place = object.pointer;
    object.free();
    let mut again = Vec::new();
    while again.last().is_none_or(|object: &FilledObject| object.pointer != place) {
        assert!(again.len() < 8 * REGION / VACATED, "the span takes no objects");
        again.push(FilledObject::new(&arena, VACATED, MemoryPart::Nodes, 3));
    }
    objects.into_iter().chain(vacated).chain(again).for_each(FilledObject::free);
    assert_empty(&arena);
}

/// Threads allocate, move and free objects while another one vacates again and again.
///
/// Once, a thread that freed the last object of a span asked twice if the span was vacated, and took an
/// end of the vacating in between for a span that was given back twice. No run has shown it: the
/// moment is short.
#[test]
fn threads_move_objects_while_regions_are_vacated() {
    let (threads, rounds) = if cfg!(miri) { (2, 20) } else { (3, 300) };
    let arena = &Arena::new();
    let stop = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|number: usize| {
                scope.spawn(move || {
                    let mut objects = Vec::new();
                    for round in 0..rounds {
                        // A span has few of these, so spans come and go.
                        let size = [8_000, 3_000, 500][(round + number) % 3];
                        let new = (0..if cfg!(miri) { 8 } else { 200_u8 })
                            .map(|fill| FilledObject::new(arena, size, MemoryPart::Nodes, fill));
                        objects.extend(new);
                        let moved = move_all(arena, std::mem::take(&mut objects));
                        for (at, object) in moved.into_iter().enumerate() {
                            if (at + round).is_multiple_of(3) { objects.push(object) } else { object.free() }
                        }
                    }
                    objects.into_iter().for_each(FilledObject::free);
                })
            })
            .collect();
        let vacating = scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                arena.vacate();
                std::thread::yield_now();
                arena.stop_vacating();
            }
        });
        let results: Vec<_> = workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        vacating.join().expect("it does not panic");
        assert!(results.iter().all(Result::is_ok), "a worker panicked");
    });
    arena.vacate();
    assert_empty(arena);
}
