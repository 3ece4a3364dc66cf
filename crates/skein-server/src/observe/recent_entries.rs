//! A bounded list of the newest entries that knows its bytes. SLOWLOG and ACL LOG use it, and their
//! entries count as memory.

use std::collections::VecDeque;

/// Entries, the newest first.
#[derive(Debug)]
pub(crate) struct RecentEntries<E> {
    entries: VecDeque<E>,
    bytes: usize,
}

/// A type that knows the bytes it takes.
pub(crate) trait MemorySize {
    fn memory(&self) -> usize;
}

impl<E> Default for RecentEntries<E> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), bytes: 0 }
    }
}

impl<E: MemorySize> RecentEntries<E> {
    /// Adds an entry. Removes the oldest entries beyond `most`.
    pub(crate) fn add(&mut self, entry: E, most: usize) {
        self.bytes += entry.memory();
        self.entries.push_front(entry);
        self.cut(most);
    }

    /// Removes the oldest entries beyond `most`.
    pub(crate) fn cut(&mut self, most: usize) {
        while self.entries.len() > most {
            let oldest = self.entries.len() - 1;
            self.remove(oldest);
        }
    }

    /// Removes the entry at an index and returns it.
    pub(crate) fn remove(&mut self, place: usize) -> Option<E> {
        let entry = self.entries.remove(place)?;
        self.bytes -= entry.memory();
        Some(entry)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &E> {
        self.entries.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the bytes of the entries.
    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl MemorySize for &str {
        fn memory(&self) -> usize {
            self.len()
        }
    }

    #[test]
    fn entries_and_bytes_are_counted() {
        let mut newest = RecentEntries::default();
        for (entry, memory) in [("a", 1), ("bb", 3), ("ccc", 6), ("dddd", 9)] {
            newest.add(entry, 3);
            assert_eq!(newest.memory(), memory);
        }
        assert_eq!(newest.iter().copied().collect::<Vec<_>>(), ["dddd", "ccc", "bb"]);
        assert_eq!((newest.remove(1), newest.remove(9), newest.memory()), (Some("ccc"), None, 6));
        newest.add("e", 0);
        assert_eq!((newest.len(), newest.memory()), (0, 0));
    }
}
