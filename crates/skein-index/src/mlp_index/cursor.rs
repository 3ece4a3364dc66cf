//! Cursors: move over the keys in order, in both directions.
//!
//! A cursor stores its current key and a walk that supplies the next ones (`walk.rs`). If a node
//! has changed under the walk, or the cursor turns around, it seeks again from its current key.

use std::marker::PhantomData;

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::MlpIndexVariant;
use super::key::{MAX_LEN, ShortKey};
use super::variant::MlpSettings;
use super::walk::MlpWalk;
use crate::cursor::{CursorMoves, CursorPosition};
use crate::slot::Slot;

/// A key and its bytes.
type MlpCursorKey = (ShortKey, [u8; MAX_LEN]);

/// A position in an [`MlpIndex`](crate::MlpIndex).
#[derive(Debug)]
pub struct MlpCursor<'g, S: Slot, G: Guard, V: MlpSettings> {
    index: &'g MlpIndexVariant<S, V>,
    guard: PhantomData<&'g G>,
    walk: MlpWalk,
    position: CursorPosition<MlpCursorKey>,
}

impl<'g, S: Slot, G: Guard, V: MlpSettings> MlpCursor<'g, S, G, V> {
    pub(super) fn new(index: &'g MlpIndexVariant<S, V>, _guard: &'g G) -> Self {
        Self { index, guard: PhantomData, walk: MlpWalk::new(), position: CursorPosition::Fresh }
    }

    /// Moves to the first key from `key` on, in the given direction.
    fn seek_from(&mut self, key: ShortKey, inclusive: bool, forward: bool) -> bool {
        let mut backoff = Backoff::new();
        loop {
            let sought = self.walk.seek(self.index, key, inclusive, forward);
            if sought.is_ok() && self.take_next_leaf() {
                return self.position.is_on();
            }
            backoff.wait();
        }
    }

    /// Moves to the walk's next leaf, or past the end. Returns false if the walk failed.
    #[inline]
    fn take_next_leaf(&mut self) -> bool {
        self.position = match self.walk.next(self.index) {
            Ok(Some((key, word))) => CursorPosition::On((key, key.bytes()), word),
            Ok(None) => CursorPosition::off_end(self.walk.is_forward()),
            Err(_) => return false,
        };
        true
    }
}

// SAFETY: a word is read from a leaf under the guard that the cursor borrows.
unsafe impl<'g, S: Slot, G: Guard, V: MlpSettings> CursorMoves<'g, S> for MlpCursor<'g, S, G, V> {
    type Key = MlpCursorKey;

    #[inline(always)]
    fn position(&self) -> &CursorPosition<MlpCursorKey> {
        &self.position
    }

    #[inline(always)]
    fn bytes<'k>(&'k self, (key, bytes): &'k MlpCursorKey) -> &'k [u8] {
        &bytes[..key.len.into()]
    }

    fn seek_to(&mut self, key: &[u8], forward: bool) -> bool {
        // A bound longer than a key lies between its first eight bytes and the next key. So
        // forward, these eight bytes themselves are excluded.
        self.seek_from(ShortKey::last_up_to(key), !forward || key.len() <= MAX_LEN, forward)
    }

    fn move_to_last(&mut self) -> bool {
        self.seek_from(ShortKey::LAST, true, false)
    }

    #[inline]
    fn step(&mut self, (key, _): MlpCursorKey, forward: bool) -> bool {
        if self.walk.is_forward() == forward && self.take_next_leaf() {
            return self.position.is_on();
        }
        self.seek_from(key, false, forward)
    }
}
