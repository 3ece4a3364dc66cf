//! State that is used under the server's own lock, and therefore by one thread at a time.

use std::cell::RefCell;

/// A value that all entry points of the module may use, one at a time (invariant 1 of the crate).
///
/// The thread may change. Another module may hold the server's lock in a thread of its own and call
/// commands there. The server then calls our notification handlers on that thread.
pub struct Gil<T>(RefCell<T>);

// SAFETY: all entry points run under the server's lock (invariant 1). The lock orders them and
// their writes.
unsafe impl<T: Send> Sync for Gil<T> {}

impl<T> Gil<T> {
    pub const fn new(value: T) -> Self {
        Self(RefCell::new(value))
    }

    /// Calls `f` with the value and returns its result. `f` must not call a function of the server
    /// that could call the module again (invariant 2).
    ///
    /// # Panics
    /// Panics if `f` leads to another call of `with` on the same value.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.0.borrow_mut())
    }
}
