//! Per-stripe data of keys: latches for writes to several keys, and version floors.
//!
//! A multi-key write latches the stripes of its keys, in order, while it changes the index. A
//! multi-key read compares the words of the stripes before and after, and reads again if one
//! changed:
//!
//! ```text
//!   MSET a b     lock(a) lock(b)   put a   put b   unlock(a) unlock(b)      word: 6 → 7 → 8
//!   MGET a b     words 6, 6 ────── get a, get b ────── words 8, 8: again
//! ```
//!
//! Single-key writes and most single-key reads use no latch. A single-key write between the two
//! puts of an MSET is ordered before or after the MSET, key by key. A single-key read that must not
//! show a part of a batch (`settled`) reads again, as a multi-key read does.
//!
//! A version floor is the greatest version that a removal in the stripe took. A key that is
//! inserted again starts above it, so versions of a key never fall.
//!
//! Design: `docs/design/store.md`.
//!
//! # Invariants
//! 1. The word of a latch is odd while a multi-key write (or a reader that has failed `TRIES`
//!    times) holds it, else even. It grows by one when the latch is taken and when it is released.
//! 2. Latches are taken in ascending order of stripes, each once, so there is no deadlock.

use skein_sync::atomic::{AtomicU64, Ordering, fence};
use skein_sync::spin::Backoff;

/// The number of latches. If n writes run with k keys each, two of them collide with a probability
/// of about (n k)^2 / 2 / LATCHES: 64 workers with 4 keys each collide now and then, two with 64
/// keys each in one of four cases. The words are not padded: two latches in one cache line only
/// slow each other, and 128 KiB stay in the nearer caches.
const LATCHES: usize = if cfg!(skein_loom) { 2 } else { 1 << 14 };

/// The number of version floors. Sharing a floor only makes versions jump further.
const FLOORS: usize = if cfg!(skein_loom) { 1 } else { 4096 };

/// The number of optimistic attempts of a multi-key read before it takes the latches.
const TRIES: usize = if cfg!(skein_loom) { 1 } else { 8 };

#[derive(Debug)]
pub(crate) struct Stripes {
    latches: Box<[AtomicU64]>,
    floors: Box<[AtomicU64]>,
}

/// Hashes a key for stripes only: the hash is never written to disk.
#[inline]
fn hash(key: &[u8]) -> usize {
    crc32c::crc32c(key) as usize
}

/// Held latches; dropping them releases them.
pub(crate) struct LatchedStripes<'s> {
    stripes: &'s Stripes,
    held: Vec<u16>,
}

impl Stripes {
    pub(crate) fn new() -> Self {
        Self {
            latches: (0..LATCHES).map(|_| AtomicU64::new(0)).collect(),
            floors: (0..FLOORS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn floor_of(&self, key: &[u8]) -> &AtomicU64 {
        &self.floors[hash(key) % FLOORS]
    }

    /// Returns the version for an absent key. REQUIRES: called under the key's latch in the index,
    /// like [`raise_floor`](Self::raise_floor). The latch orders the two, so both use Relaxed.
    pub(crate) fn first_version(&self, key: &[u8]) -> u64 {
        self.floor(key) + 1
    }

    /// Returns the version floor: the greatest version that a removal of `key`, or of another key
    /// of its stripe, took. An inserted key has a greater version, so its removal raises the floor.
    pub(crate) fn floor(&self, key: &[u8]) -> u64 {
        // Relaxed: a thread that has seen a key inserted or removed has acquired the earlier writes
        // of that writer.
        self.floor_of(key).load(Ordering::Relaxed)
    }

    /// Notes that a removal of `key` took `version`. REQUIRES: as for `first_version`.
    pub(crate) fn raise_floor(&self, key: &[u8], version: u64) {
        self.floor_of(key).fetch_max(version, Ordering::Relaxed);
    }

    /// Returns the greatest version floor, for a checkpoint.
    pub(crate) fn greatest_floor(&self) -> u64 {
        // Relaxed: a removal that this misses is in the log, in or after the epoch in which the
        // checkpoint begins.
        self.floors.iter().map(|floor| floor.load(Ordering::Relaxed)).max().unwrap_or(0)
    }

    /// Raises all version floors, after a checkpoint was loaded.
    pub(crate) fn raise_all(&self, version: u64) {
        for floor in &self.floors {
            floor.fetch_max(version, Ordering::Relaxed);
        }
    }

    #[inline]
    fn stripe_of(key: &[u8]) -> u16 {
        (hash(key) / FLOORS % LATCHES) as u16
    }

    fn stripes_of<'k>(keys: impl Iterator<Item = &'k [u8]>) -> Vec<u16> {
        let mut stripes: Vec<u16> = keys.map(Self::stripe_of).collect();
        stripes.sort_unstable();
        stripes.dedup();
        stripes
    }

    pub(crate) fn lock<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> LatchedStripes<'_> {
        self.lock_stripes(Self::stripes_of(keys))
    }

    fn lock_stripes(&self, stripes: Vec<u16>) -> LatchedStripes<'_> {
        for &stripe in &stripes {
            let word = &self.latches[stripe as usize];
            let mut backoff = Backoff::new();
            loop {
                let seen = word.load(Ordering::Relaxed);
                // Acquire: pairs with the Release of the previous holder's `drop`.
                if seen.is_multiple_of(2)
                    && word
                        .compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed)
                        .is_ok()
                {
                    break;
                }
                backoff.wait();
            }
        }
        LatchedStripes { stripes: self, held: stripes }
    }

    /// Runs `read`, which looks up one key, until no multi-key write held the key's stripe
    /// meanwhile. So a thread that has seen one key of such a write sees all of them.
    #[inline]
    pub(crate) fn settled<R>(&self, key: &[u8], mut read: impl FnMut() -> R) -> R {
        let word = &self.latches[Self::stripe_of(key) as usize];
        // Acquire: as in `consistent`.
        let before = word.load(Ordering::Acquire);
        if before.is_multiple_of(2) {
            let answer = read();
            // Acquire fence: as in `consistent`.
            fence(Ordering::Acquire);
            if word.load(Ordering::Relaxed) == before {
                return answer;
            }
        }
        self.consistent(std::iter::once(key), read)
    }

    /// Runs `read` until no multi-key write changed the stripes of `keys` meanwhile. Returns the
    /// last answer.
    pub(crate) fn consistent<'k, R>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        mut read: impl FnMut() -> R,
    ) -> R {
        let stripes = Self::stripes_of(keys);
        let mut before = vec![0; stripes.len()];
        let mut backoff = Backoff::new();
        for _ in 0..TRIES {
            for (word, &stripe) in before.iter_mut().zip(&stripes) {
                // Acquire: pairs with the Release in `drop`, so that a finished write is seen
                // whole.
                *word = self.latches[stripe as usize].load(Ordering::Acquire);
            }
            if before.iter().all(|word| word.is_multiple_of(2)) {
                let answer = read();
                // Acquire fence: the words are read again after the rows. The row of a multi-key
                // write was read with Acquire. It pairs with the Release of the writer, and the
                // writer had made the word odd before it.
                fence(Ordering::Acquire);
                let same = |(word, &stripe): (&u64, &u16)| {
                    self.latches[stripe as usize].load(Ordering::Relaxed) == *word
                };
                if before.iter().zip(&stripes).all(same) {
                    return answer;
                }
            }
            backoff.wait();
        }
        let _held = self.lock_stripes(stripes);
        read()
    }
}

impl Drop for LatchedStripes<'_> {
    fn drop(&mut self) {
        for &stripe in &self.held {
            // Release: pairs with the Acquire in `lock_stripes`, `settled` and `consistent`.
            self.stripes.latches[stripe as usize].fetch_add(1, Ordering::Release);
        }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn floors_rise_and_never_fall() {
        let stripes = Stripes::new();
        assert_eq!(stripes.first_version(b"a"), 1);
        stripes.raise_floor(b"a", 7);
        stripes.raise_floor(b"a", 3);
        assert_eq!(stripes.first_version(b"a"), 8);
        stripes.raise_all(5);
        assert_eq!(
            (stripes.first_version(b"a"), stripes.first_version(b"b"), stripes.greatest_floor()),
            (8, 6, 7)
        );
    }

    #[test]
    fn a_reader_of_two_keys_never_sees_half_a_write() {
        let stripes = Stripes::new();
        let cells = [AtomicU64::new(0), AtomicU64::new(0)];
        let keys = [&b"one"[..], b"two"];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 1..20_000 {
                    let _held = stripes.lock(keys.into_iter());
                    cells[0].store(i, Ordering::Release);
                    cells[1].store(i, Ordering::Release);
                }
            });
            for _ in 0..20_000 {
                let read = || (cells[0].load(Ordering::Acquire), cells[1].load(Ordering::Acquire));
                let (a, b) = stripes.consistent(keys.into_iter(), read);
                assert_eq!(a, b);
            }
        });
    }
}

/// `RUSTFLAGS="--cfg skein_loom" cargo test -p skein-store --lib --release models`
#[cfg(all(test, skein_loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Returns two keys in different stripes of the model's two.
    fn keys() -> [&'static [u8]; 2] {
        let all: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
        let of = |key: &[u8]| Stripes::stripes_of(std::iter::once(key));
        let other = all.into_iter().find(|key| of(key) != of(all[0])).unwrap();
        [all[0], other]
    }

    /// The rows of an index: written with Release under their own latch, read with Acquire.
    type Cells = [AtomicU64; 2];

    fn write(stripes: &Stripes, cells: &Cells, value: u64) {
        let _held = stripes.lock(keys().into_iter());
        for cell in cells {
            cell.store(value, Ordering::Release);
        }
    }

    #[test]
    fn a_reader_sees_a_whole_batch_or_none() {
        loom::model(|| {
            let shared = Arc::new((Stripes::new(), [AtomicU64::new(0), AtomicU64::new(0)]));
            let writer = shared.clone();
            let writer = thread::spawn(move || write(&writer.0, &writer.1, 1));
            let (stripes, cells) = &*shared;
            let read = || (cells[0].load(Ordering::Acquire), cells[1].load(Ordering::Acquire));
            let (first, second) = stripes.consistent(keys().into_iter(), read);
            assert_eq!(first, second);
            writer.join().unwrap();
        });
    }

    /// Two reads of one key each, one after the other: the second sees the batch that the first
    /// has seen.
    #[test]
    fn a_batch_that_was_seen_in_one_key_is_seen_in_the_other() {
        loom::model(|| {
            let shared = Arc::new((Stripes::new(), [AtomicU64::new(0), AtomicU64::new(0)]));
            let writer = shared.clone();
            let writer = thread::spawn(move || write(&writer.0, &writer.1, 1));
            let (stripes, cells) = &*shared;
            let [first, second] =
                [0, 1].map(|at: usize| stripes.settled(keys()[at], || cells[at].load(Ordering::Acquire)));
            assert!(first <= second);
            writer.join().unwrap();
        });
    }

    #[test]
    fn two_batches_exclude_each_other() {
        loom::model(|| {
            let shared = Arc::new((Stripes::new(), [AtomicU64::new(0), AtomicU64::new(0)]));
            let other = shared.clone();
            let other = thread::spawn(move || write(&other.0, &other.1, 1));
            write(&shared.0, &shared.1, 2);
            other.join().unwrap();
            let [first, second] = &shared.1;
            assert_eq!(first.load(Ordering::Acquire), second.load(Ordering::Acquire));
        });
    }
}
