//! Mistakes made on purpose, each behind a switch, so that the tests can show that they would notice.
//!
//! Without the feature `planted-bugs` there are no switches, and every question is answered `false` at compile time.

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedBug {
    /// An epoch is called durable before it is written.
    EarlyAcknowledgement = 0,
    /// Checksums of records are not looked at.
    SkippedCrc = 1,
    /// Who waits at the epoch gate looks at its counters by a load, which has no place among the increments.
    PlainLook = 2,
}

#[cfg(feature = "planted-bugs")]
static ON: [std::sync::atomic::AtomicBool; 3] = [const { std::sync::atomic::AtomicBool::new(false) }; 3];

/// Makes a mistake, or stops making it, in the whole process.
#[cfg(feature = "planted-bugs")]
pub fn set(bug: PlantedBug, on: bool) {
    ON[bug as usize].store(on, std::sync::atomic::Ordering::SeqCst);
}

/// Whether the mistake is to be made.
#[inline]
pub(crate) fn is_on(bug: PlantedBug) -> bool {
    #[cfg(feature = "planted-bugs")]
    return ON[bug as usize].load(std::sync::atomic::Ordering::SeqCst);
    #[cfg(not(feature = "planted-bugs"))]
    {
        let _ = bug;
        false
    }
}
