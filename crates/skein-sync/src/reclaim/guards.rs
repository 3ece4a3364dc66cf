//! The two kinds of guards. The invariants are those of `reclaim.rs`.

use std::fmt;
use std::mem::{self, ManuallyDrop};

use seize::Guard as _;

use super::abandoned_guards;
use super::collector::{Collector, GracePeriod};
use super::{Guard, sealed};

/// The type of a reclaimer in `seize`.
type Reclaimer<T> = unsafe fn(*mut T, &seize::Collector);

fn reclaimer<T>(reclaim: unsafe fn(*mut T, &GracePeriod)) -> Reclaimer<T> {
    // SAFETY: the types differ only in the pointee of one reference, and a `GracePeriod` is a
    // transparent `seize::Collector`.
    unsafe { mem::transmute(reclaim) }
}

/// A guard of the current thread.
pub struct LocalGuard<'a> {
    collector: &'a Collector,
    kind: LocalGuardKind<'a>,
}

enum LocalGuardKind<'a> {
    /// Dropped by hand, or not at all (invariant 2).
    Local(ManuallyDrop<seize::LocalGuard<'a>>),
    /// The thread is ending (invariant 5).
    Owned(OwnedGuard<'a>),
}

impl<'a> LocalGuard<'a> {
    #[inline(always)]
    pub(super) fn enter(collector: &'a Collector) -> Self {
        if !abandoned_guards::is_counted(&collector.seize) {
            return Self::enter_at_the_end(collector);
        }
        collector.class.count();
        Self { collector, kind: LocalGuardKind::Local(ManuallyDrop::new(collector.seize.enter())) }
    }

    #[cold]
    #[inline(never)]
    fn enter_at_the_end(collector: &'a Collector) -> Self {
        Self { collector, kind: LocalGuardKind::Owned(OwnedGuard::enter(collector)) }
    }
}

impl Drop for LocalGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if let LocalGuardKind::Local(guard) = &mut self.kind {
            self.collector.class.uncount();
            if !self.collector.is_frozen() {
                // SAFETY: the guard is not used after this.
                unsafe { ManuallyDrop::drop(guard) };
            }
        }
    }
}

impl sealed::Sealed for LocalGuard<'_> {}

impl Guard for LocalGuard<'_> {
    #[inline]
    fn refresh(&mut self) {
        match &mut self.kind {
            LocalGuardKind::Local(guard) if !self.collector.is_frozen() => guard.refresh(),
            LocalGuardKind::Local(_) => {}
            LocalGuardKind::Owned(guard) => guard.refresh(),
        }
    }

    fn flush(&self) {
        match &self.kind {
            LocalGuardKind::Local(guard) if !self.collector.is_frozen() => guard.flush(),
            LocalGuardKind::Local(_) => {}
            LocalGuardKind::Owned(guard) => guard.flush(),
        }
    }

    #[inline]
    fn collector(&self) -> &Collector {
        self.collector
    }

    #[inline]
    fn thread_id(&self) -> usize {
        match &self.kind {
            LocalGuardKind::Local(guard) => guard.thread_id(),
            LocalGuardKind::Owned(guard) => guard.thread_id(),
        }
    }

    #[inline]
    unsafe fn defer_retire<T>(&self, pointer: *mut T, reclaim: unsafe fn(*mut T, &GracePeriod)) {
        match &self.kind {
            LocalGuardKind::Local(guard) if !self.collector.is_frozen() => {
                // SAFETY: the caller guarantees it. The batch belongs to the thread's number, which
                // the thread still owns: if it had ended, the class would be frozen.
                unsafe { guard.defer_retire(pointer, reclaimer(reclaim)) };
            }
            LocalGuardKind::Local(_) => {}
            // SAFETY: the caller guarantees it.
            LocalGuardKind::Owned(guard) => unsafe { guard.defer_retire(pointer, reclaim) },
        }
    }
}

impl fmt::Debug for LocalGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalGuard")
    }
}

/// A guard that any thread may hold.
pub struct OwnedGuard<'a> {
    collector: &'a Collector,
    /// Dropped by hand, or not at all (invariant 2). `None` if the collector is pinned instead.
    guard: Option<ManuallyDrop<seize::OwnedGuard<'a>>>,
}

impl<'a> OwnedGuard<'a> {
    pub(super) fn enter(collector: &'a Collector) -> Self {
        let guard = if collector.is_frozen() {
            collector.pin();
            None
        } else {
            Some(ManuallyDrop::new(collector.seize.enter_owned()))
        };
        Self { collector, guard }
    }

    /// Returns the guard, unless it must not change its reservation.
    fn free(&self) -> Option<&seize::OwnedGuard<'a>> {
        self.guard.as_deref().filter(|_| !self.collector.is_frozen())
    }
}

impl Drop for OwnedGuard<'_> {
    fn drop(&mut self) {
        if let Some(guard) = &mut self.guard
            && !self.collector.is_frozen()
        {
            // SAFETY: the guard is not used after this.
            unsafe { ManuallyDrop::drop(guard) };
        }
    }
}

impl sealed::Sealed for OwnedGuard<'_> {}

impl Guard for OwnedGuard<'_> {
    fn refresh(&mut self) {
        if let Some(guard) = &mut self.guard
            && !self.collector.is_frozen()
        {
            guard.refresh();
        }
    }

    fn flush(&self) {
        if let Some(guard) = self.free() {
            guard.flush();
        }
    }

    #[inline]
    fn collector(&self) -> &Collector {
        self.collector
    }

    fn thread_id(&self) -> usize {
        // `seize` would panic if the thread has returned its number.
        if abandoned_guards::has_ended() {
            0
        } else {
            self.guard.as_ref().map_or(0, |guard| guard.thread_id())
        }
    }

    unsafe fn defer_retire<T>(&self, pointer: *mut T, reclaim: unsafe fn(*mut T, &GracePeriod)) {
        if let Some(guard) = self.free() {
            // SAFETY: the caller guarantees it.
            unsafe { guard.defer_retire(pointer, reclaimer(reclaim)) };
        }
    }
}

impl fmt::Debug for OwnedGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnedGuard")
    }
}
