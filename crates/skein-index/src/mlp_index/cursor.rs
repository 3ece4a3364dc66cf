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
use crate::index::Cursor;
use crate::slot::Slot;

#[derive(Clone, Copy, Debug)]
enum MlpCursorState {
    Fresh,
    BeforeFirst,
    /// With the key's bytes, and the value's word at the time of the move.
    On(ShortKey, [u8; MAX_LEN], u64),
    PastLast,
}

/// A position in an [`MlpIndex`](crate::MlpIndex).
#[derive(Debug)]
pub struct MlpCursor<'g, S: Slot, G: Guard, V: MlpSettings> {
    index: &'g MlpIndexVariant<S, V>,
    guard: PhantomData<&'g G>,
    walk: MlpWalk,
    state: MlpCursorState,
}

impl<'g, S: Slot, G: Guard, V: MlpSettings> MlpCursor<'g, S, G, V> {
    pub(super) fn new(index: &'g MlpIndexVariant<S, V>, _guard: &'g G) -> Self {
        Self { index, guard: PhantomData, walk: MlpWalk::new(), state: MlpCursorState::Fresh }
    }

    /// Moves to the first key from `key` on, in the given direction.
    fn seek_from(&mut self, key: ShortKey, inclusive: bool, forward: bool) -> bool {
        let mut backoff = Backoff::new();
        loop {
            let sought = self.walk.seek(self.index, key, inclusive, forward);
            if sought.is_ok() && self.take_next_leaf() {
                return matches!(self.state, MlpCursorState::On(..));
            }
            backoff.wait();
        }
    }

    /// Moves to the walk's next leaf, or past the end. Returns false if the walk failed.
    #[inline]
    fn take_next_leaf(&mut self) -> bool {
        self.state = match self.walk.next(self.index) {
            Ok(Some((key, word))) => MlpCursorState::On(key, key.bytes(), word),
            Ok(None) if self.walk.is_forward() => MlpCursorState::PastLast,
            Ok(None) => MlpCursorState::BeforeFirst,
            Err(_) => return false,
        };
        true
    }

    #[inline]
    fn advance(&mut self, key: ShortKey, forward: bool) -> bool {
        if self.walk.is_forward() == forward && self.take_next_leaf() {
            return matches!(self.state, MlpCursorState::On(..));
        }
        self.seek_from(key, false, forward)
    }
}

impl<'g, S: Slot, G: Guard, V: MlpSettings> Cursor<'g, S> for MlpCursor<'g, S, G, V> {
    fn seek(&mut self, key: &[u8]) -> bool {
        // A bound longer than a key lies between its first eight bytes and the next key. So these
        // eight bytes themselves are excluded.
        self.seek_from(ShortKey::last_up_to(key), key.len() <= MAX_LEN, true)
    }

    fn seek_back(&mut self, key: &[u8]) -> bool {
        self.seek_from(ShortKey::last_up_to(key), true, false)
    }

    fn last(&mut self) -> bool {
        self.seek_from(ShortKey::LAST, true, false)
    }

    fn next(&mut self) -> bool {
        match self.state {
            MlpCursorState::Fresh | MlpCursorState::BeforeFirst => self.first(),
            MlpCursorState::On(key, ..) => self.advance(key, true),
            MlpCursorState::PastLast => false,
        }
    }

    fn prev(&mut self) -> bool {
        match self.state {
            MlpCursorState::Fresh | MlpCursorState::PastLast => self.last(),
            MlpCursorState::On(key, ..) => self.advance(key, false),
            MlpCursorState::BeforeFirst => false,
        }
    }

    fn key(&self) -> Option<&[u8]> {
        match &self.state {
            MlpCursorState::On(key, bytes, _) => Some(&bytes[..key.len.into()]),
            _ => None,
        }
    }

    fn value(&self) -> Option<S::Ref<'g>> {
        match self.state {
            // SAFETY: the word was in the index. It is retired under this guard or a later one, if
            // at all.
            MlpCursorState::On(_, _, word) => Some(unsafe { S::borrow(word) }),
            _ => None,
        }
    }
}
