//! The collector: a collector of `seize`, and the class that counts its guards.

use std::mem;
use std::sync::Once;

use super::abandoned_guards::CollectorClass;
use super::guards::{LocalGuard, OwnedGuard};

/// Keeps retired objects until no guard protects them, then frees them.
///
/// Dropping the collector frees the objects that still wait, unless a guard was leaked.
#[derive(Debug)]
pub struct Collector {
    pub(super) seize: seize::Collector,
    pub(super) class: CollectorClass,
    /// Whether a reservation is active for ever.
    pinned: Once,
}

/// The argument of a reclaimer: proof that no guard protects the object any more.
#[repr(transparent)]
#[derive(Debug)]
pub struct GracePeriod(seize::Collector);

impl Default for Collector {
    fn default() -> Self {
        Self::new()
    }
}

impl Collector {
    /// Creates a collector without guards.
    pub fn new() -> Self {
        Self { seize: seize::Collector::new(), class: CollectorClass::next(), pinned: Once::new() }
    }

    /// Sets how many objects a thread retires before it hands them over together. Rounded up to a
    /// power of two.
    #[must_use]
    pub fn batch_size(self, objects: usize) -> Self {
        Self { seize: self.seize.batch_size(objects), ..self }
    }

    /// Returns a guard of the current thread.
    #[inline]
    pub fn enter(&self) -> LocalGuard<'_> {
        LocalGuard::enter(self)
    }

    /// Returns a guard that any thread may hold. It costs more than [`enter`](Self::enter).
    pub fn enter_owned(&self) -> OwnedGuard<'_> {
        OwnedGuard::enter(self)
    }

    /// Protects all objects from now on, like a leaked guard. For owned guards of a frozen class:
    /// each would otherwise use up a number, because invariant 2 forbids its return.
    pub(super) fn pin(&self) {
        self.pinned.call_once(|| mem::forget(self.seize.enter_owned()));
    }
}
