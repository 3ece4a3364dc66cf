//! Measures the search within a node, linear and binary. Masstree's section 4.8 asks which is
//! faster; the program prints the answer for this processor: nanoseconds per search among 15 sorted
//! 64-bit keys, in nodes that fit the second-level cache.
//!
//! ```sh
//! cargo run --release -p skein-index --example node_search
//! ```
//!
//! `child` is the search of an interior node: the number of keys that are less than or equal to the
//! searched key. `slot` is the search of a border node: the position of the equal key. Searches
//! with branches stop at the answer. Those without branches compare the same keys whatever the
//! answer is.

use std::hint::black_box;
use std::time::Instant;

const WIDTH: usize = 15;
const NODES: usize = 4096;
const SEARCHES: usize = 4_000_000;
const ROUNDS: usize = 7;

type SearchedKeys = [u64; WIDTH];

fn child_linear(node: &SearchedKeys, key: u64) -> usize {
    node.iter().position(|&here| here > key).unwrap_or(WIDTH)
}

fn child_binary(node: &SearchedKeys, key: u64) -> usize {
    node.partition_point(|&here| here <= key)
}

fn child_all(node: &SearchedKeys, key: u64) -> usize {
    node.iter().map(|&here| usize::from(here <= key)).sum()
}

fn child_two_steps(node: &SearchedKeys, key: u64) -> usize {
    let passed = |index: usize| usize::from(node[index] <= key);
    let group = 4 * (passed(3) + passed(7) + passed(11));
    group + passed(group) + passed(group + 1) + passed(group + 2)
}

fn slot_linear(node: &SearchedKeys, key: u64) -> usize {
    node.iter().position(|&here| here == key).unwrap_or(WIDTH)
}

fn slot_binary(node: &SearchedKeys, key: u64) -> usize {
    node.binary_search(&key).unwrap_or(WIDTH)
}

fn slot_all(node: &SearchedKeys, key: u64) -> usize {
    let mut equal = 0;
    for (slot, &here) in node.iter().enumerate() {
        equal |= u32::from(here == key) << slot;
    }
    equal.trailing_zeros() as usize
}

/// A small generator of pseudo-random numbers (xorshift).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Prints the nanoseconds per search of the best of several rounds. Panics if a search returns a
/// wrong result.
#[allow(clippy::cast_precision_loss)] // Far below 2^52.
fn time(
    name: &str,
    nodes: &[SearchedKeys],
    queries: &[(usize, usize)],
    search: impl Fn(&SearchedKeys, u64) -> usize,
) {
    let round = || {
        let start = Instant::now();
        let mut right = 0;
        for &(node, slot) in queries {
            let node = &nodes[node];
            right += usize::from(search(node, black_box(node[slot])) == slot);
        }
        assert_eq!(right, queries.len());
        start.elapsed().as_secs_f64() * 1e9 / queries.len() as f64
    };
    let best = (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min);
    println!("{name:<32} {best:6.2} ns");
}

fn main() {
    let mut state = 88_172_645_463_325_252;
    let mut node = || {
        let mut node: SearchedKeys = std::array::from_fn(|_| next(&mut state));
        node.sort_unstable();
        node
    };
    let nodes: Vec<SearchedKeys> = (0..NODES).map(|_| node()).collect();
    let mut state = 7;
    let queries: Vec<(usize, usize)> = (0..SEARCHES)
        .map(|_| (next(&mut state) as usize % NODES, next(&mut state) as usize % WIDTH))
        .collect();
    // The child's index counts the key itself, so the key's position is one less.
    time("child, linear, with branches", &nodes, &queries, |node, key| child_linear(node, key) - 1);
    time("child, binary", &nodes, &queries, |node, key| child_binary(node, key) - 1);
    time("child, all keys compared", &nodes, &queries, |node, key| child_all(node, key) - 1);
    time("child, two steps of three", &nodes, &queries, |node, key| child_two_steps(node, key) - 1);
    time("slot, linear, with branches", &nodes, &queries, slot_linear);
    time("slot, binary", &nodes, &queries, slot_binary);
    time("slot, all keys compared", &nodes, &queries, slot_all);
}
