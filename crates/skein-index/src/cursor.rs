//! The positions of a cursor and the moves between them, once for all indexes.
//!
//! ```text
//!   BeforeFirst ◄─ prev ── On(first) ◄─► On(..) ◄─► On(last) ── next ─► PastLast
//!               ── next ─►     ▲                       ▲     ◄─ prev ──
//!                              └─ next ── Fresh ─ prev ┘
//! ```

use crate::index::Cursor;
use crate::slot::Slot;

/// A cursor's position. `K` is what the cursor stores of the key that it is on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CursorPosition<K> {
    /// Not moved yet.
    Fresh,
    /// Before the first key.
    BeforeFirst,
    /// On a key. The word is that of its value when the cursor reached it.
    On(K, u64),
    /// Past the last key.
    PastLast,
}

impl<K> CursorPosition<K> {
    /// Returns the position of a cursor that has passed all keys in a direction.
    pub(crate) fn off_end(forward: bool) -> Self {
        if forward { Self::PastLast } else { Self::BeforeFirst }
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        matches!(self, Self::On(..))
    }
}

/// The moves of an index's cursor. All of them return whether the cursor is on a key afterwards.
///
/// # Safety
/// The word of a cursor that is [on a key](CursorPosition::On) was in the index, under a guard that
/// the cursor borrows for `'g`. So the value is retired, if ever, under this guard or a later one.
pub(crate) unsafe trait CursorMoves<'g, S: Slot> {
    /// See [`CursorPosition`].
    type Key: Copy + 'static;

    /// Returns the position.
    fn position(&self) -> &CursorPosition<Self::Key>;

    /// Returns the bytes of the key that the cursor is on.
    fn bytes<'k>(&'k self, key: &'k Self::Key) -> &'k [u8];

    /// Moves to the first key at or after `key`, or to the last key at or before it.
    fn seek_to(&mut self, key: &[u8], forward: bool) -> bool;

    /// Moves to the first key.
    fn move_to_first(&mut self) -> bool {
        self.seek_to(b"", true)
    }

    /// Moves to the last key.
    fn move_to_last(&mut self) -> bool;

    /// Moves to the next key in a direction. The cursor is on `key`.
    fn step(&mut self, key: Self::Key, forward: bool) -> bool;
}

impl<'g, S: Slot, C: CursorMoves<'g, S>> Cursor<'g, S> for C {
    fn seek(&mut self, key: &[u8]) -> bool {
        self.seek_to(key, true)
    }

    fn seek_back(&mut self, key: &[u8]) -> bool {
        self.seek_to(key, false)
    }

    fn first(&mut self) -> bool {
        self.move_to_first()
    }

    fn last(&mut self) -> bool {
        self.move_to_last()
    }

    #[inline]
    fn next(&mut self) -> bool {
        match *self.position() {
            CursorPosition::On(key, _) => self.step(key, true),
            CursorPosition::Fresh | CursorPosition::BeforeFirst => self.move_to_first(),
            CursorPosition::PastLast => false,
        }
    }

    #[inline]
    fn prev(&mut self) -> bool {
        match *self.position() {
            CursorPosition::On(key, _) => self.step(key, false),
            CursorPosition::Fresh | CursorPosition::PastLast => self.move_to_last(),
            CursorPosition::BeforeFirst => false,
        }
    }

    #[inline]
    fn key(&self) -> Option<&[u8]> {
        match self.position() {
            CursorPosition::On(key, _) => Some(self.bytes(key)),
            _ => None,
        }
    }

    #[inline]
    fn value(&self) -> Option<S::Ref<'g>> {
        match *self.position() {
            // SAFETY: the contract of `CursorMoves`.
            CursorPosition::On(_, word) => Some(unsafe { S::borrow(word) }),
            _ => None,
        }
    }
}
