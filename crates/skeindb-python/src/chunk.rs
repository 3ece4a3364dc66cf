//! Chunks of a range. A chunk is read at once, while other threads of Python run.

use std::ops::Bound;

use skeindb::{Iter, Keys};

use crate::failure::Failure;
use crate::range::{KeyBounds, Part};

/// Bytes after which a chunk ends, whatever its rows.
const CHUNK_BYTES: usize = 256 << 10;

/// A key and its value; the value is empty if it was not asked for.
pub(crate) type Row = (Vec<u8>, Vec<u8>);

/// The part of a range that is to be read.
#[derive(Debug, Clone)]
pub(crate) struct ChunkRequest {
    pub(crate) bounds: KeyBounds,
    pub(crate) part: Part,
    pub(crate) reverse: bool,
    /// The most rows.
    pub(crate) rows: usize,
}

/// Rows in the order that was asked for.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) rows: Vec<Row>,
    /// Why there are no more rows, if that is not the end of the range.
    pub(crate) failed: Option<Failure>,
    /// The part of the range behind these rows; `None` if nothing is left.
    pub(crate) rest: Option<KeyBounds>,
}

impl ChunkRequest {
    /// Reads rows.
    pub(crate) fn read(&self, rows: Iter<'_>) -> Chunk {
        self.collect(rows.chunk_rows(self.rows))
    }

    /// Reads keys.
    pub(crate) fn read_keys(&self, keys: Keys<'_>) -> Chunk {
        self.collect(keys.chunk_rows(self.rows).map(|key| Ok((key?, Vec::new()))))
    }

    fn collect(&self, mut rows: impl DoubleEndedIterator<Item = skeindb::Result<Row>>) -> Chunk {
        let (mut chunk, mut bytes) =
            (Chunk { rows: Vec::with_capacity(self.rows), failed: None, rest: None }, 0);
        while chunk.rows.len() < self.rows && bytes < CHUNK_BYTES {
            match if self.reverse { rows.next_back() } else { rows.next() } {
                Some(Ok(row)) => {
                    bytes += row.0.len() + row.1.len();
                    chunk.rows.push(row);
                }
                Some(Err(error)) => {
                    chunk.failed = Some(error.into());
                    return chunk;
                }
                None => return chunk,
            }
        }
        chunk.rest = chunk.rows.last().map(|(key, _)| behind(&self.bounds, key, self.reverse));
        chunk
    }
}

/// Returns the part of bounds behind a key.
pub(crate) fn behind((lower, upper): &KeyBounds, key: &[u8], reverse: bool) -> KeyBounds {
    let beside = Bound::Excluded(key.to_vec());
    if reverse { (lower.clone(), beside) } else { (beside, upper.clone()) }
}
