//! The keys of a batch that have a prefix in the store.
//!
//! ```text
//!   keys of the batch    a   b   c   d          names, in the buffers of their connections
//!                            │       │
//!   bytes                    <3>b    <5>d       their keys in the store, of two databases
//! ```

use skein_data::StoredKeyspace;

use super::pipelined_reads::BATCH;

/// More memory than this is not kept for the next batch.
const KEPT_BYTES: usize = 64 << 10;

/// The prefixed keys of a batch. Their memory is used again.
#[derive(Default)]
pub(super) struct PrefixedKeys {
    bytes: Vec<u8>,
    /// The position of each in the batch, and its end in `bytes`.
    places: Vec<(usize, usize)>,
}

impl PrefixedKeys {
    /// Begins another batch.
    #[inline]
    pub(super) fn clear(&mut self) {
        if !self.places.is_empty() {
            self.forget();
        }
    }

    #[cold]
    fn forget(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.places.clear();
    }

    /// Adds the key at a position of the batch, unless it is its name.
    #[inline]
    pub(super) fn add(&mut self, at: usize, keyspace: StoredKeyspace, name: &[u8]) {
        if !keyspace.is_default() {
            self.push(at, keyspace, name);
        }
    }

    #[cold]
    fn push(&mut self, at: usize, keyspace: StoredKeyspace, name: &[u8]) {
        self.bytes.extend_from_slice(&keyspace.prefix());
        self.bytes.extend_from_slice(name);
        self.places.push((at, self.bytes.len()));
    }

    /// Replaces the names of these keys in a batch.
    #[inline]
    pub(super) fn put_into<'k>(&'k self, keys: &mut [&'k [u8]; BATCH]) {
        let mut start = 0;
        for &(at, end) in &self.places {
            keys[at] = &self.bytes[start..end];
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_database_0_stay() {
        let mut prefixed = PrefixedKeys::default();
        for (names, databases) in [([&b"a"[..], b"b", b"c"], [0, 3, 5]), ([b"d", b"", b"f"], [0, 0, 1])] {
            prefixed.clear();
            let mut keys: [&[u8]; BATCH] = [b""; BATCH];
            let expected = [0, 1, 2].map(|at| {
                let keyspace = StoredKeyspace::of_database(databases[at]);
                keys[at] = names[at];
                prefixed.add(at, keyspace, names[at]);
                keyspace.stored(names[at]).into_owned()
            });
            prefixed.put_into(&mut keys);
            assert_eq!(keys[..3], expected);
        }
    }
}
