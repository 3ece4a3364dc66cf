//! The memory of a store's indexes after nine of ten keys were removed, compared with a fresh store
//! of the remaining keys.

use std::time::{Duration, Instant};

use crate::common::{StoreTestRng, options};
use skein_store::{Durability, IndexKind, Session, Store, StoreOptions};

/// One of this many keys remains.
const ONE_IN: usize = 10;

/// Returns the number of keys before the removals: so many that arrays that do not shrink are not
/// most of the index.
fn keys(index: IndexKind) -> usize {
    if index == IndexKind::Mlp { 240_000 } else { 40_000 }
}

/// Returns the largest allowed ratio to a fresh store.
fn most(index: IndexKind) -> usize {
    if index == IndexKind::Masstree { 3 } else { 2 }
}

fn key(number: usize) -> String {
    format!("{number:08}")
}

fn opened(index: IndexKind) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreOptions { index, ..options(Durability::None) }).unwrap();
    (folder, store)
}

fn fill(session: &mut Session, numbers: impl Iterator<Item = usize>) {
    for number in numbers {
        session.write(|writer| writer.put(key(number).as_bytes(), b"value")).unwrap().0.unwrap();
    }
}

/// The order in which keys are removed: a permutation of the ascending order.
type RemovalOrder = (&'static str, fn(&mut [usize]));

const ORDERS: [RemovalOrder; 3] =
    [("ascending", |_| ()), ("descending", <[usize]>::reverse), ("random", shuffle)];

fn shuffle(numbers: &mut [usize]) {
    let mut random = StoreTestRng(7);
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, (random.next() % (last as u64 + 1)) as usize);
    }
}

/// Incident: Masstree merged no sparse nodes, and Wormhole merged only to the right. Consequence: a
/// server that had lost nine in ten of 200,000 keys kept 9.4 and 10.2 times the node bytes of a
/// fresh one. Fix: both merge a sparse node with either neighbour.
#[test]
fn a_thinned_store_gives_its_nodes_back() {
    for index in IndexKind::ALL {
        let stays = |number: &usize| number % ONE_IN == 3;
        let (_folder, fresh) = opened(index);
        fill(&mut fresh.session(), (0..keys(index)).filter(stays));
        let bound = most(index) * fresh.stats().memory.nodes;
        for (order, apply) in ORDERS {
            let (_folder, store) = opened(index);
            let mut session = store.session();
            fill(&mut session, 0..keys(index));
            let full = store.stats().memory.nodes;
            assert!(full > bound, "{index}: {full} bytes say nothing beside {bound}");
            let mut goes: Vec<usize> = (0..keys(index)).filter(|number| !stays(number)).collect();
            apply(&mut goes);
            for number in goes {
                let removed = session.write(|writer| writer.remove(key(number).as_bytes()));
                assert!(removed.unwrap().0.unwrap().existed);
            }
            drop(session);
            // Background threads of the store may have to finish a removal.
            let began = Instant::now();
            while store.stats().memory.nodes > bound {
                let nodes = store.stats().memory.nodes;
                assert!(
                    began.elapsed() < Duration::from_secs(60),
                    "{index}, {order}: {nodes}, at most {bound}"
                );
                std::thread::yield_now();
            }
        }
    }
}
