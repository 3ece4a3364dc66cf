//! Counts the guards of each thread, and freezes the classes of those that are left when it ends.
//!
//! Counts are per class of collectors, not per collector, so that they are an array in thread-local memory. Collectors of one class
//! share its fate: where more than 64 live at once, a guard that is leaked in one may freeze another one, too.
//!
//! Destructors of thread-local values run in the reverse order of registration (the C library's rule and `std`'s), and ours is
//! registered after that of `seize`, which gives the number back. So freezing comes first; see [`LastGuards::drop`] for the case that
//! a system does otherwise.

use std::array;
use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How many classes there are: the bits of [`FROZEN`].
const CLASSES: usize = 64;

/// A bit for each frozen class.
///
/// Relaxed throughout: threads for which invariants 3 and 4 of the module above ask that they see a bit have set it themselves, or
/// have taken a number that was given back later, under the mutex of `seize`'s numbers.
static FROZEN: AtomicU64 = AtomicU64::new(0);

/// The class of a collector: a bit of [`FROZEN`].
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectorClass(usize);

impl CollectorClass {
    /// The class of another collector; a frozen one only if all are.
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

    /// Whether a guard of the class was abandoned.
    #[inline(always)]
    pub(super) fn is_frozen(self) -> bool {
        FROZEN.load(Ordering::Relaxed) & (1 << self.0) != 0
    }

    /// Counts a local guard of this thread.
    #[inline(always)]
    pub(super) fn count(self) {
        self.change(|guards| guards + 1);
    }

    /// Counts one less.
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

/// What a thread knows of its guards. It has no destructor, so it is there as long as the thread is.
struct ThreadGuards {
    phase: Cell<ThreadPhase>,
    /// Live local guards, per class.
    guards: [Cell<u64>; CLASSES],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ThreadPhase {
    /// It had no guard yet.
    New,
    /// Its guards are counted, and looked at when it ends.
    Counted,
    /// It ends, and the counts were looked at.
    Ended,
}

thread_local! {
    static THREAD: ThreadGuards =
        const { ThreadGuards { phase: Cell::new(ThreadPhase::New), guards: [const { Cell::new(0) }; CLASSES] } };
    static LAST_GUARDS: LastGuards = const { LastGuards };
}

/// Whether local guards of this thread are counted when it ends, so that it may have any.
#[inline(always)]
pub(super) fn is_counted(seize: &seize::Collector) -> bool {
    let phase = THREAD.with(|thread| thread.phase.get());
    phase == ThreadPhase::Counted || (phase == ThreadPhase::New && begin(seize))
}

/// Whether the thread has looked at its counts already.
pub(super) fn has_ended() -> bool {
    THREAD.with(|thread| thread.phase.get()) == ThreadPhase::Ended
}

/// Registers the destructor that looks at the counts, after that of `seize`.
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
            // If the thread's number were given back already, it would be too late: this would panic then, and a panic in a
            // thread-local destructor ends the process.
            drop(ANY.enter());
        }
    }
}
