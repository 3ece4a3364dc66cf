use super::TestSet;
use crate::page::PAGE;
use crate::test_fixtures::random_numbers;
use crate::trie::{DiskTrie, TrieShape, WalkDirection};

/// Returns the key of a score and a member: `collection 8 | score 8 | member 16`.
fn score_key(score: u64, next: &mut impl FnMut(u64) -> u64) -> Vec<u8> {
    let mut key = 5_u64.to_be_bytes().to_vec();
    key.extend(score.to_be_bytes());
    key.extend((0..16).map(|_| next(256) as u8));
    key
}

/// Returns different scores at random places of the whole range.
fn scattered(at: u64) -> u64 {
    at.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns how full the leaves are, in percent.
fn fill(store: &TestSet) -> usize {
    let census = store.check();
    census.leaf_bytes * 100 / (census.leaves * PAGE)
}

#[test]
fn keys_in_order_fill_pages() {
    for is_descending in [false, true] {
        let (store, mut next) = (TestSet::new(1_000), random_numbers(1));
        for at in 0..20_000 {
            let score = if is_descending { 20_000 - at } else { at };
            assert!(store.insert(&score_key(score << 20, &mut next)).unwrap());
        }
        let fill = fill(&store);
        assert!(fill >= 97, "{fill} % full");
    }
}

/// Several collections grow in order at the same time, as boards of times do.
#[test]
fn keys_in_order_between_others_fill_pages() {
    for is_descending in [false, true] {
        let store = TestSet::new(1_000);
        for at in 0..40_000_u64 {
            let mut key = (at % 8).to_be_bytes().to_vec();
            key.extend(if is_descending { 1_000_000 - at } else { at }.to_be_bytes());
            key.extend([at as u8; 16]);
            assert!(store.insert(&key).unwrap());
        }
        let fill = fill(&store);
        assert!(fill >= 90, "{fill} % full, descending: {is_descending}, {:?}", store.check());
    }
}

/// Each key precedes the last one, behind a full page: no key may get a page of its own.
#[test]
fn keys_that_approach_a_full_page_share_pages() {
    for is_descending in [false, true] {
        let (store, mut next) = (TestSet::new(1_000), random_numbers(2));
        for at in 0..1_000 {
            for score in [at, (1 << 40) + at] {
                store.insert(&score_key(score, &mut next)).unwrap();
            }
        }
        for at in 0..10_000 {
            let score = (1 << 30) + if is_descending { (10_000 - at) << 8 } else { at << 8 };
            store.insert(&score_key(score, &mut next)).unwrap();
        }
        let fill = fill(&store);
        assert!(fill >= 60, "{fill} % full, descending: {is_descending}, {:?}", store.check());
    }
}

/// Keys in order fill a page and leave the last one in a page of its own. The separator between
/// them is short, so another key still belongs to the end of the full page.
#[test]
fn a_key_at_the_end_of_a_full_page_goes_to_a_nearly_empty_neighbour() {
    for is_descending in [false, true] {
        let store = TestSet::new(100);
        let key = |score: u64| [&score.to_be_bytes()[..], &[7; 24]].concat();
        let mut last = if is_descending { (1 << 30) + 128 } else { 128 };
        while store.check().leaves < 2 {
            last = if is_descending { last - 256 } else { last + 256 };
            assert!(store.insert(&key(last)).unwrap());
        }
        let len = store.check().keys;
        let (between, rank) = if is_descending { (last + 255, 1) } else { (last - 255, len - 1) };
        assert!(store.insert(&key(between)).unwrap());
        assert_eq!((store.check().leaves, store.rank(&key(between))), (2, rank));
    }
}

#[test]
fn random_keys_fill_two_thirds_of_pages_and_leave_them_when_they_are_removed() {
    let (store, mut next) = (TestSet::new(2_000), random_numbers(3));
    let keys: Vec<_> = (0..40_000).map(|_| score_key(next(1 << 31) << 32, &mut next)).collect();
    for key in &keys {
        assert!(store.insert(key).unwrap());
    }
    let (full, before) = (fill(&store), store.check());
    assert!((64..76).contains(&full), "{full} % full, {before:?}");
    for (key, at) in keys.iter().zip(0..) {
        assert!(at % 20 == 0 || store.remove(key).unwrap());
    }
    let (rest, after) = (fill(&store), store.check());
    assert!(rest >= 40, "{rest} % full, {after:?}");
    for key in keys.iter().step_by(20) {
        assert!(store.remove(key).unwrap());
    }
    assert_eq!(store.check().pages(), 1);
}

/// An insertion changes the pages on its path, and no others but for splits.
#[test]
fn an_insertion_changes_the_path_alone() {
    let (store, mut next) = (TestSet::new(2_000), random_numbers(4));
    let mut changed = 0;
    for at in 0..30_000 {
        let mut writer = store.buffer.write();
        assert!(store.set.insert(&mut writer, &score_key(scattered(at), &mut next)).unwrap());
        changed += writer.copies();
        writer.publish().unwrap();
    }
    let depth = store.check().depth;
    assert!(changed < 30_000 * depth + 1_500, "{changed} pages, depth {depth}");
}

/// Returns the CPU time of this thread in nanoseconds.
fn cpu_time() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split(' ').next().unwrap().parse().unwrap()
}

/// Figures of a million keys, beside the linked trie. Prints only; run it with `--ignored`.
#[test]
#[ignore = "takes a minute, and prints figures"]
fn figures_of_a_million_keys() {
    const KEYS: u64 = 1_000_000;
    for (name, score) in [("in order", (|at| at << 20) as fn(u64) -> u64), ("at random", scattered)] {
        let mut next = random_numbers(9);
        let keys: Vec<_> = (0..KEYS).map(|at| score_key(score(at), &mut next)).collect();
        let [store, TestSet { buffer, .. }] = [(); 2].map(|()| TestSet::new(40_001));
        let mut writer = buffer.write();
        let trie = DiskTrie::create(&mut writer, TrieShape::Linked, [9; 16]).unwrap();
        writer.publish().unwrap();
        let per = |begin: u64, count: u64| (cpu_time() - begin) / count;
        let (begin, mut changed) = (cpu_time(), 0);
        for key in &keys {
            let mut writer = store.buffer.write();
            assert!(store.set.insert(&mut writer, key).unwrap());
            changed += writer.copies();
            writer.publish().unwrap();
        }
        let insert = per(begin, KEYS);
        let begin = cpu_time();
        for (key, version) in keys.iter().zip(1..) {
            let mut writer = buffer.write();
            assert!(trie.set(&mut writer, key, version, &[]).unwrap());
            writer.publish().unwrap();
        }
        let set = per(begin, KEYS);
        let at = |at: u64| &keys[(at * 7_919 % KEYS) as usize];
        let begin = cpu_time();
        let ranks: u64 = (0..KEYS).map(|key| store.rank(at(key))).fold(0, u64::wrapping_add);
        let rank = per(begin, KEYS);
        assert_eq!(ranks, KEYS * (KEYS - 1) / 2);
        let (begin, mut value) = (cpu_time(), Vec::new());
        for key in 0..KEYS {
            let found = buffer.read_with(|view| trie.get_into(&mut &*view, at(key), &mut value));
            assert!(found.unwrap().is_some());
        }
        let get = per(begin, KEYS);
        let begin = cpu_time();
        assert_eq!(store.walk(0, WalkDirection::Forward, usize::MAX).unwrap().len() as u64, KEYS);
        let walk = per(begin, KEYS);
        let census = store.check();
        let trie_pages = buffer.read_with(|mut view| trie.check(&mut view, |_| Ok(()))).unwrap().pages;
        let begin = cpu_time();
        for key in 0..KEYS {
            assert!(store.remove(at(key)).unwrap());
        }
        let remove = per(begin, KEYS);
        let each = |count: usize| f64::from(count as u32) / f64::from(KEYS as u32);
        println!(
            "{name}: {:.1} bytes a key (trie {:.1}), {:.3} pages changed by an insertion, depth {}; \
             ns of CPU time: insert {insert} (trie set {set}), rank {rank} (trie get {get}), walk {walk}, remove {remove}",
            each(census.pages() * PAGE),
            each(trie_pages * PAGE),
            each(changed),
            census.depth,
        );
    }
}
