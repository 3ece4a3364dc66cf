//! Many members beside few keys: compaction, and a cache of the least size.

use skein_log::Durability;
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

use super::{DiskStore, FOLDER, Result, open_options};
use crate::buffer::CACHE_LEAST;
use crate::store::DiskOptions;
use crate::trie::TrieShape;
use crate::{KeySpace, Values};

const MEMBERS: u32 = 20_000;
/// Writes of a transaction.
const BATCH: usize = 3;

/// Returns members with common prefixes in no order.
fn member(at: u32) -> Vec<u8> {
    format!("flock/{}/{:08x}", at % 7, at.wrapping_mul(0x9e37_79b9)).into_bytes()
}

fn value(at: u32) -> Vec<u8> {
    vec![at as u8; at as usize % 40]
}

fn stays(at: u32) -> bool {
    at.wrapping_mul(0x85eb_ca6b) >> 30 == 0
}

/// Sets or removes members, in transactions of a few.
fn change_all(store: &DiskStore, members: impl Iterator<Item = u32>, is_set: bool) {
    let members: Vec<u32> = members.collect();
    for batch in members.chunks(BATCH) {
        let done: Result<()> = store.write(|transaction| {
            for &at in batch {
                if is_set {
                    transaction.set_in(KeySpace::Members, &member(at), &value(at))?;
                } else {
                    assert!(transaction.remove_in(KeySpace::Members, &member(at))?);
                }
            }
            Ok(())
        });
        done.unwrap();
    }
}

#[test]
fn sparse_pages_of_members_are_merged() {
    for cache_pages in [CACHE_LEAST, 4_000] {
        let options = DiskOptions {
            values: Values::Rows,
            cache_pages,
            ..open_options(TrieShape::Hash { n: 16 }, Durability::None)
        };
        let store = DiskStore::open_on(SimStorage::new().share(), FOLDER, options).unwrap();
        store.set(b"flock", b"stays").unwrap();
        change_all(&store, (0..MEMBERS).filter(|at| stays(*at)), true);
        let fresh = store.pages_in_use();
        change_all(&store, (0..MEMBERS).filter(|at| !stays(*at)), true);
        change_all(&store, (0..MEMBERS).filter(|at| !stays(*at)), false);
        let before = store.pages_in_use();
        let report = store.compact().unwrap();
        let after = store.pages_in_use();
        println!("{before} pages, {after} now, {fresh} before the additions, {report:?}");
        assert!(report.pages_merged > 0 && before - after == report.pages_merged);
        assert!(after * 10 <= fresh * 13, "{after} pages, {fresh} before the additions");
        let census = store.check().unwrap();
        let left = (0..MEMBERS).filter(|at| stays(*at)).count();
        assert_eq!((census.main.keys, census.members.unwrap().keys), (1, left));
        let members = store.space(KeySpace::Members).unwrap();
        for at in 0..MEMBERS {
            assert_eq!(members.get(&member(at)).unwrap(), stays(at).then(|| value(at)), "member {at}");
        }
    }
}
