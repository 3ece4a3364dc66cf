//! Keys chosen to collide: they exhaust the colors of one hash if the attacker knows the seeds, and
//! have no effect if not.

use std::collections::{BTreeMap, HashMap};

use super::symbols::{KeySymbols, SYMBOLS};
use super::table::CuckooTable;
use super::tests::trie;
use super::variant::{CuckooOfLeastBits, CuckooTrieVariant};
use crate::hash::peelable::EMPTY_HASH;
use crate::index::OrderedIndex;
use crate::slot::Inline;

/// An index with hashes of 23 bits.
type Attacked = CuckooTrieVariant<Inline<u64>, CuckooOfLeastBits<2>>;

/// Returns pieces of ten bytes, sixteen symbols, that lead from the hash `from` to the hash
/// `target` under this table's seeds. Each joins a beginning of eight symbols with an ending that
/// was peeled off the target.
fn colliding_pieces(table: &CuckooTable<CuckooOfLeastBits<2>>, from: u32, target: u32) -> Vec<Vec<u8>> {
    let bytes = |n: u64| n.to_be_bytes()[3..].to_vec();
    let symbols = |key: &[u8]| (0..8).map(|index| KeySymbols::of(key).at(index)).collect::<Vec<_>>();
    let numbers = || (0..1 << 14).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24);
    let forward = |key: &[u8]| symbols(key).iter().fold(from, |hash, &symbol| table.extend(hash, symbol));
    let beginnings: HashMap<u32, Vec<u8>> = numbers().map(bytes).map(|key| (forward(&key), key)).collect();
    let endings = numbers().map(bytes);
    let names = endings.filter_map(|end| {
        let before = symbols(&end).iter().rev().fold(target, |hash, &symbol| table.peel(hash, symbol));
        Some([beginnings.get(&before)?.clone(), end].concat())
    });
    names.take(20).collect()
}

fn colliding_names(table: &CuckooTable<CuckooOfLeastBits<2>>) -> Vec<Vec<u8>> {
    colliding_pieces(table, EMPTY_HASH, 0x12_3456)
}

/// Inserts two keys below each name, so that each name belongs to a branch. Returns how many keys
/// were refused.
fn refused(index: &Attacked, names: &[Vec<u8>]) -> usize {
    let guard = index.base.collector.enter();
    let keys = names.iter().flat_map(|name| [0x00, 0x80].map(|last| [&**name, &[last]].concat()));
    keys.filter(|key| index.insert(key, Inline(1), &guard) == Err(index.full())).count()
}

#[test]
fn colliding_keys_fill_only_the_index_with_known_seeds() {
    let mut attacked: Attacked = trie();
    let names = colliding_names(&attacked.engine.table);
    assert!(names.len() >= 12, "{} names", names.len());
    assert!(refused(&attacked, &names) > 0, "seven colors are not enough for {} names", names.len());
    // No key is lost, and the index stays usable.
    attacked.check().unwrap();
    assert_eq!(attacked.insert(b"goose", Inline(7), &attacked.base.collector.enter()), Ok(None));

    let mut another: Attacked = trie();
    assert_eq!(refused(&another, &names), 0);
    assert_eq!(another.check().unwrap().keys, 2 * names.len());
    // The attack depends on the seeds and on nothing else.
    let seeds = |index: &Attacked| {
        (0..SYMBOLS as u8).map(|symbol| index.engine.table.extend(0, symbol)).collect::<Vec<_>>()
    };
    assert_ne!(seeds(&attacked), seeds(&another));
}

/// Incident: if a key repeats the same bytes, a prefix may have the hash of a shorter prefix. A
/// write that began at a hint found the node of one and took it for the other's, because the leaf
/// below began as expected. From there on it assumed a wrong depth. Consequence: keys were stored
/// where no search looks for them, and seeks returned wrong keys. A run of the property tests,
/// where hashes have 23 bits, showed it (with 32 bits, two such prefixes collide once in four
/// thousand million). Fix: a branch stores its depth, and a search that began at a hint must pass a
/// branch with the assumed depth.
///
/// Each round draws new seeds. Once in about a thousand rounds, other names share the hash of the
/// chosen ones by chance, and seven colors are not enough. Then a new key is refused, and nothing
/// changes.
#[test]
fn equal_hashes_of_one_keys_prefixes_are_told_apart() {
    let mut crowded = 0;
    for round in 0..20 {
        let mut refused = false;
        let mut index: Attacked = trie();
        let piece = colliding_pieces(&index.engine.table, EMPTY_HASH, EMPTY_HASH).swap_remove(0);
        let mut model = BTreeMap::new();
        let mut random = 0x9e37_79b9_7f4a_7c15_u64 + round;
        for step in 0..2_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Up to three pieces, then a part of a piece and a varying last byte. Each piece leads
            // to the same hash again.
            let mut key = piece.repeat((random >> 8) as usize % 4);
            key.extend(&piece[..(random >> 16) as usize % 10]);
            key.extend(&[0x00, 0x80, 0xff][..(random >> 24) as usize % 4]);
            let guard = index.base.collector.enter();
            if random >> 60 < 9 {
                let inserted = index.insert(&key, Inline(step), &guard);
                if inserted == Err(index.full()) && !model.contains_key(&key) {
                    refused = true;
                } else {
                    assert_eq!(inserted, Ok(model.insert(key, step)), "round {round}, step {step}");
                }
            } else {
                assert_eq!(index.remove(&key, &guard), model.remove(&key), "round {round}, step {step}");
            }
            drop(guard);
            index.check().unwrap_or_else(|wrong| panic!("round {round}, step {step}: {wrong}"));
        }
        crowded += usize::from(refused);
    }
    assert!(crowded <= 2, "keys were refused in {crowded} of 20 rounds");
}
