//! A transaction, snapshot or batch that Python objects share until it ends.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::failure::{Failure, Result};

/// The number of changes after the end.
const ENDED: u64 = u64::MAX;

/// A value until its end. No code of Python runs while its lock is held.
#[derive(Debug)]
pub(crate) struct Held<T> {
    value: Mutex<Option<T>>,
    /// How often the value was changed, or [`ENDED`]. Written under the lock.
    changes: AtomicU64,
    /// The error of an operation after the end.
    ended: &'static str,
}

impl<T: Send> Held<T> {
    pub(crate) fn new(value: T, ended: &'static str) -> Self {
        Self { value: Mutex::new(Some(value)), changes: AtomicU64::new(0), ended }
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `act` detached from the interpreter.
    pub(crate) fn read<R: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut T) -> Result<R, skeindb::Error> + Send,
    ) -> Result<R> {
        py.detach(|| match &mut *self.lock() {
            Some(value) => Ok(act(value)?),
            None => Err(self.failure()),
        })
    }

    /// Runs a change detached from the interpreter.
    pub(crate) fn change<R: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut T) -> Result<R, skeindb::Error> + Send,
    ) -> Result<R> {
        self.read(py, |value| {
            // Relaxed: an iterator that misses the change runs beside it.
            self.changes.fetch_add(1, Ordering::Relaxed);
            act(value)
        })
    }

    /// Ends the value and returns it, or `None` if it has ended already.
    pub(crate) fn end(&self, py: Python<'_>) -> Option<T> {
        py.detach(|| {
            let mut value = self.lock();
            // Relaxed: as in `change`.
            self.changes.store(ENDED, Ordering::Relaxed);
            value.take()
        })
    }

    /// Returns how often the value was changed.
    pub(crate) fn changes(&self) -> Result<u64> {
        // Relaxed: as in `change`.
        match self.changes.load(Ordering::Relaxed) {
            ENDED => Err(self.failure()),
            changes => Ok(changes),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.changes().is_err()
    }

    /// Returns the error of an operation after the end.
    pub(crate) fn failure(&self) -> Failure {
        Failure::Ended(self.ended)
    }
}
