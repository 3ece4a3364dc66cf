//! Ranges of keys are removed some at a time, in a transaction each.

use std::ops::Bound;

use super::record::Write;
use super::transaction::Transaction;
use crate::Result;
use crate::trie::{Direction, Portion};

/// What [`Transaction::remove_range`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Keys that were removed.
    pub count: usize,
    /// The lower bound of what is left to do; none if nothing is.
    pub rest: Option<Bound<Vec<u8>>>,
}

impl Transaction<'_> {
    /// Removes the first keys within bounds, so many at most, and fewer if it is full before. A trie without order does so for all of its keys alone.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`](crate::DiskError::NoOrder) if the trie has none and there is a bound; otherwise as [`set`](Self::set).
    pub fn remove_range(&mut self, bounds: (Bound<&[u8]>, Bound<&[u8]>), most: usize) -> Result<Removed> {
        let (keys, mut more) = self.keys_within(bounds, most)?;
        let mut count = 0_usize;
        for key in &keys {
            if count > 0 && self.is_full() {
                more = true;
                break;
            }
            self.do_write(&Write { key, value: None })?;
            count += 1;
        }
        // All before it are gone, so a trie without order can begin at its first key again.
        let last =
            keys.into_iter().nth(count.wrapping_sub(1)).filter(|_| self.shared.trie.shape().is_ordered());
        let rest = more.then(|| last.map_or(Bound::Unbounded, Bound::Excluded));
        Ok(Removed { count, rest })
    }

    /// The first keys within bounds, and whether there are more.
    fn keys_within(
        &mut self,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        most: usize,
    ) -> Result<(Vec<Vec<u8>>, bool)> {
        self.check()?;
        let trie = &self.shared.trie;
        if (lower, upper) == (Bound::Unbounded, Bound::Unbounded) {
            let keys = trie.some_keys(&mut self.writer, most).map_err(|stop| self.writer.fault(stop))?;
            if let Some(keys) = keys {
                let more = keys.len() == most;
                return Ok((keys, more));
            }
        }
        let (direction, bytes) = (Direction::Forward, usize::MAX);
        let found = self.range(&Portion { lower, upper, direction, keys: most, bytes, values: false })?;
        Ok((found.entries.into_iter().map(|entry| entry.key).collect(), found.more))
    }
}
