//! The pace of a checkpoint's threads: while other threads write, the checkpoint threads pause.
//!
//! The store of the paper kept 72 % of its put rate during a checkpoint (section 5). A checkpoint
//! thread streams all rows through the caches and the memory bus. With few cores it also takes one
//! of them. With checkpoint threads that never paused, a writing thread on two cores kept 0.72 to
//! 0.77 of its rate; with pauses of half the working time it kept 0.79 to 0.84
//! (`docs/benchmarks/results/store.md`). If no thread writes, a pause gains nothing, so the threads
//! do not pause.

use std::time::Instant;

/// Rows between two reads of the clock: some hundred microseconds of work. This is far above the
/// inaccuracy of a sleep, and far below a delay that a thread waiting for the core would notice.
const ROWS: u32 = 512;

pub(super) struct CheckpointPace {
    since: Instant,
    rows: u32,
}

impl CheckpointPace {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), rows: 0 }
    }

    /// Counts a row; call it for each. After every `ROWS` rows it pauses for half of the working
    /// time if `others_write`, and returns true: time to check the clock.
    #[inline]
    pub(super) fn count_row(&mut self, others_write: impl FnOnce() -> bool) -> bool {
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
