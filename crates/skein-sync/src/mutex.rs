//! The mutex façade: `std`'s, or a model's under `--cfg skein_loom`; for locks inside what models explore.

#[cfg(skein_loom)]
pub use crate::model::sync::{Mutex, MutexGuard};
#[cfg(not(skein_loom))]
pub use std::sync::{Mutex, MutexGuard};

use std::sync::{PoisonError, TryLockError};

/// Locks `mutex`; [`crate::locks`] says what is asked of one whose holder may panic.
#[inline]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `mutex` unless another thread has it; as [`lock`] otherwise.
#[inline]
pub fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
