//! Cursors: along the keys, in order, both ways.
//!
//! A cursor keeps the key it stands on, and a walk that gives those after it (`walk.rs`). When something has changed under the walk, or the
//! cursor turns round, it seeks anew from that key.

use std::marker::PhantomData;

use skein_sync::reclaim::Guard;
use skein_sync::spin::Backoff;

use super::MlpIndex;
use super::key::{Key, MAX_LEN};
use super::walk::Walk;
use crate::index::Cursor;
use crate::slot::Slot;

#[derive(Clone, Copy, Debug)]
enum State {
    Fresh,
    BeforeFirst,
    /// With the key's bytes, and the value's word as it was when the cursor came here.
    On(Key, [u8; MAX_LEN], u64),
    PastLast,
}

/// A position in an [`MlpIndex`].
#[derive(Debug)]
pub struct MlpCursor<'g, S: Slot, G: Guard, const V: usize> {
    index: &'g MlpIndex<S, V>,
    guard: PhantomData<&'g G>,
    walk: Walk,
    state: State,
}

impl<'g, S: Slot, G: Guard, const V: usize> MlpCursor<'g, S, G, V> {
    pub(super) fn new(index: &'g MlpIndex<S, V>, _guard: &'g G) -> Self {
        Self { index, guard: PhantomData, walk: Walk::new(), state: State::Fresh }
    }

    /// Moves to the first key from `key` on, in a direction.
    fn seek_from(&mut self, key: Key, inclusive: bool, forward: bool) -> bool {
        let mut backoff = Backoff::new();
        loop {
            let sought = self.walk.seek(self.index, key, inclusive, forward);
            if sought.is_ok() && self.settle() {
                return matches!(self.state, State::On(..));
            }
            backoff.wait();
        }
    }

    /// Goes on to the walk's next leaf, or off the end. False if the walk is broken.
    #[inline]
    fn settle(&mut self) -> bool {
        self.state = match self.walk.next(self.index) {
            Ok(Some((key, word))) => State::On(key, key.bytes(), word),
            Ok(None) if self.walk.is_forward() => State::PastLast,
            Ok(None) => State::BeforeFirst,
            Err(_) => return false,
        };
        true
    }

    /// Moves on from the key the cursor stands on.
    #[inline]
    fn advance(&mut self, key: Key, forward: bool) -> bool {
        if self.walk.is_forward() == forward && self.settle() {
            return matches!(self.state, State::On(..));
        }
        self.seek_from(key, false, forward)
    }
}

impl<'g, S: Slot, G: Guard, const V: usize> Cursor<'g, S> for MlpCursor<'g, S, G, V> {
    fn seek(&mut self, key: &[u8]) -> bool {
        // Beyond what is longer than keys can be, there is what is beyond its first eight bytes.
        self.seek_from(Key::last_up_to(key), key.len() <= MAX_LEN, true)
    }

    fn seek_back(&mut self, key: &[u8]) -> bool {
        self.seek_from(Key::last_up_to(key), true, false)
    }

    fn last(&mut self) -> bool {
        self.seek_from(Key::LAST, true, false)
    }

    fn next(&mut self) -> bool {
        match self.state {
            State::Fresh | State::BeforeFirst => self.first(),
            State::On(key, ..) => self.advance(key, true),
            State::PastLast => false,
        }
    }

    fn prev(&mut self) -> bool {
        match self.state {
            State::Fresh | State::PastLast => self.last(),
            State::On(key, ..) => self.advance(key, false),
            State::BeforeFirst => false,
        }
    }

    fn key(&self) -> Option<&[u8]> {
        match &self.state {
            State::On(key, bytes, _) => Some(&bytes[..key.len.into()]),
            _ => None,
        }
    }

    fn value(&self) -> Option<S::Ref<'g>> {
        match self.state {
            // SAFETY: the word was in the index, and is retired, if at all, under the guard or a later one.
            State::On(_, _, word) => Some(unsafe { S::borrow(word) }),
            _ => None,
        }
    }
}
