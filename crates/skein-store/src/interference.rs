//! A test double: another client that writes at the worst moment of a write.
//!
//! A write of one key reads the row, decides, and exchanges the row if it is still the same. A caller's
//! closure may thus run twice, or run and then see the key gone without running again. Threads alone
//! meet such a moment rarely. With the feature `interference`, a test plans it: the meddling of
//! [`Store::interfere`](crate::Store::interfere) runs between a decision and its exchange, or between
//! the look at a collection and its change.
//!
//! The writes of a group or of a transaction meet no meddling, because their caller keeps other threads
//! away. Nor do undos. Without the feature there is no field and no call.

use std::sync::{Mutex, PoisonError};

/// What a test does in the middle of a write.
pub type Meddling = Box<dyn FnOnce() + Send>;

/// The meddling that the next write meets, if one is planned.
#[derive(Default)]
pub(crate) struct Interference(Mutex<Option<Meddling>>);

impl Interference {
    /// Plans the meddling with the next write, or none. Returns the former plan if it did not run.
    pub(crate) fn plan(&self, next: Option<Meddling>) -> Option<Meddling> {
        let mut planned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *planned, next)
    }

    /// Runs the meddling. It is taken out before, so that its own writes meet none.
    pub(crate) fn run(&self) {
        if let Some(meddling) = self.plan(None) {
            meddling();
        }
    }
}
