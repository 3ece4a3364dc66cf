//! The mutex façade: `std`'s mutex, or a model's under `--cfg skein_loom`. For locks in code that
//! models explore.

#[cfg(skein_loom)]
pub use crate::model::sync::{Mutex, MutexGuard};
#[cfg(not(skein_loom))]
pub use std::sync::{Mutex, MutexGuard};

use std::sync::{PoisonError, TryLockError};

/// Locks `mutex`. [`crate::locks`] has the requirement on holders that may panic.
#[inline]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `mutex` like [`lock`], or returns `None` if another thread holds it.
#[inline]
pub fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
