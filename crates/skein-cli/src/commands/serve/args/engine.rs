//! The options of the disk engine.

use skein_disk::{CACHE_LEAST, DiskOptions, PAGE, ReadMode, SNAPSHOTS_MOST, TrieShape, Values};
use skein_server::ServeOptions;
use skein_server::config::{PageReading, TrieName};

use crate::exit::Failure;

/// Returns the options of the disk engine. `max_memory` is another name for the cache's size; 0
/// means the default.
pub fn disk_options(given: &ServeOptions) -> Result<DiskOptions, Failure> {
    let least = CACHE_LEAST * PAGE;
    let max_memory = Some(given.max_memory).filter(|size| *size > 0);
    for (name, size) in [("--cache", given.cache), ("--max-memory", max_memory)] {
        if let Some(size) = size.filter(|size| *size < least as u64) {
            let what = "over the disk engine it is the size of the cache";
            return Err(Failure::usage(format!("{name} {size}: {what}, {least} bytes at least")));
        }
    }
    let size = given.cache.or(max_memory);
    let by_size = size.map(|size| usize::try_from(size / PAGE as u64).unwrap_or(usize::MAX));
    Ok(DiskOptions {
        shape: shape(given)?,
        values: Values::Rows,
        // One for each read of a collection. `DiskEngine` bounds those of clients.
        snapshots: SNAPSHOTS_MOST,
        cache_pages: by_size.unwrap_or(given.cache_pages),
        policy: given.policy,
        reading: match given.reading {
            PageReading::Calls => ReadMode::Calls,
            // SAFETY: the store locks its folder and makes its files accessible only to their
            // owner, and the server opens one store there. `docs/operations.md` tells the owner not
            // to write to these files.
            PageReading::Mapping => unsafe { ReadMode::mapping() },
        },
        ..DiskOptions::default()
    })
}

fn shape(given: &ServeOptions) -> Result<TrieShape, Failure> {
    let n = given.trie_size.unwrap_or(TrieShape::USUAL_SIZE);
    match (given.trie.unwrap_or_default(), given.trie_size) {
        (TrieName::Classical, _) => Ok(TrieShape::Classical { n }),
        (TrieName::Hash, _) => Ok(TrieShape::Hash { n }),
        (TrieName::Linked, None) => Ok(TrieShape::Linked),
        (TrieName::Linked, Some(_)) => Err(Failure::usage(
            "--trie-size is of --trie classical and --trie hash; a linked trie has as many children as there are",
        )),
    }
}
