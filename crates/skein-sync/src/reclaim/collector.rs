//! The collector: one of `seize`, and the class that its guards are counted in.

use std::mem;
use std::sync::Once;

use super::abandoned_guards::CollectorClass;
use super::guards::{LocalGuard, OwnedGuard};

/// Keeps retired objects until no guard protects them any more, then frees them.
///
/// What still waits when the collector is dropped is freed then, unless a guard was leaked.
#[derive(Debug)]
pub struct Collector {
    pub(super) seize: seize::Collector,
    pub(super) class: CollectorClass,
    /// Whether a reservation is active for ever.
    pinned: Once,
}

/// What a reclaimer is handed: no guard protects the object any more.
#[repr(transparent)]
#[derive(Debug)]
pub struct GracePeriod(seize::Collector);

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl Collector {
    /// A collector without guards.
    pub fn new() -> Self {
        Self { seize: seize::Collector::new(), class: CollectorClass::next(), pinned: Once::new() }
    }

    /// How many objects a thread retires before it hands them over together; rounded up to a power of two.
    #[must_use]
    pub fn batch_size(self, objects: usize) -> Self {
        Self { seize: self.seize.batch_size(objects), ..self }
    }

    /// A guard of the current thread.
    #[inline]
    pub fn enter(&self) -> LocalGuard<'_> {
        LocalGuard::enter(self)
    }

    /// A guard that any thread may hold. It costs more than [`enter`](Self::enter).
    pub fn enter_owned(&self) -> OwnedGuard<'_> {
        OwnedGuard::enter(self)
    }

    /// Makes every moment from now on protected, as a leaked guard does: for owned guards of a frozen class, which would each use up
    /// a number otherwise (invariant 2 forbids to give it back).
    pub(super) fn pin(&self) {
        self.pinned.call_once(|| mem::forget(self.seize.enter_owned()));
    }
}
