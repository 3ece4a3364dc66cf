//! Counts in the expiry index.

use skein_disk::{KeySpace, Result, WalkDirection};
use skein_model::StoredKeyspace;

use super::keys::parse_expiry_key;
use super::reader::{DiskKeys, DiskReads};

/// Entries of the index that an average is made of.
const SAMPLES: u64 = 16;

/// The keys that expire, and about the average of their remaining times in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ExpiringKeys {
    pub(crate) count: u64,
    pub(crate) average_ttl_ms: u64,
}

/// The entries of an expiry index, in order.
pub(crate) trait ExpiryEntries: DiskReads {
    /// Returns the number of entries for which `is_before` is true; it must be true for the first
    /// entries and false for all others.
    fn rank_by(&self, mut is_before: impl FnMut(&[u8]) -> bool) -> Result<u64> {
        self.key_rank_by(KeySpace::Expiry, &mut is_before)
    }

    /// Returns the entry at this position.
    fn entry_at(&self, position: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.entries_from(position, 1)?.pop())
    }

    /// Returns the first `most` entries from this position on.
    fn entries_from(&self, position: u64, most: usize) -> DiskKeys {
        self.keys_from(KeySpace::Expiry, (position, WalkDirection::Forward), most)
    }

    /// Returns the number of entries.
    fn count(&self) -> Result<u64> {
        self.rank_by(|_| true)
    }

    /// Returns the number of keys that have expired at `now`.
    fn expired(&self, now: u64) -> Result<u64> {
        let start = now.to_be_bytes();
        self.rank_by(|entry| entry < &start[..])
    }

    /// Samples the keys that expire. Those that cannot be read do not count.
    fn expiring(&self, now: u64) -> ExpiringKeys {
        self.expiring_of(now, |_| true)
    }

    /// Does the same with the average of those keys of a keyspace that are among the samples. The
    /// count is that of all keyspaces.
    fn expiring_in(&self, keyspace: StoredKeyspace, now: u64) -> ExpiringKeys {
        self.expiring_of(now, |key| StoredKeyspace::holding(key) == Some(keyspace))
    }

    /// Does the same with the average of the selected keys.
    fn expiring_of(&self, now: u64, is_selected: impl Fn(&[u8]) -> bool) -> ExpiringKeys {
        let count = self.count().unwrap_or(0);
        let samples = count.min(SAMPLES);
        let (mut sum, mut selected) = (0, 0);
        for sample in 0..samples {
            let found = self.entry_at(sample * count / samples).ok().flatten();
            let parsed = found.as_deref().and_then(parse_expiry_key);
            if let Some((at, _)) = parsed.filter(|(_, key)| is_selected(key)) {
                sum += at.saturating_sub(now);
                selected += 1;
            }
        }
        ExpiringKeys { count, average_ttl_ms: sum.checked_div(selected).unwrap_or(0) }
    }
}

impl<R: DiskReads> ExpiryEntries for R {}
