//! Batches: several writes that are applied together or not at all.

/// Writes to any keys that [`crate::Store::apply`] applies together: all or nothing on disk, for
/// readers of several keys, and for snapshots.
#[derive(Debug, Default, Clone)]
pub struct Batch {
    pub(crate) writes: Vec<(Vec<u8>, BatchWrite)>,
}

/// One write of a [`Batch`].
#[derive(Debug, Clone)]
pub enum BatchWrite {
    /// A value, and its time of expiry in milliseconds since 1970.
    Put(Vec<u8>, Option<u64>),
    /// Columns that are set; the others are kept.
    PutColumns(Vec<(Vec<u8>, Vec<u8>)>),
    /// Removes the key.
    Remove,
}

impl Batch {
    /// Returns an empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key to a value.
    pub fn put(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> &mut Self {
        self.writes.push((key.into(), BatchWrite::Put(value.into(), None)));
        self
    }

    /// Sets a key to a value that expires at `expires`, in milliseconds since 1970.
    pub fn put_until(
        &mut self,
        key: impl Into<Vec<u8>>,
        value: impl Into<Vec<u8>>,
        expires: u64,
    ) -> &mut Self {
        self.writes.push((key.into(), BatchWrite::Put(value.into(), Some(expires))));
        self
    }

    /// Sets columns of a key and keeps the others.
    pub fn put_columns(&mut self, key: impl Into<Vec<u8>>, columns: &[(&[u8], &[u8])]) -> &mut Self {
        let columns = columns.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        self.writes.push((key.into(), BatchWrite::PutColumns(columns)));
        self
    }

    /// Removes a key.
    pub fn remove(&mut self, key: impl Into<Vec<u8>>) -> &mut Self {
        self.writes.push((key.into(), BatchWrite::Remove));
        self
    }

    /// Adds a write of a key.
    pub fn push(&mut self, key: impl Into<Vec<u8>>, write: BatchWrite) -> &mut Self {
        self.writes.push((key.into(), write));
        self
    }

    /// Returns the writes in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &BatchWrite)> {
        self.writes.iter().map(|(key, write)| (&key[..], write))
    }

    /// Returns the number of writes.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Returns whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
}
