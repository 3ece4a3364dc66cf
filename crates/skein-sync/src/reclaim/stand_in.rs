//! The collector of the models: keeps everything until it is dropped.

use std::fmt;
use std::sync::Mutex;

type Retired = (*mut (), unsafe fn(*mut (), &Collector));

/// Stands in for `seize::Collector`.
#[derive(Default)]
pub struct Collector {
    retired: Mutex<Vec<Retired>>,
}

// SAFETY: the pointers are only handed to their reclaimers, by the one thread that drops the collector.
unsafe impl Send for Collector {}
// SAFETY: as above; the list is behind a mutex.
unsafe impl Sync for Collector {}

impl Collector {
    /// An empty collector.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same: all goes when the collector does.
    #[must_use]
    pub fn batch_size(self, _: usize) -> Self {
        self
    }

    /// A guard of the current thread.
    pub fn enter(&self) -> LocalGuard<'_> {
        LocalGuard { collector: self }
    }

    /// A guard that any thread may hold.
    pub fn enter_owned(&self) -> OwnedGuard<'_> {
        OwnedGuard { collector: self }
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
            unsafe { reclaim(pointer, self) };
        }
    }
}

/// What the indexes use of `seize::Guard`.
pub trait Guard {
    /// The collector that made the guard.
    fn collector(&self) -> &Collector;
    /// A small number for the guard's thread.
    fn thread_id(&self) -> usize {
        0
    }
    /// Does nothing here.
    fn flush(&self) {}
    /// Does nothing here.
    fn refresh(&mut self) {}
    /// Keeps `pointer` until the collector is dropped, then calls `reclaim` on it.
    ///
    /// # Safety
    /// As for `seize::Guard::defer_retire`.
    unsafe fn defer_retire<T>(&self, pointer: *mut T, reclaim: unsafe fn(*mut T, &Collector)) {
        // SAFETY: the two function types differ in the pointee of a thin pointer only.
        let reclaim: unsafe fn(*mut (), &Collector) = unsafe { std::mem::transmute(reclaim) };
        let mut retired = self.collector().retired.lock().expect("a model does not panic inside");
        retired.push((pointer.cast(), reclaim));
    }
}

/// Stands in for `seize::LocalGuard`.
#[derive(Debug)]
pub struct LocalGuard<'a> {
    collector: &'a Collector,
}

impl Guard for LocalGuard<'_> {
    fn collector(&self) -> &Collector {
        self.collector
    }
}

/// Stands in for `seize::OwnedGuard`.
#[derive(Debug)]
pub struct OwnedGuard<'a> {
    collector: &'a Collector,
}

impl Guard for OwnedGuard<'_> {
    fn collector(&self) -> &Collector {
        self.collector
    }
}
