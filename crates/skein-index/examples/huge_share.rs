//! Measures how much of the memory that an index adds lies on huge pages.
//!
//! Reads keys from a file, one per line, and inserts them from a number of threads into one index.
//! Then prints how much the process has grown, and the part of this on huge pages, as the kernel
//! says in `/proc/self/smaps_rollup`. Each index needs a process of its own.
//!
//! ```text
//! cargo run --release -p skein-index --example huge_share -- wormhole paths.txt 1
//! ```

use std::env;
use std::error::Error;
use std::fs;
use std::thread;

use skein_index::{CuckooTrie, Inline, Masstree, OrderedIndex, SkipList, Wormhole};

/// Returns the resident memory and the part of it on huge pages, in KiB.
fn resident() -> Result<(f64, f64), Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/smaps_rollup")?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|rest| rest.trim().strip_suffix(" kB")).ok_or("no such field")?;
        value.parse::<f64>().map_err(Box::<dyn Error>::from)
    };
    Ok((field("Rss:")?, field("AnonHugePages:")?))
}

fn measure<I: OrderedIndex<Inline<u64>>>(
    index: &I,
    keys: &[&[u8]],
    threads: usize,
) -> Result<(), Box<dyn Error>> {
    let (rss, huge) = resident()?;
    thread::scope(|scope| {
        for part in keys.chunks(keys.len().div_ceil(threads).max(1)) {
            scope.spawn(move || {
                for key in part {
                    let guard = index.collector().enter();
                    index.insert(key, Inline(1), &guard).expect("every index here accepts such keys");
                }
            });
        }
    });
    let (rss, huge) = (resident()?.0 - rss, resident()?.1 - huge);
    println!(
        "{} keys: {:.1} MiB added, {:.1} % of it on huge pages",
        index.len(),
        rss / 1024.0,
        100.0 * huge / rss
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [index, file, threads] = arguments.as_slice() else {
        return Err("usage: huge_share INDEX FILE THREADS".into());
    };
    let text = fs::read(file)?;
    let keys: Vec<&[u8]> = text.split(|byte| *byte == b'\n').filter(|key| !key.is_empty()).collect();
    let threads: usize = threads.parse()?;
    match index.as_str() {
        "masstree" => measure(&Masstree::new(), &keys, threads),
        "wormhole" => measure(&Wormhole::new(), &keys, threads),
        "cuckoo-trie" => measure(&CuckooTrie::new(), &keys, threads),
        "skip-list" => measure(&SkipList::new(), &keys, threads),
        other => {
            Err(format!("unknown index {other}; use masstree, wormhole, cuckoo-trie or skip-list").into())
        }
    }
}
