//! Keys chosen to collide: they fill the colors of one hash where the seeds are known, and do nothing where they are not.

use std::collections::HashMap;

use super::symbol::{SYMBOLS, Symbols};
use super::table::Table;
use super::tests::trie;
use super::*;
use crate::slot::Inline;

/// Hashes of 23 bits.
type Attacked = CuckooTrie<Inline<u64>, 2>;

/// Names of ten bytes, sixteen symbols, with one hash under a table's seeds: beginnings of eight symbols meet endings that are peeled off the hash.
fn colliding_names(table: &Table<2>) -> Vec<Vec<u8>> {
    let bytes = |n: u64| n.to_be_bytes()[3..].to_vec();
    let symbols = |key: &[u8]| (0..8).map(|index| Symbols::of(key).at(index)).collect::<Vec<_>>();
    let numbers = || (0..1 << 14).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24);
    let forward = |key: &[u8]| symbols(key).iter().fold(0, |hash, &symbol| table.extend(hash, symbol));
    let beginnings: HashMap<u32, Vec<u8>> = numbers().map(bytes).map(|key| (forward(&key), key)).collect();
    let target = 0x12_3456;
    let endings = numbers().map(bytes);
    let names = endings.filter_map(|end| {
        let before = symbols(&end).iter().rev().fold(target, |hash, &symbol| table.peel(hash, symbol));
        Some([beginnings.get(&before)?.clone(), end].concat())
    });
    names.take(20).collect()
}

/// Inserts two keys for each name, so that each is a branch's; how many were refused.
fn refused(index: &Attacked, names: &[Vec<u8>]) -> usize {
    let guard = index.base.collector.enter();
    let keys = names.iter().flat_map(|name| [0x00, 0x80].map(|last| [&**name, &[last]].concat()));
    keys.filter(|key| index.insert(key, Inline(1), &guard) == Err(index.full())).count()
}

#[test]
fn keys_chosen_to_collide_fill_an_index_whose_seeds_are_known_and_no_other() {
    let mut attacked: Attacked = trie();
    let names = colliding_names(&attacked.table);
    assert!(names.len() >= 12, "{} names", names.len());
    assert!(refused(&attacked, &names) > 0, "seven colors are not enough for {} names", names.len());
    // Nothing is lost, and the index goes on.
    attacked.check().unwrap();
    assert_eq!(attacked.insert(b"goose", Inline(7), &attacked.base.collector.enter()), Ok(None));

    let mut another: Attacked = trie();
    assert_eq!(refused(&another, &names), 0);
    assert_eq!(another.check().unwrap().keys, 2 * names.len());
    // The attack rests on the seeds and on nothing else.
    let seeds =
        |index: &Attacked| (0..SYMBOLS as u8).map(|symbol| index.table.extend(0, symbol)).collect::<Vec<_>>();
    assert_ne!(seeds(&attacked), seeds(&another));
}
