//! Removal of a range of keys, in several transactions with a limited number of keys each.

use std::ops::Bound;

use super::log_record::LoggedWrite;
use super::transaction::DiskTransaction;
use crate::trie::ScanRequest;
use crate::{KeySpace, Result};

/// Bytes that are read at once to find the next keys. In a hash trie the keys are in the values.
const BYTES: usize = 1 << 20;

/// The result of [`DiskTransaction::remove_range`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeRemoval {
    /// Removed keys.
    pub count: usize,
    /// The lower bound of the remaining keys, or `None` if the range is finished.
    pub rest: Option<Bound<Vec<u8>>>,
}

impl DiskTransaction<'_> {
    /// Removes the first keys of a range: at most `most`, and fewer if the transaction is full or
    /// they have a megabyte. A trie without key order accepts only the range of all keys.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`](crate::DiskError::NoOrder) if the trie has no key order and there is
    /// a bound; otherwise as [`set`](Self::set).
    pub fn remove_range(
        &mut self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        most: usize,
    ) -> Result<RangeRemoval> {
        self.remove_range_in(KeySpace::Main, bounds, most)
    }

    /// Removes the first keys of a range of a key space; see [`remove_range`](Self::remove_range).
    ///
    /// # Errors
    /// As [`remove_range`](Self::remove_range), and
    /// [`DiskError::NoSuchSpace`](crate::DiskError::NoSuchSpace).
    pub fn remove_range_in(
        &mut self,
        space: KeySpace,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        most: usize,
    ) -> Result<RangeRemoval> {
        let (keys, mut more) = self.keys_within(space, bounds, most)?;
        let mut count = 0_usize;
        for key in &keys {
            // Keys with the same hash are returned together, even if they are more.
            if count == most || count > 0 && self.is_full() {
                more = true;
                break;
            }
            self.do_write(&LoggedWrite { space, key, value: None })?;
            count += 1;
        }
        // All keys before it are removed, so a trie without key order can start at its first key
        // again.
        let is_ordered = self.shared.spaces.get(space)?.shape().is_ordered();
        let last = keys.into_iter().nth(count.wrapping_sub(1)).filter(|_| is_ordered);
        let rest = more.then(|| last.map_or(Bound::Unbounded, Bound::Excluded));
        Ok(RangeRemoval { count, rest })
    }

    /// Returns the first keys of a range, and whether there are more.
    fn keys_within(
        &mut self,
        space: KeySpace,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        most: usize,
    ) -> Result<(Vec<Vec<u8>>, bool)> {
        let is_all = (lower, upper) == (Bound::Unbounded, Bound::Unbounded);
        let limits = ScanRequest { keys: most, bytes: BYTES, values: false, ..ScanRequest::default() };
        let request = ScanRequest { lower, upper, ..limits };
        let found = if is_all { self.walk_in(space, &request)? } else { self.range_in(space, &request)? };
        Ok((found.entries.into_iter().map(|entry| entry.key).collect(), found.more))
    }
}
