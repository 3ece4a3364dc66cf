//! Ranges of keys are removed some at a time, in a transaction each.

use std::ops::Bound;

use super::log_record::LoggedWrite;
use super::transaction::DiskTransaction;
use crate::Result;
use crate::trie::{ScanRequest, WalkDirection};

/// Bytes that are read at once to know which keys come next: a hash trie has them in its values.
const BYTES: usize = 1 << 20;

/// What [`Transaction::remove_range`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeRemoval {
    /// Keys that were removed.
    pub count: usize,
    /// The lower bound of what is left to do; none if nothing is.
    pub rest: Option<Bound<Vec<u8>>>,
}

impl DiskTransaction<'_> {
    /// Removes the first keys within bounds, so many at most, and fewer if it is full before, or they have a megabyte. A trie without order does so for all of its keys alone.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`](crate::DiskError::NoOrder) if the trie has none and there is a bound; otherwise as [`set`](Self::set).
    pub fn remove_range(
        &mut self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        most: usize,
    ) -> Result<RangeRemoval> {
        let (keys, mut more) = self.keys_within(bounds, most)?;
        let mut count = 0_usize;
        for key in &keys {
            // Keys of one hash may come together, also if they are more.
            if count == most || count > 0 && self.is_full() {
                more = true;
                break;
            }
            self.do_write(&LoggedWrite { key, value: None })?;
            count += 1;
        }
        // All before it are gone, so a trie without order can begin at its first key again.
        let last =
            keys.into_iter().nth(count.wrapping_sub(1)).filter(|_| self.shared.trie.shape().is_ordered());
        let rest = more.then(|| last.map_or(Bound::Unbounded, Bound::Excluded));
        Ok(RangeRemoval { count, rest })
    }

    /// The first keys within bounds, and whether there are more.
    fn keys_within(
        &mut self,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        most: usize,
    ) -> Result<(Vec<Vec<u8>>, bool)> {
        let is_all = (lower, upper) == (Bound::Unbounded, Bound::Unbounded);
        let direction = WalkDirection::Forward;
        let portion = ScanRequest { lower, upper, direction, keys: most, bytes: BYTES, values: false };
        let found = if is_all { self.walk(&portion)? } else { self.range(&portion)? };
        Ok((found.entries.into_iter().map(|entry| entry.key).collect(), found.more))
    }
}
