//! Bugs planted on purpose, each behind a switch, to prove that the tests find them.
//!
//! Without the feature `planted-bugs` there are no switches, and `is_on` returns false at compile
//! time.

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedBug {
    /// An epoch is acknowledged as durable before it is written.
    EarlyAcknowledgement = 0,
    /// Checksums of records are not checked.
    SkippedCrc = 1,
    /// The closer reads the counters of the epoch gate by a plain load, which has no place in the
    /// order of the increments.
    PlainLook = 2,
    /// Operations enter although their records may find no place on the disk.
    EntryWithoutRoom = 3,
}

#[cfg(feature = "planted-bugs")]
static ON: [std::sync::atomic::AtomicBool; 4] = [const { std::sync::atomic::AtomicBool::new(false) }; 4];

/// Switches a bug on or off for the whole process.
#[cfg(feature = "planted-bugs")]
pub fn set(bug: PlantedBug, on: bool) {
    ON[bug as usize].store(on, std::sync::atomic::Ordering::SeqCst);
}

/// Returns whether the bug is switched on.
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
