//! Snapshots of the skip list: each shows the list as it was at one moment, and stays the same
//! while writers continue.
//!
//! ```text
//!   writer a   ──[ put 1 ]──[ put 2 ]──────[ put 3 ]───────►
//!   writer b   ────────[ put 1 ]──────[ put 2 ]────────────►
//!   reader     ──────────────[ get ]────[ get ]────────────►
//!   snapshot   ──────────────────[ taken ]─────────────────►
//!
//!   The values of a key rise, so a value tells which writes of the key a snapshot contains.
//! ```
//!
//! The history checker knows when each write began and ended. If a lookup saw a write, the write
//! was done when the lookup ended. If a lookup did not see it, the write was not done when the
//! lookup began. One moment can explain a snapshot only if each write outside it was undone at some
//! time after each write inside it had begun, and after the snapshot was requested; and if each
//! write inside it had begun before the snapshot was returned.
#![cfg_attr(feature = "planted-bugs", allow(dead_code))]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use crate::support::history::HistoryClock;
use crate::support::random::TestRandom;
use crate::support::{shared_keys, times};
use skein_index::skip_list::SkipListSnapshot;
use skein_index::skip_list::variant::{SkipListSettings, SkipListStandard};
use skein_index::{Boxed, Cursor, Guard, Inline, OrderedIndex, SkipList};

type NumberList = SkipList<Inline<u64>>;

/// The times at which a call began and ended.
#[derive(Clone, Copy, Debug)]
struct CallSpan {
    began: u64,
    ended: u64,
}

impl CallSpan {
    fn of<R>(clock: &HistoryClock, run: impl FnOnce() -> R) -> (Self, R) {
        let began = clock.now();
        let done = run();
        (Self { began, ended: clock.now() }, done)
    }
}

/// A key's number, and how many of its writes were seen.
type SeenWrites = (usize, u64);

/// An event of a history.
#[derive(Debug)]
enum SnapshotEvent {
    /// The key's n-th write.
    Write(SeenWrites, CallSpan),
    Lookup(SeenWrites, CallSpan),
    /// How many writes of each key a snapshot shows.
    Snapshot(Vec<u64>, CallSpan),
}

/// Checks that each snapshot is one moment of the history. Errors with a description if one is not.
fn check(keys: usize, events: &[SnapshotEvent]) -> Result<(), String> {
    // For each write of each key: when it may have been done. Write 0 of a key was always there.
    let mut writes = vec![vec![CallSpan { began: 0, ended: 0 }]; keys];
    for event in events {
        if let SnapshotEvent::Write((key, number), span) = event {
            let (key, number) = (&mut writes[*key], *number as usize);
            key.resize(key.len().max(number + 1), *span);
            key[number] = *span;
        }
    }
    for event in events {
        if let SnapshotEvent::Lookup((key, seen), span) = event {
            let (done, open) = writes[*key].split_at_mut(*seen as usize + 1);
            for write in done {
                write.ended = write.ended.min(span.ended);
            }
            for write in open {
                write.began = write.began.max(span.began);
            }
        }
    }
    for event in events {
        let SnapshotEvent::Snapshot(seen, span) = event else { continue };
        let mut inside = writes.iter().zip(seen).flat_map(|(writes, &seen)| &writes[..=seen as usize]);
        let outside = writes.iter().zip(seen).flat_map(|(writes, &seen)| &writes[seen as usize + 1..]);
        // The moment is after all the former, and before all the latter.
        let after = inside.by_ref().map(|write| write.began).fold(span.began, u64::max);
        let before = outside.map(|write| write.ended).fold(span.ended, u64::min);
        if after > before {
            return Err(format!("no moment after {after} and before {before} explains {seen:?}, {span:?}"));
        }
    }
    Ok(())
}

/// Returns how many writes of each key a snapshot shows.
fn seen_by<V: SkipListSettings>(
    snapshot: &SkipListSnapshot<'_, Inline<u64>, V>,
    list: &NumberList,
    keys: &[Vec<u8>],
) -> Vec<u64> {
    let guard = list.collector().enter();
    keys.iter().map(|key| snapshot.get(key, &guard).unwrap_or(0)).collect()
}

/// Runs writers with keys of their own, readers, and a thread that takes snapshots. Returns their
/// events.
fn history(keys: usize, writes: u64) -> Vec<SnapshotEvent> {
    let list = NumberList::new();
    let names: Vec<Vec<u8>> = (0..keys).map(|key| format!("key {key}").into_bytes()).collect();
    let (clock, barrier, stop) = (HistoryClock::default(), Barrier::new(4), AtomicBool::new(false));
    let write = |writer: usize| {
        barrier.wait();
        let mut events = Vec::new();
        for number in 1..=writes {
            for key in (writer..keys).step_by(2) {
                let guard = list.collector().enter();
                let put = || list.insert(&names[key], Inline(number), &guard).unwrap();
                events.push(SnapshotEvent::Write((key, number), CallSpan::of(&clock, put).0));
            }
        }
        events
    };
    let read = || {
        barrier.wait();
        let (mut events, mut random) = (Vec::new(), TestRandom::new(writes));
        while !stop.load(Ordering::Relaxed) && events.len() < 2_000 {
            let (guard, key) = (list.collector().enter(), random.below(keys));
            let (span, seen) = CallSpan::of(&clock, || list.get(&names[key], &guard));
            events.push(SnapshotEvent::Lookup((key, seen.unwrap_or(0)), span));
        }
        events
    };
    let take = || {
        barrier.wait();
        let mut taken = Vec::new();
        while !stop.load(Ordering::Relaxed) && taken.len() < 60 {
            taken.push(CallSpan::of(&clock, || list.snapshot().unwrap()));
        }
        taken
            .into_iter()
            .map(|(span, snapshot)| SnapshotEvent::Snapshot(seen_by(&snapshot, &list, &names), span))
            .collect()
    };
    std::thread::scope(|scope| {
        let writers = [0, 1].map(|writer| scope.spawn(move || write(writer)));
        let others = [scope.spawn(read), scope.spawn(take)];
        let mut events: Vec<SnapshotEvent> =
            writers.into_iter().flat_map(|writer| writer.join().expect("a writer is done")).collect();
        stop.store(true, Ordering::Relaxed);
        events.extend(others.into_iter().flat_map(|other| other.join().expect("a reader is done")));
        events
    })
}

#[test]
#[cfg(not(feature = "planted-bugs"))]
fn each_snapshot_is_one_moment() {
    for round in 0..times(150) {
        let keys = 2 + round % 5;
        check(keys, &history(keys, 60)).unwrap();
    }
}

/// The checker must notice a gate that does not wait for writes under way.
#[test]
#[cfg(feature = "planted-bugs")]
fn a_snapshot_that_waits_for_nobody_is_noticed() {
    use std::time::{Duration, Instant};
    // On one core the bug takes long to occur.
    let until = Instant::now() + Duration::from_secs(600);
    let mut rounds = (0_usize..).take_while(|_| Instant::now() < until);
    let caught = rounds.any(|round| check(2 + round % 5, &history(2 + round % 5, 60)).is_err());
    assert!(caught, "the planted bug went unnoticed");
}

/// Checks the checker itself.
#[test]
fn histories_without_a_moment_are_rejected() {
    let span = |began, ended| CallSpan { began, ended };
    let write = |key, number, began, ended| SnapshotEvent::Write((key, number), span(began, ended));
    // The second write is in the snapshot, and the first is not, although it was done before the
    // second began.
    let torn = [write(0, 1, 0, 1), write(1, 1, 2, 5), SnapshotEvent::Snapshot(vec![0, 1], span(3, 4))];
    assert!(check(2, &torn).is_err());
    // The same with a snapshot that sees both writes, neither, or only the first.
    for seen in [[1, 1], [1, 0]] {
        let fine = [write(0, 1, 0, 1), write(1, 1, 2, 5), SnapshotEvent::Snapshot(seen.to_vec(), span(3, 4))];
        check(2, &fine).unwrap();
    }
    let late = [write(0, 1, 0, 1), SnapshotEvent::Snapshot(vec![0], span(3, 4))];
    assert!(check(1, &late).is_err());
    let early = [write(0, 1, 5, 6), SnapshotEvent::Snapshot(vec![1], span(3, 4))];
    assert!(check(1, &early).is_err());
    // Two writes and two lookups, all at once. One lookup saw the first write before another missed
    // the second, which is in the snapshot.
    let lookups = [SnapshotEvent::Lookup((0, 1), span(1, 2)), SnapshotEvent::Lookup((1, 0), span(3, 4))];
    let mut crossed =
        vec![write(0, 1, 0, 9), write(1, 1, 0, 9), SnapshotEvent::Snapshot(vec![0, 1], span(0, 9))];
    check(2, &crossed).unwrap();
    crossed.extend(lookups);
    assert!(check(2, &crossed).is_err());
}

/// Returns the contents of a snapshot, and checks that all ways of reading it agree.
fn contents(
    snapshot: &SkipListSnapshot<'_, Inline<u64>, SkipListStandard>,
    list: &NumberList,
) -> BTreeMap<Vec<u8>, u64> {
    let guard = list.collector().enter();
    let mut cursor = snapshot.cursor(&guard);
    let mut up = Vec::new();
    while cursor.next() {
        up.push((cursor.key().unwrap().to_vec(), cursor.value().unwrap()));
    }
    let mut down = Vec::new();
    while cursor.prev() {
        down.push((cursor.key().unwrap().to_vec(), cursor.value().unwrap()));
    }
    down.reverse();
    assert_eq!(up, down);
    assert!(up.iter().all(|(key, value)| snapshot.get(key, &guard) == Some(*value)));
    up.into_iter().collect()
}

/// Writes of all kinds between snapshots. Each snapshot shows the model as it was when the snapshot
/// was taken, as long as the snapshot lives.
#[test]
fn snapshots_show_what_was() {
    let mut list = NumberList::new();
    let empty = list.memory();
    let keys = shared_keys::paths(40);
    let mut random = TestRandom::new(3);
    for _ in 0..times(4) {
        let mut model = BTreeMap::new();
        let mut live = Vec::new();
        for number in 0..3_000 {
            let guard = list.collector().enter();
            let key = &keys[random.below(keys.len())];
            match random.below(20) {
                0 if live.len() < 8 => live.push((list.snapshot().unwrap(), model.clone())),
                1 if !live.is_empty() => drop(live.swap_remove(random.below(live.len()))),
                2 if !live.is_empty() => {
                    let (snapshot, then) = &live[random.below(live.len())];
                    assert_eq!(contents(snapshot, &list), *then);
                }
                3..10 => assert_eq!(list.remove(key, &guard), model.remove(key)),
                _ => assert_eq!(
                    list.insert(key, Inline(number), &guard).unwrap(),
                    model.insert(key.clone(), number)
                ),
            }
            assert_eq!(list.snapshots().count, live.len());
        }
        for (snapshot, then) in &live {
            assert_eq!(contents(snapshot, &list), *then);
        }
        let guard = list.collector().enter();
        for key in &keys {
            assert_eq!(list.remove(key, &guard), model.remove(key));
        }
        assert!(list.is_empty() && model.is_empty());
        for (snapshot, then) in &live {
            assert_eq!(contents(snapshot, &list), *then);
        }
        drop(live);
        guard.flush();
        drop(guard);
        let memory = list.memory();
        assert_eq!((memory.live(), memory.unreclaimed), (empty.live(), 0), "memory was not returned");
        assert_eq!(list.check().unwrap().nodes, 0);
    }
}

/// A superseded version is kept only while a snapshot needs it.
#[test]
fn no_more_versions_are_kept_than_snapshots_need() {
    let mut list = NumberList::new();
    let put =
        |list: &NumberList, value| list.insert(b"key", Inline(value), &list.collector().enter()).unwrap();
    (0..100).for_each(|value| assert!(put(&list, value).is_none_or(|before| before < value)));
    assert_eq!(list.check().unwrap().kept, 0);
    let before = list.memory().nodes;
    {
        let first = list.snapshot().unwrap();
        (100..200).for_each(|value| assert!(put(&list, value).is_none_or(|before| before < value)));
        let second = list.snapshot().unwrap();
        let third = list.snapshot().unwrap();
        (200..300).for_each(|value| assert!(put(&list, value).is_none_or(|before| before < value)));
        let guard = list.collector().enter();
        assert_eq!(first.get(b"key", &guard), Some(99));
        assert_eq!((second.get(b"key", &guard), third.get(b"key", &guard)), (Some(199), Some(199)));
        // Two versions and their notes are kept, however many writes there were between.
        assert_eq!(list.memory().nodes, before + 2 * (24 + 32));
        drop(third);
        assert_eq!(second.get(b"key", &guard), Some(199));
        // An ended snapshot keeps nothing more. One step releases the versions that it kept.
        let mut release = second.release();
        assert_eq!(list.snapshots().count, 1);
        assert_eq!(list.memory().nodes, before + 2 * (24 + 32));
        assert!(!release.step(1));
        assert_eq!(list.memory().nodes, before + 24 + 32);
        assert_eq!(first.get(b"key", &guard), Some(99));
    }
    assert_eq!(list.memory().nodes, before);
    assert_eq!(list.check().unwrap().kept, 0);
}

/// A value that counts how many of its kind are alive.
struct CountedVersion {
    value: u64,
    alive: Arc<AtomicUsize>,
}

impl Drop for CountedVersion {
    fn drop(&mut self) {
        self.value = u64::MAX;
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Several threads write and remove values on the heap while snapshots are taken and dropped. No
/// value is freed while a snapshot shows it, and all are freed in the end.
#[test]
#[cfg(not(feature = "planted-bugs"))]
fn values_live_as_long_as_snapshots_show_them() {
    let alive = Arc::new(AtomicUsize::new(0));
    let list = SkipList::<Boxed<CountedVersion>>::new();
    let keys = shared_keys::paths(60);
    let writing = AtomicUsize::new(2);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (list, keys, alive, writing) = (&list, &keys, &alive, &writing);
            scope.spawn(move || {
                let mut random = TestRandom::new(writer);
                for value in 0..times(30_000) as u64 {
                    let guard = list.collector().enter();
                    let key = &keys[random.below(keys.len())];
                    if random.below(3) == 0 {
                        list.remove(key, &guard);
                    } else {
                        alive.fetch_add(1, Ordering::Relaxed);
                        let new = CountedVersion { value, alive: Arc::clone(alive) };
                        list.insert(key, Boxed::new(new), &guard).unwrap();
                    }
                }
                list.collector().enter().flush();
                writing.fetch_sub(1, Ordering::Relaxed);
            });
        }
        for taker in 0..2 {
            let (list, keys, writing) = (&list, &keys, &writing);
            scope.spawn(move || {
                let mut random = TestRandom::new(taker + 9);
                while writing.load(Ordering::Relaxed) > 0 {
                    let snapshot = list.snapshot().unwrap();
                    let look = || {
                        let guard = list.collector().enter();
                        let value = |key: &Vec<u8>| snapshot.get(key, &guard).map(|counted| counted.value);
                        keys.iter().map(value).collect::<Vec<_>>()
                    };
                    let first = look();
                    assert!(first.iter().all(|value| *value != Some(u64::MAX)));
                    for _ in 0..random.below(4) {
                        assert_eq!(look(), first);
                    }
                    if taker == 0 {
                        let mut release = snapshot.release();
                        while release.step(3) {}
                    }
                }
                // Otherwise some of the released versions would wait in the collector until the
                // list is dropped.
                list.collector().enter().flush();
            });
        }
    });
    let guard = list.collector().enter();
    for key in &keys {
        list.remove(key, &guard);
    }
    guard.flush();
    drop(guard);
    // A flush keeps a batch with fewer items than there are guards: once in fifty runs one waited
    // here.
    assert!(alive.load(Ordering::Relaxed) <= 8, "only values in the last batches of threads wait");
    drop(list);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// A leaked snapshot: the values that it kept are dropped with the list.
#[test]
fn a_leaked_snapshot_leaks_no_value() {
    let alive = Arc::new(AtomicUsize::new(2));
    let list = SkipList::<Boxed<CountedVersion>>::new();
    let put = |value| {
        let new = CountedVersion { value, alive: Arc::clone(&alive) };
        list.insert(b"key", Boxed::new(new), &list.collector().enter()).unwrap().map(|counted| counted.value)
    };
    put(1);
    std::mem::forget(list.snapshot().unwrap());
    assert_eq!(put(2), Some(1));
    assert_eq!(alive.load(Ordering::Relaxed), 2);
    drop(list);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn too_many_snapshots_are_refused_and_the_oldest_has_an_age() {
    let list = NumberList::new().with_snapshot_limit(2);
    assert_eq!((list.snapshots().count, list.snapshots().oldest), (0, None));
    let (first, second) = (list.snapshot().unwrap(), list.snapshot().unwrap());
    let refused = list.snapshot().unwrap_err();
    assert_eq!((refused.live, refused.limit), (2, 2));
    let age = list.snapshots().oldest.unwrap();
    drop(second);
    drop(first);
    assert_eq!(list.snapshots().oldest, None);
    let _third = list.snapshot().unwrap();
    assert!(list.snapshots().count == 1 && age.as_secs() < 3600);
    for limit in [0, usize::MAX] {
        assert!(NumberList::new().with_snapshot_limit(limit).snapshot().is_ok());
    }
}
