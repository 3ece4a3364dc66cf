//! Waiting for a latch that is held for a few dozen instructions.

/// Turns to wait without giving up the processor; past them the holder was probably descheduled.
#[cfg(not(skein_loom))]
const SPINS_BEFORE_YIELD: u32 = 64;

/// One waiter's patience: spins briefly, then yields to the scheduler.
///
/// On a machine with more threads than cores the latch holder may be off its core; spinning on would
/// then burn a whole time slice.
///
/// ```
/// use skein_sync::spin::Backoff;
/// let mut backoff = Backoff::new();
/// for _ in 0..100 {
///     backoff.wait();
/// }
/// ```
#[derive(Debug, Default)]
pub struct Backoff {
    #[cfg(not(skein_loom))]
    turns: u32,
}

impl Backoff {
    /// A fresh waiter.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits a moment: longer the more often it was called.
    pub fn wait(&mut self) {
        #[cfg(skein_loom)]
        crate::model::thread::yield_now();
        #[cfg(not(skein_loom))]
        if self.turns < SPINS_BEFORE_YIELD {
            self.turns += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}
