use skein_sync::atomic::{AtomicBool, Ordering};

use super::TestSet;
use crate::test_fixtures::TestEnd;
use crate::trie::WalkDirection;

/// Keys that stay, each in a version of its own length.
const KEYS: u64 = 400;
/// Keys behind them that are all there or all not there.
const OTHERS: u64 = 300;

fn key(at: u64, version: u64) -> Vec<u8> {
    let mut key = at.to_be_bytes().to_vec();
    key.extend(version.to_be_bytes());
    key.resize(16 + ((at * 31 + version * 97) % 200) as usize, 7);
    key
}

/// Replaces some keys by their next versions, and inserts or removes the others, in one write.
fn write(store: &TestSet, number: u64, versions: &mut [u64]) {
    let mut writer = store.buffer.write();
    for at in (number % 7..KEYS).step_by(7) {
        let version = &mut versions[at as usize];
        assert!(store.set.remove(&mut writer, &key(at, *version)).unwrap());
        *version += 1;
        assert!(store.set.insert(&mut writer, &key(at, *version)).unwrap());
    }
    if number.is_multiple_of(2) {
        for at in KEYS..KEYS + OTHERS {
            assert!(store.set.insert(&mut writer, &key(at, number)).unwrap());
        }
    } else {
        for at in KEYS..KEYS + OTHERS {
            assert!(store.set.remove(&mut writer, &key(at, number - 1)).unwrap());
        }
    }
    writer.publish().unwrap();
}

fn read(store: &TestSet) {
    let found = store.read(|set, pages| {
        let ranks = (0..KEYS).step_by(17).map(|at| set.rank_by(pages, |key| key < &at.to_be_bytes()[..]));
        Ok((ranks.collect::<Result<Vec<_>, _>>()?, set.len(pages)?))
    });
    let (ranks, len) = found.unwrap();
    assert!(ranks.into_iter().eq((0..KEYS).step_by(17)));
    assert!(len == KEYS || len == KEYS + OTHERS, "{len}");
}

fn walk(store: &TestSet, direction: WalkDirection) {
    let position = if direction == WalkDirection::Forward { 0 } else { u64::MAX };
    let mut keys = store.walk(position, direction, usize::MAX).unwrap();
    if direction == WalkDirection::Backward {
        keys.reverse();
    }
    let len = keys.len() as u64;
    assert!(len == KEYS || len == KEYS + OTHERS, "{len}");
    let numbers = keys.iter().map(|key| u64::from_be_bytes(key[..8].try_into().unwrap()));
    assert!(numbers.eq(0..len), "each key is there in one version");
}

#[test]
fn readers_see_all_of_a_write_or_nothing() {
    let store = TestSet::new(48);
    let done = AtomicBool::new(false);
    let mut versions = vec![0; KEYS as usize];
    (0..KEYS).for_each(|at| assert!(store.insert(&key(at, 0)).unwrap()));
    std::thread::scope(|scope| {
        let _done = TestEnd(&done);
        let (store, done) = (&store, &done);
        let repeat = |read: fn(&TestSet)| {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    read(store);
                }
            });
        };
        repeat(read);
        repeat(|store| walk(store, WalkDirection::Forward));
        repeat(|store| walk(store, WalkDirection::Backward));
        for number in 0..1_000 {
            write(store, number, &mut versions);
            if number % 100 == 0 {
                store.checkpoint(number);
            }
        }
    });
    walk(&store, WalkDirection::Forward);
    assert_eq!(store.check().keys, KEYS);
}
