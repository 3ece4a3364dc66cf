//! The disk engine: the figures of its paper, this project's aims, and other engines beside it.
//!
//! | file | experiment | content |
//! | --- | --- | --- |
//! | `length.rs` | `bitbase-fig4`, `-fig5`, `-fig6` | the three tries by length of keys |
//! | `node_size.rs` | `bitbase-fig7` | the size of a node |
//! | `cache.rs` | `bitbase-fig8` | the size of the cache |
//! | `policy.rs` | `bitbase-cache` | replacement policy, and how pages are read |
//! | `growth.rs` | `bitbase-growth` | requests as the file grows to ten times the cache |
//! | `space.rs` | `bitbase-fig9` | the file by length of keys and by size of their space |
//! | `rivals.rs` | `bitbase-rivals` | beside LMDB, redb, bf-tree and `RocksDB` |
//! | `sets.rs` | `bitbase-sets` | bytes on disk by kind of keys, beside LMDB and redb |
//! | `requests.rs` | | the paper's requests |
//! | `series.rs` | | one point of one line |

pub mod cache;
pub mod growth;
pub mod length;
pub mod node_size;
pub mod policy;
mod requests;
pub mod rivals;
mod series;
pub mod sets;
pub mod space;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use skein_disk::PAGE;

use super::setting::CACHE_PAGES;
use super::{Bench, BenchPlan, RunSize};
use crate::keyset;
use crate::rival::store::{DiskTrieSetup, PAPER_TRIES, TRIES};
use crate::{Error, Result};
use requests::KeyRequests;

/// Returns the number of requests at a point, starting from an empty file (section 4).
fn count(plan: &BenchPlan) -> usize {
    plan.count.unwrap_or(1_000_000)
}

/// The requests at a point in the paper's layout at the smallest size; with more, the files would
/// take gigabytes.
const SMALL: usize = 100_000;

/// Returns the number of requests at a point for this trie.
fn count_of(plan: &BenchPlan, trie: &DiskTrieSetup) -> usize {
    let small = trie.papers && plan.size == RunSize::Small;
    if small { count(plan).min(SMALL) } else { count(plan) }
}

/// Returns the pages of the cache; the paper has 65,536.
fn cache_pages(plan: &BenchPlan) -> usize {
    plan.setting(&CACHE_PAGES, 1 << 16)
}

/// Returns the memory that a point needs at most: its requests, and the cache with the copies for
/// writing.
fn memory<'a>(plan: &BenchPlan, names: impl IntoIterator<Item = &'a str>, cache_pages: usize) -> Result<u64> {
    let requests = names.into_iter().map(|name| KeyRequests::memory(name, count(plan)));
    Ok(keyset::greatest(requests)? + 2 * (cache_pages * PAGE) as u64)
}

/// Returns those tries that the user wants, grouped by the number of their requests, the most
/// first. Records them as contenders.
fn wanted(
    bench: &mut Bench,
    tries: &[&'static DiskTrieSetup],
) -> Result<Vec<(usize, Vec<&'static DiskTrieSetup>)>> {
    let mut groups = BTreeMap::<usize, Vec<&DiskTrieSetup>>::new();
    for trie in tries.iter().filter(|trie| bench.plan.wants(trie.name)) {
        let about = format!("{}: {}, no log, no checkpoint but one at the end", trie.name, trie.shape);
        bench.findings.contender(trie.words, &about);
        groups.entry(count_of(&bench.plan, trie)).or_default().push(trie);
    }
    let counts: Vec<_> = groups.keys().rev().map(usize::to_string).collect();
    bench.set("requests", counts.join(", "));
    if groups.is_empty() {
        let names: Vec<_> = TRIES.iter().map(|trie| trie.name).collect();
        return Err(Error::Input(format!("no trie is left to measure; choose from: {}", names.join(", "))));
    }
    Ok(groups.into_iter().rev().collect())
}

const LINKED: &DiskTrieSetup = &TRIES[0];
const CLASSICAL: &DiskTrieSetup = &TRIES[1];
const HASH: &DiskTrieSetup = &TRIES[2];
const PAPER_LINKED: &DiskTrieSetup = &PAPER_TRIES[0];
const PAPER_CLASSICAL: &DiskTrieSetup = &PAPER_TRIES[1];
const PAPER_HASH: &DiskTrieSetup = &PAPER_TRIES[2];

/// All three tries in both layouts.
const ALL: [&DiskTrieSetup; 6] = [LINKED, CLASSICAL, HASH, PAPER_LINKED, PAPER_CLASSICAL, PAPER_HASH];
