//! The packing thread of a store over the page tree: memory falls after random writes and removals,
//! while a writer goes on, and every key keeps its value and its version.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{StoreTestRng, over};
use skein_store::{Durability, IndexKind, Store, StoreOptions};

const KEYS: u64 = 60_000;

fn opened(pack_interval: Option<Duration>) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions { pack_interval, ..over(IndexKind::PageTree, Durability::None) };
    let store = Store::open(folder.path(), options).unwrap();
    (folder, store)
}

fn key(number: u64) -> Vec<u8> {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec()
}

/// Returns a value of up to 400 bytes: most lie in pages, and some do not.
fn value(number: u64, round: u64) -> Vec<u8> {
    let len = if number.is_multiple_of(50) { 400 } else { 8 + number % 60 };
    vec![(number + round) as u8; len as usize]
}

/// Writes keys in random order, some of them again with another length, and removes a third. Returns
/// the contents.
fn fill(store: &Store) -> BTreeMap<Vec<u8>, (u64, Vec<u8>)> {
    let (mut random, mut model) = (StoreTestRng(7), BTreeMap::new());
    for number in 0..KEYS {
        let version = store.put(&key(number), &value(number, 0)).unwrap();
        model.insert(key(number), (version, value(number, 0)));
    }
    for round in 1..=KEYS / 2 {
        let number = random.below(KEYS);
        if random.below(3) > 0 {
            store.remove(&key(number)).unwrap();
            model.remove(&key(number));
        } else {
            let version = store.put(&key(number), &value(number + round, round)).unwrap();
            model.insert(key(number), (version, value(number + round, round)));
        }
    }
    model
}

#[test]
fn memory_falls_while_a_writer_goes_on() {
    let (_folder, loose) = opened(None);
    fill(&loose);
    let (_folder, store) = opened(Some(Duration::from_millis(1)));
    let model = fill(&store);
    let busy = |number: u64| [b"busy/".as_slice(), &number.to_be_bytes()].concat();
    let stop = &AtomicBool::new(false);
    let rounds = std::thread::scope(|scope| {
        let store = &store;
        let writer = scope.spawn(move || {
            let mut round = 0_u64;
            while round == 0 || !stop.load(Ordering::Relaxed) {
                for number in 0..200 {
                    store.put(&busy(number), &round.to_be_bytes()).unwrap();
                    assert_eq!(store.get(&busy(number)).unwrap().as_deref(), Some(&round.to_be_bytes()[..]));
                }
                round += 1;
            }
            round
        });
        let most = loose.stats().memory.nodes * 9 / 10;
        let began = Instant::now();
        while store.stats().memory.nodes > most && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        let rounds = writer.join().unwrap();
        let nodes = store.stats().memory.nodes;
        assert!(nodes <= most, "{nodes} bytes of nodes; without packing, {}", loose.stats().memory.nodes);
        rounds
    });
    for number in 0..200 {
        assert_eq!(store.get(&busy(number)).unwrap(), Some((rounds - 1).to_be_bytes().to_vec()));
        store.remove(&busy(number)).unwrap();
    }
    assert_eq!(store.stats().keys, model.len());
    for (key, (version, value)) in &model {
        let entry = store.get_entry(key).unwrap();
        assert_eq!((entry.version, entry.value.as_deref().unwrap()), (*version, &value[..]), "{key:?}");
    }
    assert!(
        (0..KEYS)
            .all(|number| model.contains_key(&key(number)) || store.get(&key(number)).unwrap().is_none())
    );
    store.close().unwrap();
}
