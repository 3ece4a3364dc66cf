//! Snapshots show collections as they were: their members, their life and death, and changes of
//! several members whole, while writers run.

#![expect(clippy::cast_precision_loss, reason = "scores are small numbers")]

use std::ops::Bound::Unbounded;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{StopWritersOnDrop, StoreTestRng, each_index, open, options, over};
use skein_store::{
    CollectionReads as _, Durability, Error, IndexKind, RowRef, RowWriter as _, ScanDirection, Session,
    Snapshot, Store, StoreOptions,
};

fn put(session: &mut Session, key: &[u8], members: &[(u64, f64)]) {
    let change = |set: &mut skein_store::SetWriter<'_>| {
        members.iter().try_for_each(|(member, score)| set.put(&member.to_be_bytes(), *score).map(drop))
    };
    session.write(|writer| writer.change_set::<_, Error>(key, true, change)).unwrap().0.unwrap();
}

/// Returns the sum of the scores, and the number of members, in the set of a key.
fn sum_of(row: Option<RowRef<'_>>) -> Option<(f64, u64)> {
    let set = row?.sorted_set()?.read();
    let mut sum = 0.0;
    set.walk(0, ScanDirection::Forward, |score, _| {
        sum += score;
        ControlFlow::Continue(())
    });
    Some((sum, set.len()))
}

fn sum(snapshot: &Snapshot, key: &[u8]) -> Option<(f64, u64)> {
    snapshot.get_with(key, sum_of).unwrap()
}

fn columns(snapshot: &Snapshot, key: &[u8]) -> usize {
    snapshot.get_entry(key).unwrap().map_or(0, |entry| entry.columns.len())
}

/// Sets and hashes that are removed, replaced, renamed or spread afterwards stay in a snapshot,
/// also when the sweeper and the checkpoint have run.
#[test]
fn collections_that_die_stay_in_a_snapshot() {
    each_index(|folder, index| {
        let store = Store::open(folder, over(index, Durability::Buffered)).unwrap();
        let mut session = store.session();
        session.spread_columns(true);
        let members: Vec<(u64, f64)> = (0..1000).map(|member| (member, member as f64)).collect();
        let names: Vec<[u8; 8]> = (0..200_u64).map(u64::to_be_bytes).collect();
        let wide: Vec<(&[u8], &[u8])> = names.iter().map(|name| (&name[..], &b"value"[..])).collect();
        for key in [&b"dies"[..], b"cleared", b"replaced", b"renamed"] {
            put(&mut session, key, &members);
        }
        let mut columns_of = |key: &[u8], some: &[(&[u8], &[u8])]| {
            session.write(|writer| writer.put_columns(key, some)).unwrap().0.unwrap();
        };
        columns_of(b"hash", &wide);
        columns_of(b"spreads", &wide[..10]);
        let snapshot = store.snapshot().unwrap();
        columns_of(b"spreads", &wide);
        store.remove(b"dies").unwrap();
        store.remove(b"hash").unwrap();
        store.put(b"replaced", b"a value").unwrap();
        let (changed, _) = session
            .write(|writer| {
                writer.change_set::<_, Error>(b"cleared", false, |set| {
                    set.clear();
                    Ok(())
                })?;
                writer.rename(b"renamed", b"moved", true)
            })
            .unwrap();
        changed.unwrap();
        put(&mut session, b"moved", &[(5, 0.0), (5000, 1.0)]);
        put(&mut session, b"dies", &[(7, 7.0)]);
        store.checkpoint().unwrap();
        let whole = Some((999.0 * 500.0, 1000));
        for _ in 0..3 {
            for key in [&b"dies"[..], b"cleared", b"replaced", b"renamed"] {
                assert_eq!(sum(&snapshot, key), whole, "{index} {}", key.escape_ascii());
            }
            assert!(snapshot.get_entry(b"moved").unwrap().is_none());
            assert_eq!((columns(&snapshot, b"hash"), columns(&snapshot, b"spreads")), (200, 10));
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let mut keys = Vec::new();
        let all = (Unbounded, Unbounded);
        let list = |key: &[u8], _: RowRef<'_>| {
            keys.push(key.to_vec());
            ControlFlow::Continue(())
        };
        snapshot.scan(all, ScanDirection::Forward, list).unwrap();
        assert_eq!(keys, [&b"cleared"[..], b"dies", b"hash", b"renamed", b"replaced", b"spreads"]);
        // Views of a snapshot outlive the closure.
        let view = |row: Option<RowRef<'_>>| row?.sorted_set()?.read().view(0, 1000, ScanDirection::Forward);
        let mut view = snapshot.get_with(b"dies", view).unwrap().unwrap();
        let mut count = 0;
        while view.step(100, |_, _| {
            count += 1;
            ControlFlow::Continue(())
        }) {
            put(&mut session, b"dies", &[(count, 0.5)]);
        }
        assert_eq!(count, 1000);
        drop(view);
        drop(snapshot);
        assert_eq!(store.stats().snapshot_bytes, 0);
    });
}

/// Members are moved from one set to another, and columns from one hash to another, each move
/// within a batch. A set also gets two members at a time. Every snapshot sees the sums unchanged.
#[test]
fn members_sum_up_in_every_snapshot() {
    each_index(|folder, index| {
        let store = Store::open(folder, over(index, Durability::None)).unwrap();
        check_sums(&store, index);
    });
}

const MEMBERS: u64 = 200;

/// Changes two scores of one set by opposite amounts, in one change.
fn shift(session: &mut Session, random: &mut StoreTestRng) {
    let (one, other) = (random.below(MEMBERS), random.below(MEMBERS));
    if one == other {
        return;
    }
    let (changed, _) = session
        .write(|writer| {
            writer.change_set::<_, Error>(b"one", true, |set| {
                let (one, other) = (one.to_be_bytes(), other.to_be_bytes());
                let (a, b) = (set.score(&one)?.unwrap_or(0.0), set.score(&other)?.unwrap_or(0.0));
                set.put(&one, a + 1.0)?;
                set.put(&other, b - 1.0).map(drop)
            })
        })
        .unwrap();
    changed.unwrap();
}

/// Moves a member, or a column, between two keys in one batch. The keys are made and removed.
fn carry(session: &mut Session, random: &mut StoreTestRng) {
    let member = (random.below(3)).to_be_bytes();
    let (from, to) = if random.below(2) == 0 { (b"left", b"rght") } else { (b"rght", b"left") };
    let mut batch = session.open_batch().unwrap();
    let writer = batch.writer();
    let gone = writer.change_set::<_, Error>(from, false, |set| set.remove(&member)).unwrap().flatten();
    if let Some(score) = gone {
        writer.change_set::<_, Error>(to, true, |set| set.put(&member, score)).unwrap();
    }
    let name = random.below(100).to_be_bytes();
    let (from, to) = if random.below(2) == 0 { (b"hleft", b"hrght") } else { (b"hrght", b"hleft") };
    if writer.remove_columns(from, &[&name]).unwrap() == 1 {
        writer.put_columns(to, &[(&name, b"1")]).unwrap();
    }
    batch.commit().unwrap();
}

fn check_sums(store: &Store, index: IndexKind) {
    let mut session = store.session();
    session.spread_columns(true);
    let zeros: Vec<(u64, f64)> = (0..MEMBERS).map(|member| (member, 0.0)).collect();
    put(&mut session, b"one", &zeros);
    put(&mut session, b"left", &[(0, 1.0), (1, 1.0), (2, 1.0)]);
    let names: Vec<[u8; 8]> = (0..100_u64).map(u64::to_be_bytes).collect();
    let wide: Vec<(&[u8], &[u8])> = names.iter().map(|name| (&name[..], &b"1"[..])).collect();
    session.write(|writer| writer.put_columns(b"hleft", &wide)).unwrap().0.unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for seed in 1..=2 {
            let (mut session, stop) = (store.session(), &stop);
            session.spread_columns(true);
            scope.spawn(move || {
                let mut random = StoreTestRng(seed);
                while !stop.load(Ordering::Relaxed) {
                    shift(&mut session, &mut random);
                    carry(&mut session, &mut random);
                }
            });
        }
        let _stops = StopWritersOnDrop(&stop);
        for round in 0..60 {
            let snapshot = store.snapshot().unwrap();
            for _ in 0..2 {
                let told = format!("{index}, round {round}");
                assert_eq!(sum(&snapshot, b"one"), Some((0.0, MEMBERS)), "{told}");
                let [left, right] = [b"left", b"rght"].map(|key| sum(&snapshot, key).unwrap_or_default());
                assert_eq!((left.0 + right.0, left.1 + right.1), (3.0, 3), "{told}");
                assert_eq!(columns(&snapshot, b"hleft") + columns(&snapshot, b"hrght"), 100, "{told}");
            }
        }
    });
    assert_eq!((store.stats().snapshots, store.stats().snapshot_bytes), (0, 0));
}

/// Keys that expire, and that the expiry thread removes, stay in a snapshot of an earlier time.
/// Sets live and die while snapshots begin and end: each snapshot shows a set whole, or not.
#[test]
fn sets_that_die_are_whole_beside_snapshots_that_end() {
    const MEMBERS: [(u64, f64); 4] = [(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0)];
    const ROUNDS: usize = 3_000;
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), over(crate::common::index(), Durability::Buffered)).unwrap();
    let keys: Vec<[u8; 1]> = (b'a'..=b'h').map(|key| [key]).collect();
    let stop = AtomicBool::new(false);
    let live_and_die = || {
        let mut session = store.session();
        while !stop.load(Ordering::Relaxed) {
            for key in &keys {
                put(&mut session, key, &MEMBERS);
                session.write(|writer| writer.remove(key)).unwrap().0.unwrap();
            }
        }
    };
    let read = || {
        for round in 0..ROUNDS {
            let snapshot = store.snapshot().unwrap();
            for key in &keys {
                let seen = sum(&snapshot, key);
                assert!(seen.is_none_or(|seen| seen == (4.0, 4)), "round {round}: {seen:?}");
            }
        }
    };
    std::thread::scope(|scope| {
        let _stops = StopWritersOnDrop(&stop);
        scope.spawn(live_and_die);
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(read)).collect();
        for reader in readers {
            reader.join().expect("a reader");
        }
    });
}

#[test]
fn expired_keys_stay_in_an_earlier_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let interval = Some(std::time::Duration::from_millis(5));
    let store =
        Store::open(folder.path(), StoreOptions { expiry_interval: interval, ..options(Durability::None) })
            .unwrap();
    let mut session = store.session();
    let at = store.options().clock.now() + 50;
    store.put_until(b"goose", b"grey", at).unwrap();
    put(&mut session, b"geese", &[(1, 1.0), (2, 2.0)]);
    store.expire(b"geese", at).unwrap();
    let early = store.snapshot().unwrap();
    while store.stats().expired < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let late = store.snapshot().unwrap();
    assert_eq!(early.get_entry(b"goose").unwrap().unwrap().expires_at, Some(at));
    assert_eq!(sum(&early, b"geese"), Some((3.0, 2)));
    assert!(late.get_entry(b"goose").unwrap().is_none() && late.get_entry(b"geese").unwrap().is_none());
}

/// A view that a snapshot gave is no handle: it stays readable after the last handle was dropped,
/// and the folder is free then. Once, it kept the store open.
#[test]
fn a_view_of_a_snapshot_does_not_keep_the_store_open() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    put(&mut store.session(), b"geese", &[(1, 1.0), (2, 2.0)]);
    let snapshot = store.snapshot().unwrap();
    let all = |row: Option<RowRef<'_>>| row?.sorted_set()?.read().view(0, 2, ScanDirection::Forward);
    let mut view = snapshot.get_with(b"geese", all).unwrap().unwrap();
    drop((snapshot, store));
    let store = open(folder.path(), Durability::Buffered);
    assert_eq!(store.session().get_with(b"geese", sum_of), Some((3.0, 2)));
    let mut scores = Vec::new();
    view.step(10, |score, _| {
        scores.push(score);
        ControlFlow::Continue(())
    });
    assert_eq!(scores, [1.0, 2.0]);
}

/// A checkpoint beside writes of collections, without a log: the sums hold after a kill.
#[test]
fn a_checkpoint_without_a_log_has_whole_collections() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = open(&path, Durability::None);
    let mut session = store.session();
    put(&mut session, b"left", &[(0, 1.0), (1, 1.0), (2, 1.0)]);
    for key in 0..20_000_u32 {
        store.put(&key.to_be_bytes(), b"filler").unwrap();
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut session, mut random) = (store.session(), StoreTestRng(3));
            while !stop.load(Ordering::Relaxed) {
                carry(&mut session, &mut random);
            }
        });
        let _stops = StopWritersOnDrop(&stop);
        for round in 0..5 {
            store.checkpoint().unwrap();
            let copied = folder.path().join(round.to_string());
            crate::common::copy(&path, &copied);
            let after = open(&copied, Durability::None);
            let sums =
                [b"left", b"rght"].map(|key| after.session().get_with(key, sum_of).unwrap_or_default());
            assert_eq!(sums[0].1 + sums[1].1, 3, "round {round}: {sums:?}");
        }
    });
}
