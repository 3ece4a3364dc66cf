//! Counts the guards of each thread, and freezes the classes of the guards that are left when the
//! thread ends.
//!
//! Counts are per class of collectors and not per collector, so they are an array in thread-local
//! memory. Collectors of one class share its state: if more than 64 collectors live at once, a
//! leaked guard of one may also freeze another.
//!
//! Destructors of thread-local values run in the reverse order of registration (the rule of the C
//! library and of `std`). Ours is registered after that of `seize`, which returns the number. So
//! freezing runs first. See [`LastGuards::drop`] for a system that does not follow the rule.

use std::array;
use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of classes: the bits of [`FROZEN`].
const CLASSES: usize = 64;

/// A bit for each frozen class.
///
/// Relaxed throughout: the threads that must see a bit by invariants 3 and 4 of the module above
/// have set it themselves, or have taken a number that was returned later, under the mutex of
/// `seize`'s numbers.
static FROZEN: AtomicU64 = AtomicU64::new(0);

/// The class of a collector: a bit of [`FROZEN`].
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectorClass(usize);

impl CollectorClass {
    /// Returns a class for another collector; a frozen one only if all are frozen.
    pub(super) fn next() -> Self {
        static COLLECTORS: AtomicUsize = AtomicUsize::new(0);
        let mut tried: [Self; CLASSES] = array::from_fn(|_| Self(0));
        for class in &mut tried {
            *class = Self(COLLECTORS.fetch_add(1, Ordering::Relaxed) % CLASSES);
            if !class.is_frozen() {
                return *class;
            }
        }
        tried[0]
    }

    /// Returns whether a guard of the class was abandoned.
    #[inline(always)]
    pub(super) fn is_frozen(self) -> bool {
        FROZEN.load(Ordering::Relaxed) & (1 << self.0) != 0
    }

    /// Counts a local guard of this thread.
    #[inline(always)]
    pub(super) fn count(self) {
        self.change(|guards| guards + 1);
    }

    /// Subtracts a local guard of this thread.
    #[inline(always)]
    pub(super) fn uncount(self) {
        self.change(|guards| guards - 1);
    }

    #[inline(always)]
    fn change(self, change: impl Fn(u64) -> u64) {
        THREAD.with(|thread| {
            let guards = &thread.guards[self.0 % CLASSES];
            guards.set(change(guards.get()));
        });
    }
}

/// The guard counts of a thread. The type has no destructor, so its value exists as long as the
/// thread.
struct ThreadGuards {
    phase: Cell<ThreadPhase>,
    /// Live local guards, per class.
    guards: [Cell<u64>; CLASSES],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ThreadPhase {
    /// The thread had no guard yet.
    New,
    /// Its guards are counted, and the counts will be checked when it ends.
    Counted,
    /// The thread is ending, and the counts were checked.
    Ended,
}

thread_local! {
    static THREAD: ThreadGuards =
        const { ThreadGuards { phase: Cell::new(ThreadPhase::New), guards: [const { Cell::new(0) }; CLASSES] } };
    static LAST_GUARDS: LastGuards = const { LastGuards };
}

/// Returns whether local guards of this thread are counted until it ends. Only then may it have
/// any.
#[inline(always)]
pub(super) fn is_counted(seize: &seize::Collector) -> bool {
    let phase = THREAD.with(|thread| thread.phase.get());
    phase == ThreadPhase::Counted || (phase == ThreadPhase::New && begin(seize))
}

/// Returns whether the thread has already checked its counts.
pub(super) fn has_ended() -> bool {
    THREAD.with(|thread| thread.phase.get()) == ThreadPhase::Ended
}

/// Registers the destructor that checks the counts, after that of `seize`.
#[cold]
#[inline(never)]
fn begin(seize: &seize::Collector) -> bool {
    drop(seize.enter());
    LAST_GUARDS.with(|_| THREAD.with(|thread| thread.phase.set(ThreadPhase::Counted)));
    true
}

/// Freezes the classes of abandoned guards when the thread ends.
struct LastGuards;

impl Drop for LastGuards {
    fn drop(&mut self) {
        static ANY: LazyLock<seize::Collector> = LazyLock::new(seize::Collector::new);

        let frozen = THREAD.with(|thread| {
            thread.phase.set(ThreadPhase::Ended);
            let guards = thread.guards.iter().enumerate();
            guards.fold(0, |bits, (class, guards)| bits | u64::from(guards.get() != 0) << class)
        });
        if frozen != 0 {
            FROZEN.fetch_or(frozen, Ordering::Relaxed);
            // If the thread's number were returned already, freezing would be too late. This line
            // would then panic, and a panic in a thread-local destructor ends the process.
            drop(ANY.enter());
        }
    }
}
