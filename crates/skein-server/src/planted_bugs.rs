//! Bugs planted on purpose, each behind a switch, to prove that the checker of histories finds them
//! (`tests/wire`).
//!
//! Without the feature `planted-bugs` there are no switches, and `is_on` returns false at compile
//! time.

use skein_data::StoredKeyspace;

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedBug {
    /// A command that waits for the other workers keeps the keyspace from before a SWAPDB.
    KeysBeforeWait = 0,
    /// A key serves one waiting client, and not the next one.
    LostWaiter = 1,
    /// A key serves the client that has waited for the shortest time.
    LastWaiterFirst = 2,
    /// A blocking command does not look at its key again before its client waits.
    NoSecondLook = 3,
    /// Other workers run requests beside EXEC.
    OpenTransaction = 4,
    /// MSET is several writes.
    SplitMset = 5,
    /// EXEC runs, whatever has become of the watched keys.
    UncheckedWatch = 6,
    /// One of the clients that have read a key is not told of its change.
    LostInvalidation = 7,
}

#[cfg(feature = "planted-bugs")]
static ON: [std::sync::atomic::AtomicBool; 8] = [const { std::sync::atomic::AtomicBool::new(false) }; 8];

#[cfg(feature = "planted-bugs")]
thread_local! {
    static EARLY: std::cell::Cell<Option<StoredKeyspace>> = const { std::cell::Cell::new(None) };
}

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

/// Keeps a keyspace for the next request that this thread translates, for
/// [`PlantedBug::KeysBeforeWait`].
#[inline]
pub(crate) fn keep_early(keyspace: StoredKeyspace) {
    let kept = is_on(PlantedBug::KeysBeforeWait).then_some(keyspace);
    #[cfg(feature = "planted-bugs")]
    EARLY.set(kept);
    #[cfg(not(feature = "planted-bugs"))]
    debug_assert!(kept.is_none());
}

/// Returns the keyspace that was kept, if any.
#[inline]
pub(crate) fn take_early() -> Option<StoredKeyspace> {
    #[cfg(feature = "planted-bugs")]
    return EARLY.take();
    #[cfg(not(feature = "planted-bugs"))]
    None
}
