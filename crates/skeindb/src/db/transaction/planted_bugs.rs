//! Bugs planted on purpose, each behind a switch, to prove that the checker of histories finds
//! them.
//!
//! Without the feature `planted-bugs` there are no switches, and `is_on` returns false at compile
//! time.

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedBug {
    /// A commit does not check the keys that were read.
    UncheckedKeys = 0,
    /// A commit does not check the ranges that were read.
    UncheckedRanges = 1,
}

#[cfg(feature = "planted-bugs")]
static ON: [std::sync::atomic::AtomicBool; 2] = [const { std::sync::atomic::AtomicBool::new(false) }; 2];

/// Switches a bug on or off for the whole process.
#[cfg(feature = "planted-bugs")]
pub fn set(bug: PlantedBug, on: bool) {
    ON[bug as usize].store(on, std::sync::atomic::Ordering::SeqCst);
}

/// Returns whether the bug is switched on.
#[inline]
pub(super) fn is_on(bug: PlantedBug) -> bool {
    #[cfg(feature = "planted-bugs")]
    return ON[bug as usize].load(std::sync::atomic::Ordering::SeqCst);
    #[cfg(not(feature = "planted-bugs"))]
    {
        let _ = bug;
        false
    }
}
