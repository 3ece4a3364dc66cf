//! The collector of the models. It keeps all objects until it is dropped.

use std::fmt;
use std::sync::Mutex;

use super::{Guard, sealed};

type ModelRetired = (*mut (), unsafe fn(*mut (), &GracePeriod));

/// Stands in for the collector over `seize`.
#[derive(Default)]
pub struct Collector {
    retired: Mutex<Vec<ModelRetired>>,
}

// SAFETY: only the thread that drops the collector uses the pointers, to pass them to their
// reclaimers.
unsafe impl Send for Collector {}
// SAFETY: as above; the list is behind a mutex.
unsafe impl Sync for Collector {}

impl Collector {
    /// Creates an empty collector.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the collector unchanged, because it frees everything when it is dropped.
    #[must_use]
    pub fn batch_size(self, _: usize) -> Self {
        self
    }

    /// Returns a guard of the current thread.
    pub fn enter(&self) -> LocalGuard<'_> {
        ModelGuard { collector: self }
    }

    /// Returns a guard that any thread may hold.
    pub fn enter_owned(&self) -> OwnedGuard<'_> {
        ModelGuard { collector: self }
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collector (stand-in for models)")
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let retired = std::mem::take(&mut *self.retired.lock().expect("a model does not panic inside"));
        for (pointer, reclaim) in retired {
            // SAFETY: dropping the collector ends all guards, and each pointer was retired once.
            unsafe { reclaim(pointer, &GracePeriod(())) };
        }
    }
}

/// Stands in for the type of the same name.
#[derive(Debug)]
pub struct GracePeriod(());

/// Stands in for both kinds of guards.
#[derive(Debug)]
pub struct ModelGuard<'a> {
    collector: &'a Collector,
}

/// Stands in for the guard of a thread.
pub type LocalGuard<'a> = ModelGuard<'a>;
/// Stands in for the guard that any thread may hold.
pub type OwnedGuard<'a> = ModelGuard<'a>;

impl sealed::Sealed for ModelGuard<'_> {}

impl Guard for ModelGuard<'_> {
    fn refresh(&mut self) {}

    fn flush(&self) {}

    fn collector(&self) -> &Collector {
        self.collector
    }

    fn thread_id(&self) -> usize {
        0
    }

    unsafe fn defer_retire<T>(&self, pointer: *mut T, reclaim: unsafe fn(*mut T, &GracePeriod)) {
        // SAFETY: the two function types differ in the pointee of a thin pointer only.
        let reclaim: unsafe fn(*mut (), &GracePeriod) = unsafe { std::mem::transmute(reclaim) };
        let mut retired = self.collector.retired.lock().expect("a model does not panic inside");
        retired.push((pointer.cast(), reclaim));
    }
}
