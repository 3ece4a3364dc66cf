//! One point of one line of a figure: a trie in an empty folder, all requests set, then some read.
//!
//! The paper's system has no log, so ours runs without its log: it is opened at `none`, and makes
//! one checkpoint, at the end, which writes the pages still in the cache. The request rate excludes
//! that checkpoint, as the paper's rate excludes the pages that the system writes later. The rate
//! that includes it is a second measure.

use skein_disk::{DiskOptions, DiskStore, Durability, PAGE, ReadMode, ReplacementPolicy};

use crate::experiment::Bench;
use crate::experiment::findings::MeasureSpec;
use crate::experiment::scratch::Scratch;
use crate::keyset::SeededRandom;
use crate::machine::ResidentBytes;
use crate::result::AxisPoint;
use crate::rival::store::DiskTrieSetup;
use crate::sys::{LoopClock, pinned};
use crate::{Error, Result};

use super::requests::KeyRequests;

/// The measure of requests per second.
pub const SET: MeasureSpec<'_> = rate("set");
/// The same including the final write of all pages.
const WRITTEN: MeasureSpec<'_> = rate("set, and all pages written");
/// The measure of reads per second, after all requests were set.
pub const GET: MeasureSpec<'_> = rate("get");
/// The paper's bytes per query, counting pages in use. The file is longer, since it grows by 1,024
/// pages at a time.
pub const GROWTH: MeasureSpec<'_> = MeasureSpec::less("file per request", "B/request");
/// The same per key, since several requests may set one key.
pub const PER_KEY: MeasureSpec<'_> = MeasureSpec::less("file per key", "B/key");
/// The fraction of page accesses that had to read the page.
pub const MISSES: MeasureSpec<'_> = MeasureSpec::less("pages read", "% of those asked for");
/// The resident memory of the whole process, including the requests and memory left over from
/// earlier turns.
const MEMORY: MeasureSpec<'_> = MeasureSpec::less("resident, whole process", "MiB");

/// Returns a measure of thousands of requests per second.
pub const fn rate(measure: &str) -> MeasureSpec<'_> {
    MeasureSpec::more(measure, "kreq/s")
}

/// The greatest number of gets; their keys are those of random requests.
const GETS_MOST: usize = 1_000_000;

/// Returns options of a trie's store without a log, with a cache of `cache_pages` pages.
pub fn options(trie: &DiskTrieSetup, cache_pages: usize) -> DiskOptions {
    DiskOptions {
        shape: trie.shape,
        cache_pages,
        durability: Durability::None,
        checkpoint_bytes: 0,
        ..DiskOptions::default()
    }
}

/// SAFETY: experiments open stores only in scratch folders of their own.
pub const MAPPING: ReadMode = unsafe { ReadMode::mapping() };

/// Returns the same options with the paper's buffer manager, which maps pages and evicts the least
/// recently used one.
pub fn as_in_paper(trie: &DiskTrieSetup, cache_pages: usize) -> DiskOptions {
    DiskOptions { policy: ReplacementPolicy::Lru, reading: MAPPING, ..options(trie, cache_pages) }
}

/// Returns an error of the disk engine as one of the bench.
#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
pub fn failed(error: skein_disk::DiskError) -> Error {
    Error::Failed(format!("the disk engine: {error}"))
}

/// Returns thousands per second.
pub fn thousands(count: usize, seconds: f64) -> f64 {
    count as f64 / seconds / 1e3
}

/// Returns a part as a fraction of the whole, or bytes per item.
pub fn of_each(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Sets the value of each of these requests; returns the seconds that it took.
pub fn set(
    store: &DiskStore,
    asked: &KeyRequests,
    mut numbers: std::ops::Range<usize>,
    clock: LoopClock,
) -> Result<f64> {
    let begun = clock.now();
    let done = pinned(0, || {
        numbers
            .try_for_each(|number| store.set(asked.keys.get(number), &KeyRequests::value(number)).map(drop))
    })?;
    done.map_err(failed)?;
    Ok(clock.since(begun).as_secs_f64())
}

/// One line of a figure at one point.
#[derive(Debug)]
pub struct TrieSeries<'a> {
    /// Its name in the figure.
    pub name: &'a str,
    /// The options of the store.
    pub options: DiskOptions,
    /// The requests.
    pub asked: &'a KeyRequests,
    /// The point on the axis.
    pub at: Option<AxisPoint>,
}

impl TrieSeries<'_> {
    /// Runs one round.
    ///
    /// # Errors
    /// If the engine fails or answers wrongly.
    pub fn measure(&self, bench: &mut Bench, scratch: &Scratch) -> Result<()> {
        let (folder, clock) = (scratch.fresh("disk")?, bench.plan.clock);
        let store = DiskStore::open(folder, self.options.clone()).map_err(failed)?;
        let count = self.asked.len();
        let seconds = set(&store, self.asked, 0..count, clock)?;
        self.add(bench, SET, thousands(count, seconds))?;
        let begun = LoopClock::Wall.now();
        store.checkpoint().map_err(failed)?;
        let written = LoopClock::Wall.since(begun).as_secs_f64();
        self.add(bench, WRITTEN, thousands(count, seconds + written))?;
        self.space(bench, &store)?;
        let got = self.get(bench, &store)?;
        self.add(bench, GET, got)?;
        let buffer = store.stats().buffer;
        self.add(bench, MISSES, 100.0 * of_each(buffer.misses, buffer.hits + buffer.misses))?;
        self.add(bench, MEMORY, of_each(ResidentBytes::now()?.bytes, 1 << 20))?;
        store.close().map_err(failed)
    }

    fn add(&self, bench: &mut Bench, place: MeasureSpec<'_>, figure: f64) -> Result<()> {
        bench.add(place, self.name, self.at.as_ref(), figure)
    }

    /// Returns the file's bytes per request; measures nothing else.
    ///
    /// # Errors
    /// If the engine fails.
    pub fn measure_space(&self, scratch: &Scratch) -> Result<f64> {
        let folder = scratch.fresh("disk")?;
        let store = DiskStore::open(folder, self.options.clone()).map_err(failed)?;
        set(&store, self.asked, 0..self.asked.len(), LoopClock::Wall)?;
        store.checkpoint().map_err(failed)?;
        let grown = of_each(bytes_in_use(&store), self.asked.len() as u64);
        store.close().map_err(failed)?;
        Ok(grown)
    }

    /// Records the file's bytes per request and per key.
    fn space(&self, bench: &mut Bench, store: &DiskStore) -> Result<()> {
        let bytes = bytes_in_use(store);
        self.add(bench, GROWTH, of_each(bytes, self.asked.len() as u64))?;
        self.add(bench, PER_KEY, of_each(bytes, self.asked.distinct as u64))
    }

    /// Reads the keys of random requests and checks every value; returns thousands per second.
    fn get(&self, bench: &Bench, store: &DiskStore) -> Result<f64> {
        let (asked, clock) = (self.asked, bench.plan.clock);
        let mut random = SeededRandom::new(bench.plan.seed);
        let numbers: Vec<usize> =
            (0..asked.len().min(GETS_MOST)).map(|_| random.below(asked.len())).collect();
        let begun = clock.now();
        let wrong = pinned(0, || {
            numbers.iter().try_fold(0, |wrong, &number| {
                let value = store.get(asked.keys.get(number))?;
                Ok(wrong + usize::from(value.as_deref() != Some(&asked.value_in_the_end(number)[..])))
            })
        })?;
        let seconds = clock.since(begun).as_secs_f64();
        Error::check_answers(self.name, GET.measure, wrong.map_err(failed)?)?;
        Ok(thousands(numbers.len(), seconds))
    }
}

/// Returns the bytes of the pages in use in a store's file.
pub fn bytes_in_use(store: &DiskStore) -> u64 {
    let buffer = store.stats().buffer;
    u64::from(buffer.file_pages - buffer.free_pages) * PAGE as u64
}
