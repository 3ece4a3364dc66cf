//! Cursors: along the keys, in order, both ways.
//!
//! A cursor keeps the key it stands on, and a walk that gives those after it (`walk.rs`). When something has changed under the walk, or the
//! cursor turns round, it seeks anew from that key.

use std::marker::PhantomData;

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::MlpIndex;
use super::key::{MAX_LEN, ShortKey};
use super::walk::MlpWalk;
use crate::index::Cursor;
use crate::slot::Slot;

#[derive(Clone, Copy, Debug)]
enum MlpCursorState {
    Fresh,
    BeforeFirst,
    /// With the key's bytes, and the value's word as it was when the cursor came here.
    On(ShortKey, [u8; MAX_LEN], u64),
    PastLast,
}

/// A position in an [`MlpIndex`].
#[derive(Debug)]
pub struct MlpCursor<'g, S: Slot, G: Guard, const V: usize> {
    index: &'g MlpIndex<S, V>,
    guard: PhantomData<&'g G>,
    walk: MlpWalk,
    state: MlpCursorState,
}

impl<'g, S: Slot, G: Guard, const V: usize> MlpCursor<'g, S, G, V> {
    pub(super) fn new(index: &'g MlpIndex<S, V>, _guard: &'g G) -> Self {
        Self { index, guard: PhantomData, walk: MlpWalk::new(), state: MlpCursorState::Fresh }
    }

    /// Moves to the first key from `key` on, in a direction.
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

    /// Goes on to the walk's next leaf, or off the end. False if the walk is broken.
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

    /// Moves on from the key the cursor stands on.
    #[inline]
    fn advance(&mut self, key: ShortKey, forward: bool) -> bool {
        if self.walk.is_forward() == forward && self.take_next_leaf() {
            return matches!(self.state, MlpCursorState::On(..));
        }
        self.seek_from(key, false, forward)
    }
}

impl<'g, S: Slot, G: Guard, const V: usize> Cursor<'g, S> for MlpCursor<'g, S, G, V> {
    fn seek(&mut self, key: &[u8]) -> bool {
        // Beyond what is longer than keys can be, there is what is beyond its first eight bytes.
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
            // SAFETY: the word was in the index, and is retired, if at all, under the guard or a later one.
            MlpCursorState::On(_, _, word) => Some(unsafe { S::borrow(word) }),
            _ => None,
        }
    }
}
