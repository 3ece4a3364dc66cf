//! Eviction at the memory limit: which keys are evicted, how many, and that they stay evicted.

use std::time::{Duration, Instant};

use crate::common::{StoreTestRng, indexes, options, skipped};
use skein_store::{
    Durability, Error, Eviction, ExpiryClock, IndexKind, RowWriter as _, Session, Store, StoreLimits,
    StoreOptions,
};

const LIMIT: usize = 4 << 20;

/// The margin of an eviction, and the largest grant to a session.
const SHARE: usize = LIMIT / 64;

fn limited(durability: Durability, limit: usize, eviction: Eviction) -> StoreOptions {
    let limits = StoreLimits { memory_bytes: Some(limit), eviction, ..StoreLimits::default() };
    StoreOptions { limits, ..options(durability) }
}

fn open(limit: usize, eviction: Eviction) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), limited(Durability::None, limit, eviction)).unwrap();
    (folder, store)
}

/// Writes as a server does: makes room first.
fn put(session: &mut Session, key: &[u8], value: &[u8]) {
    let wanted = key.len() + value.len() + 64;
    // Rejected only while other threads hold much removed memory.
    let refused = (0..1_000).take_while(|_| session.make_room(wanted, 0).unwrap().0 < wanted).count();
    assert!(refused < 1_000, "{:?}", session.store().stats());
    session.write(|writer| writer.put(key, value)).unwrap().0.unwrap();
}

/// Returns the bytes that count against new keys.
fn used(store: &Store) -> usize {
    let memory = store.stats().memory;
    memory.total() - memory.unreclaimed - memory.buffers
}

#[test]
fn endless_writes_stay_within_the_limit_over_every_index() {
    for index in indexes() {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions { index, ..limited(Durability::None, LIMIT, Eviction::Lru) };
        let store = Store::open(folder.path(), options).unwrap();
        let mut session = store.session();
        session.admit_all();
        let (mut most, mut writes_beyond, mut most_beyond) = (0, 0, 0);
        for i in 0..100_000_u64 {
            put(&mut session, &i.to_be_bytes(), &[7; 100]);
            let used = used(&store);
            most = most.max(used);
            writes_beyond = if used > LIMIT + SHARE { writes_beyond + 1 } else { 0 };
            most_beyond = most_beyond.max(writes_beyond);
        }
        let stats = store.stats();
        // A session is granted up to a share of the limit, and its index may grow by more until the
        // session asks again. The hash table of `mlp` did so by 50 KiB in one of 60 stores and by
        // 211 KB in one test run: it depends on the table's random seed.
        assert!(most <= LIMIT + LIMIT / 8, "{index}: {most}; {stats:?}");
        assert!(most_beyond * 100 <= 2 * SHARE, "{index}: {most_beyond} writes; {stats:?}");
        assert!(stats.memory.total() < LIMIT + LIMIT / 8, "{index}: {stats:?}");
        // Not much more is evicted than necessary.
        assert!(used(&store) > LIMIT * 3 / 4, "{index}: {stats:?}");
        assert_eq!(stats.keys as u64 + stats.evicted, 100_000, "{index}");
    }
}

/// Incident: long writes evicted between two entries into the epoch. Their log refused the records
/// of an epoch that had closed meanwhile, and the process ended. Fix: a write evicts within the
/// epoch that it has entered.
#[test]
fn long_writes_stay_within_the_limit_across_epochs() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), limited(Durability::Buffered, LIMIT, Eviction::Lru)).unwrap();
    let closed = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !closed.load(std::sync::atomic::Ordering::Relaxed) {
                store.flush().unwrap();
            }
        });
        let mut session = store.session();
        let (written, _) = session
            .write(|writer| {
                (0..60_000_u64).try_for_each(|i| writer.put(&i.to_be_bytes(), &[7; 100]).map(drop))
            })
            .unwrap();
        closed.store(true, std::sync::atomic::Ordering::Relaxed);
        written.unwrap();
    });
    let stats = store.stats();
    assert!(stats.evicted > 0 && used(&store) < LIMIT + LIMIT / 4, "{stats:?}");
    assert_eq!(stats.keys as u64 + stats.evicted, 60_000);
}

#[test]
fn small_writes_of_several_threads_stay_within_the_limit() {
    threads_stay_within_the_limit(2_000);
}

#[test]
fn large_writes_of_several_threads_stay_within_the_limit() {
    threads_stay_within_the_limit(300_000);
}

fn threads_stay_within_the_limit(largest: u64) {
    let limit = 16 << 20;
    let (_folder, store) = open(limit, Eviction::Lru);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let store = &store;
            scope.spawn(move || {
                let mut session = store.session();
                session.admit_all();
                let mut random = StoreTestRng(0x9e37_79b9 + thread);
                for _ in 0..4_000 {
                    let len = if random.below(20) == 0 { random.below(largest) } else { random.below(2_000) };
                    put(&mut session, &random.next().to_be_bytes(), &vec![1; len as usize]);
                    let now = used(store);
                    // Each thread may have been granted the same room.
                    assert!(now <= limit + 4 * 300_000, "{now}: {:?}", store.stats());
                }
            });
        }
    });
    assert!(used(&store) <= limit, "{:?}", store.stats());
    assert!(store.stats().evicted > 1_000);
}

#[test]
fn the_simple_methods_evict_by_themselves() {
    let (_folder, store) = open(LIMIT, Eviction::Lru);
    for i in 0..60_000_u32 {
        store.put(&i.to_be_bytes(), &[7; 100]).unwrap();
    }
    let stats = store.stats();
    assert!(stats.evicted > 20_000 && used(&store) < LIMIT + LIMIT / 16, "{stats:?}");
    // Without eviction, writes that add memory are rejected until the limit is raised.
    store.set_memory_limit(Some(LIMIT / 2), Eviction::None);
    assert!(matches!(store.put(b"new", b"1"), Err(Error::OverBudget { .. })));
    store.set_memory_limit(None, Eviction::None);
    store.put(b"new", b"1").unwrap();
    assert_eq!(store.memory_limit(), (None, Eviction::None));
}

#[test]
fn a_collection_is_evicted_as_one_key() {
    for index in indexes() {
        collections_go_as_one_key(index);
    }
}

/// Incident: in an index that uses more memory for members than the default index, the rest of dead
/// sets counted as live. Consequence: nearly all other keys were evicted for it.
fn collections_go_as_one_key(index: IndexKind) {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions { index, ..limited(Durability::None, LIMIT, Eviction::Lru) };
    let store = Store::open(folder.path(), options).unwrap();
    let mut session = store.session();
    session.spread_columns(true);
    session.admit_all();
    for i in 0..80_u32 {
        session.make_room(200_000, 0).unwrap();
        let put = session.write(|writer| {
            writer.change_set::<_, Error>(&i.to_be_bytes(), true, |set| {
                (0..2_000_u32).try_for_each(|member| set.put(&member.to_be_bytes(), 1.0).map(drop))
            })
        });
        put.unwrap().0.unwrap();
    }
    let stats = store.stats();
    assert!(stats.evicted > 20 && stats.keys >= 5, "{index}: {stats:?}");
    assert!(used(&store) < LIMIT + 400_000, "{index}: {stats:?}");
}

#[test]
fn ttl_eviction_takes_the_first_to_expire() {
    let (_folder, store) = open(LIMIT, Eviction::Ttl);
    let mut session = store.session();
    session.admit_all();
    let soon = store.options().clock.now() + 1_000_000;
    for i in 0..2_000_u32 {
        put(&mut session, format!("s{i}").as_bytes(), &[7; 100]);
    }
    let mut last = 0;
    for i in 0..40_000_u64 {
        let room = session.make_room(200, 0).unwrap().0;
        assert!(room >= 200, "{room}");
        // In every hundred, the keys that expire later are written first.
        let expires = soon + (i / 100) * 100 + (100 - i % 100);
        last = last.max(expires);
        session.write(|writer| writer.put_until(&i.to_be_bytes(), &[7; 100], expires)).unwrap().0.unwrap();
    }
    assert!(used(&store) <= LIMIT);
    assert!((0..2_000).all(|i| store.get(format!("s{i}").as_bytes()).unwrap().is_some()));
    let left: Vec<u64> = (0..40_000_u64).filter_map(|i| store.expires_at(&i.to_be_bytes())).collect();
    let first = left.iter().min().unwrap();
    // All keys that expire before the first remaining one were evicted.
    assert!(left.len() > 5_000 && *first > soon + 100, "{}", left.len());
    assert_eq!(left.iter().filter(|at| **at > first + 100).count() as u64 / 100, (last - first - 100) / 100);
    // When no key expires any more, nothing can be evicted.
    for i in 0..40_000_u64 {
        store.persist(&i.to_be_bytes()).unwrap();
    }
    let refused = (0..60_000_u32).find(|i| {
        let room = session.make_room(200, 0).unwrap().0;
        if room >= 200 {
            session.write(|writer| writer.put(&i.to_be_bytes(), &[7; 100])).unwrap().0.unwrap();
        }
        room < 200
    });
    assert!(refused.is_some(), "{:?}", store.stats());
}

/// Returns the share of successful lookups in a cache of about a third of the keys, for a skewed
/// trace with changing favourite keys. And the number of keys at the end.
fn hits(evict: impl Fn(&mut Session, &mut StoreTestRng, &mut Vec<u64>, u64) -> bool) -> (f64, usize) {
    let (_folder, store) = open(LIMIT, Eviction::Lru);
    let mut session = store.session();
    session.admit_all();
    let mut random = StoreTestRng(0x2545_f491_4f6c_dd1d);
    let (mut found, mut present, keys) = (0, Vec::new(), 60_000);
    let rounds = 400_000_u32;
    for i in 0..rounds {
        // Four in five lookups are for a fifteenth of the keys, distributed over all keys; that set
        // changes once.
        let favourite = random.below(keys / 15) * 15 + if i < rounds / 2 { 3 } else { 8 };
        let key = if random.below(5) == 0 { random.below(keys) } else { favourite };
        let there = session.get_with(&key.to_be_bytes(), |row| row.is_some());
        found += u32::from(there);
        if !there && evict(&mut session, &mut random, &mut present, key) {
            session.write(|writer| writer.put(&key.to_be_bytes(), &[7; 100])).unwrap().0.unwrap();
        }
    }
    (f64::from(found) / f64::from(rounds), store.len())
}

#[test]
fn lru_eviction_takes_keys_unused_for_long() {
    if skipped("its empty table takes a third of the limit, so it keeps fewer keys than the other") {
        return;
    }
    let (lru, kept) = hits(|session, _, _, _| session.make_room(172, 0).unwrap().0 >= 172);
    let (by_chance, _) = hits(|session, random, present, key| {
        // As many keys as the evicting store keeps.
        if present.len() >= kept {
            let at = random.below(present.len() as u64) as usize;
            let gone: u64 = present.swap_remove(at);
            session.write(|writer| writer.remove(&gone.to_be_bytes())).unwrap().0.unwrap();
        }
        present.push(key);
        true
    });
    assert!(lru > by_chance + 0.005, "{lru} of lookups are hits; if keys go by chance, {by_chance}");
}

#[test]
fn evicted_keys_do_not_come_back_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), limited(Durability::Sync, LIMIT, Eviction::Lru)).unwrap();
    let mut session = store.session();
    session.admit_all();
    for i in 0..40_000_u64 {
        put(&mut session, &i.to_be_bytes(), &[7; 100]);
    }
    store.flush().unwrap();
    let there = |store: &Store| -> Vec<u64> {
        (0..40_000_u64).filter(|i| store.get(&i.to_be_bytes()).unwrap().is_some()).collect()
    };
    let (before, evicted) = (there(&store), store.stats().evicted);
    assert!(evicted > 5_000 && before.len() as u64 + evicted == 40_000);
    // As a kill leaves it.
    let copy = tempfile::tempdir().unwrap();
    crate::common::copy(folder.path(), copy.path());
    let clock = ExpiryClock::system();
    let again = Store::open(copy.path(), StoreOptions { clock, ..options(Durability::Sync) }).unwrap();
    assert_eq!(there(&again), before);
}

/// Fills a store with keys `k0`, `k1` …. Every fourth key does not expire, and the keys that `used`
/// selects are read all the time. Returns the shares of the remaining keys, in percent: of keys
/// that are read, of others that expire, and of others that do not.
fn remaining(eviction: Eviction, passes: usize, used: impl Fn(u32) -> bool) -> [usize; 3] {
    const KEYS: u32 = 12_000;
    // The limit is so large that the empty table of `mlp` is a small part of it. When the table
    // grows, many keys are evicted at once, and then the keys that are read are not safe.
    let (_folder, store) = open(4 * LIMIT, eviction);
    let mut session = store.session();
    session.admit_all();
    let later = store.options().clock.now() + 1_000_000_000;
    let key = |i: u32| format!("k{i}").into_bytes();
    let write = |session: &mut Session, key: &[u8], expires: bool| {
        assert!(session.make_room(2_000, 0).unwrap().0 >= 2_000, "{eviction}: {:?}", session.store().stats());
        let written = session.write(|writer| {
            let value = &[7; 1_800];
            if expires { writer.put_until(key, value, later) } else { writer.put(key, value) }.map(drop)
        });
        written.unwrap().0.unwrap();
    };
    // Others push the first keys out, while some of these are read, from before the limit is
    // reached.
    let first = 5_000;
    for i in 0..KEYS {
        write(&mut session, &key(i), i % 4 != 0);
        if i % 100 == 0 {
            for _ in 0..passes {
                (0..first.min(i)).filter(|i| used(*i)).for_each(|i| session.get_with(&key(i), |_| ()));
            }
        }
    }
    let mut counts = [[0_usize; 2]; 3];
    for i in 0..first {
        let class = if used(i) {
            0
        } else if i % 4 != 0 {
            1
        } else {
            2
        };
        counts[class][0] += 1;
        counts[class][1] += usize::from(store.get(&key(i)).unwrap().is_some());
    }
    assert!(store.stats().evicted > 2_000, "{eviction}: {:?}", store.stats());
    counts.map(|[all, left]| left * 100 / all.max(1))
}

#[test]
fn each_policy_evicts_the_keys_that_it_names() {
    let used = |i: u32| i % 10 == 3;
    // By frequency, an old key that no client reads is as good as a new one.
    for (eviction, most) in [(Eviction::Lru, 40), (Eviction::Lfu, 70)] {
        let [read, expiring, lasting] = remaining(eviction, 5, used);
        assert!(read > 90 && expiring < most && lasting < most, "{eviction}: {read} {expiring} {lasting}");
    }
    for (eviction, most) in [(Eviction::VolatileLru, 40), (Eviction::VolatileLfu, 70)] {
        let [read, expiring, lasting] = remaining(eviction, 5, used);
        assert!(read > 90 && expiring < most && lasting == 100, "{eviction}: {read} {expiring} {lasting}");
    }
    let [read, expiring, lasting] = remaining(Eviction::Random, 1, used);
    let near = |share: usize| read.abs_diff(share) < 15;
    assert!(read < 80 && near(expiring) && near(lasting), "{read} {expiring} {lasting}");
    let [read, expiring, lasting] = remaining(Eviction::VolatileRandom, 1, used);
    assert!(expiring < 60 && lasting == 100, "{read} {expiring} {lasting}");
}

/// A key that was used often survives a long scan over others, unlike with the least recently used.
#[test]
fn a_scan_does_not_drive_out_frequent_keys() {
    let (_folder, store) = open(LIMIT, Eviction::Lfu);
    let mut session = store.session();
    session.admit_all();
    for i in 0..200_u32 {
        put(&mut session, &i.to_be_bytes(), &[7; 400]);
    }
    for _ in 0..2_000 {
        (0..200_u32).for_each(|i| session.get_with(&i.to_be_bytes(), |_| ()));
    }
    let often = store.frequency(&7_u32.to_be_bytes()).unwrap();
    assert!(often > 10, "{often}");
    // A put of a key continues its count.
    put(&mut session, &7_u32.to_be_bytes(), &[8; 400]);
    assert!(store.frequency(&7_u32.to_be_bytes()).unwrap() >= often);
    assert_eq!(store.frequency(b"none"), None);
    // Each of these keys is written and read once: more than a limit of them, in total.
    for i in 1_000..13_000_u32 {
        put(&mut session, &i.to_be_bytes(), &[7; 400]);
        session.get_with(&i.to_be_bytes(), |_| ());
    }
    let left = (0..200_u32).filter(|i| store.get(&i.to_be_bytes()).unwrap().is_some()).count();
    assert!(left > 180, "{left}; {often}");
    store.set_memory_limit(Some(LIMIT), Eviction::Lru);
    assert_eq!(store.frequency(&7_u32.to_be_bytes()), None, "not noted any more");
}

/// Waits until a condition holds. Panics after a minute.
#[track_caller]
fn wait_for(mut what: impl FnMut() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < Duration::from_secs(60), "the condition still does not hold");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The thread that removes expired keys lets the clock tick, also without a limit.
#[test]
fn idle_times_follow_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ExpiryClock::manual(1_700_000_000_000);
    let options = StoreOptions {
        clock: clock.clone(),
        expiry_interval: Some(Duration::from_millis(1)),
        ..StoreOptions::default()
    };
    let store = Store::open(folder.path(), options).unwrap();
    let mut session = store.session();
    for key in [b"read", b"left"] {
        put(&mut session, key, b"v");
    }
    let hour = Duration::from_secs(3600);
    let second = Duration::from_secs(1);
    for _ in 0..5 {
        clock.advance(hour);
        // Until the clock of the uses has ticked.
        wait_for(|| {
            clock.advance(second);
            store.idle_time(b"read") >= Some(second)
        });
        session.get_with(b"read", |row| assert!(row.is_some()));
    }
    assert_eq!(store.idle_time(b"read"), Some(Duration::ZERO));
    assert!(store.idle_time(b"left") >= Some(hour * 4), "{:?}", store.idle_time(b"left"));
    assert_eq!(store.idle_time(b"none"), None);
    // A put is a use, and so is the read of a whole batch of keys.
    put(&mut session, b"left", b"w");
    assert_eq!(store.idle_time(b"left"), Some(Duration::ZERO));
    store.set_idle_time(b"left", hour * 50);
    assert!(store.idle_time(b"left") >= Some(hour * 49));
    session.get_many(&[b"left"], |_, row| assert!(row.is_some()));
    assert_eq!(store.idle_time(b"left"), Some(Duration::ZERO));
}

/// Without a key that expires, the policies of such keys evict nothing.
#[test]
fn volatile_policies_leave_other_keys() {
    for eviction in [Eviction::VolatileLru, Eviction::VolatileLfu, Eviction::VolatileRandom] {
        let (_folder, store) = open(LIMIT, eviction);
        let mut session = store.session();
        session.admit_all();
        let refused = (0..60_000_u32).find(|i| {
            let room = session.make_room(200, 0).unwrap().0;
            if room >= 200 {
                session.write(|writer| writer.put(&i.to_be_bytes(), &[7; 100])).unwrap().0.unwrap();
            }
            room < 200
        });
        assert!(refused.is_some() && store.stats().evicted == 0, "{eviction}: {:?}", store.stats());
    }
}
