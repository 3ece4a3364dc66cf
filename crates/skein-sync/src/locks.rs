//! Functions for `std`'s locks that ignore poisoning.
//!
//! REQUIRES: the data of such a lock are consistent between any two statements of its holders that
//! can panic. Then a poisoned lock means only that a holder panicked, which was reported at that
//! place. The data are still valid, and refusing the lock would turn one failure into many.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// Locks `mutex`.
#[inline]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the value out of `mutex`.
pub fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the value of `mutex` without locking it.
#[inline]
pub fn get_mut<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `lock` for reading, together with other readers.
#[inline]
pub fn shared<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `lock` for writing, alone.
#[inline]
pub fn alone<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on `condvar`.
pub fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Waits on `condvar` for at most `time`.
pub fn wait_timeout<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, time: Duration) -> MutexGuard<'a, T> {
    condvar.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_a_holder_does_not_block_others() {
        let mut mutex = Mutex::new(1);
        let held = std::panic::catch_unwind(|| {
            *lock(&mutex) = 2;
            let _held = lock(&mutex);
            panic!("while holding it");
        });
        assert!(held.is_err() && mutex.is_poisoned());
        *lock(&mutex) += 1;
        assert_eq!(*get_mut(&mut mutex), 3);
        assert_eq!(into_inner(mutex), 3);
        let shared_or_alone = RwLock::new(1);
        let held = std::panic::catch_unwind(|| {
            *alone(&shared_or_alone) = 2;
            let _held = alone(&shared_or_alone);
            panic!("while holding it");
        });
        assert!(held.is_err() && shared_or_alone.is_poisoned());
        *alone(&shared_or_alone) += 1;
        assert_eq!(*shared(&shared_or_alone), 3);
    }
}
