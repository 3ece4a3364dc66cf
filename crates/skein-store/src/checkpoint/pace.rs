//! The pace of a checkpoint's threads: while others write, work is followed by rest.
//!
//! The paper's store kept 72 % of its put rate during a checkpoint (section 5). A checkpoint thread streams all rows through
//! the caches and the memory bus, and takes a core where there are few; one that works without a pause left a putting
//! thread 0.72 to 0.77 of its rate on two cores, one that rests half as long as it worked 0.79 to 0.84
//! (`docs/benchmarks/`). Nobody gains from a rest while nobody writes, so there is none then.

use std::time::Instant;

/// Rows between two looks at the clock: some hundred microseconds of work, far above what a sleep overshoots by, far below
/// what anyone who waits for the core would notice.
const ROWS: u32 = 512;

/// One thread's pace.
pub(super) struct CheckpointPace {
    since: Instant,
    rows: u32,
}

impl CheckpointPace {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), rows: 0 }
    }

    /// To be called at each row; after so many of them it rests for half of the time worked if `others_write`, and says true: it is time to look at the clock.
    #[inline]
    pub(super) fn row(&mut self, others_write: impl FnOnce() -> bool) -> bool {
        self.rows += 1;
        if self.rows < ROWS {
            return false;
        }
        if others_write() {
            std::thread::sleep(self.since.elapsed() / 2);
        }
        *self = Self::new();
        true
    }
}
