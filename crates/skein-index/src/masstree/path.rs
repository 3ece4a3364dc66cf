//! The path of a cursor, one border node for each layer, and its key. Both are in place while they
//! are short, so a seek allocates nothing.

use arrayvec::ArrayVec;

use super::frame::BorderFrame;
use super::variant::MasstreeSettings;

/// Upper layers that are held in place.
const UPPER_INLINE: usize = 3;

/// Bytes of a key that are held in place.
const KEY_INLINE: usize = 128;

/// The border nodes on a cursor's path, one per layer. Steps use only the lowest.
pub(super) struct CursorPath<V: MasstreeSettings> {
    lowest: Option<BorderFrame<V>>,
    upper: ArrayVec<BorderFrame<V>, UPPER_INLINE>,
    /// The layers between `upper` and `lowest`, if they are more.
    more: Vec<BorderFrame<V>>,
    /// Bytes of the key in the upper layers.
    prefix: usize,
}

impl<V: MasstreeSettings> CursorPath<V> {
    pub(super) fn new() -> Self {
        Self { lowest: None, upper: ArrayVec::new(), more: Vec::new(), prefix: 0 }
    }

    pub(super) fn clear(&mut self) {
        (self.lowest, self.prefix) = (None, 0);
        self.upper.clear();
        self.more.clear();
    }

    /// Adds a layer below the others.
    #[inline(always)]
    pub(super) fn push(&mut self, frame: BorderFrame<V>) {
        if let Some(upper) = self.lowest.replace(frame) {
            if let Err(full) = self.upper.try_push(upper) {
                self.more.push(full.element());
            }
            self.prefix += size_of::<u64>();
        }
    }

    /// Removes the lowest layer.
    pub(super) fn pop(&mut self) {
        self.lowest = self.more.pop().or_else(|| self.upper.pop());
        self.prefix = self.prefix.saturating_sub(size_of::<u64>());
    }

    /// Returns the lowest layer's node; `None` on an empty path.
    #[inline(always)]
    pub(super) fn lowest(&mut self) -> Option<&mut BorderFrame<V>> {
        self.lowest.as_mut()
    }

    /// Returns the bytes of the key in the layers above the lowest.
    #[inline(always)]
    pub(super) fn prefix(&self) -> usize {
        self.prefix
    }
}

/// A cursor's key.
pub(super) struct CursorKey {
    short: [u8; KEY_INLINE],
    len: usize,
    /// The key, once a key since the last [`clear`](Self::clear) was longer than `short`.
    long: Vec<u8>,
    is_long: bool,
}

impl CursorKey {
    pub(super) const fn new() -> Self {
        Self { short: [0; KEY_INLINE], len: 0, long: Vec::new(), is_long: false }
    }

    pub(super) fn clear(&mut self) {
        (self.len, self.is_long) = (0, false);
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[u8] {
        if self.is_long { &self.long } else { &self.short[..self.len] }
    }

    /// Replaces all after the first `prefix` bytes by the first `len` bytes of `slice`. REQUIRES:
    /// the key has `prefix` bytes.
    #[inline(always)]
    pub(super) fn end_with(&mut self, prefix: usize, slice: [u8; 8], len: usize) {
        if !self.is_long {
            if let Some(room) = self.short.get_mut(prefix..).and_then(<[u8]>::first_chunk_mut) {
                *room = slice;
                self.len = prefix + len;
                return;
            }
            self.lengthen();
        }
        self.long.truncate(prefix);
        self.long.extend_from_slice(&slice[..len]);
    }

    /// Appends bytes.
    #[inline(always)]
    pub(super) fn append(&mut self, bytes: &[u8]) {
        if !self.is_long {
            if let Some(room) = self.short.get_mut(self.len..self.len + bytes.len()) {
                room.copy_from_slice(bytes);
                self.len += bytes.len();
                return;
            }
            self.lengthen();
        }
        self.long.extend_from_slice(bytes);
    }

    /// Moves the key to `long`.
    #[cold]
    fn lengthen(&mut self) {
        self.long.clear();
        self.long.extend_from_slice(&self.short[..self.len]);
        self.is_long = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_any_length_is_its_parts() {
        let slice = *b"abcdefgh";
        let suffix = [7; 3 * KEY_INLINE];
        for layers in 0..=KEY_INLINE / 8 + 2 {
            for (len, rest) in [(0, 0), (3, 0), (8, 0), (8, 1), (8, 20), (8, KEY_INLINE), (8, suffix.len())] {
                let (mut key, mut wanted) = (CursorKey::new(), Vec::new());
                for layer in 0..layers {
                    key.end_with(8 * layer, slice, 8);
                    wanted.extend_from_slice(&slice);
                }
                for _ in 0..2 {
                    wanted.truncate(8 * layers);
                    key.end_with(8 * layers, slice, len);
                    key.append(&suffix[..rest]);
                    wanted.extend_from_slice(&slice[..len]);
                    wanted.extend_from_slice(&suffix[..rest]);
                    assert_eq!(key.as_slice(), wanted, "{layers} layers, {len} and {rest} bytes");
                }
                key.clear();
                assert!(key.as_slice().is_empty());
                key.end_with(0, slice, 5);
                assert_eq!(key.as_slice(), &slice[..5]);
            }
        }
    }
}
