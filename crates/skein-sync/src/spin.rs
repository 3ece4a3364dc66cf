//! A wait for a latch that is held for a few dozen instructions.

/// The number of spins before the thread yields. After these the holder is probably descheduled.
#[cfg(not(skein_loom))]
const SPINS_BEFORE_YIELD: u32 = 64;

/// The backoff of one waiting thread: it spins briefly and then yields to the scheduler.
///
/// On a machine with more threads than cores, the latch holder may not be running. A thread that
/// continued to spin would then waste a whole time slice.
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
    /// Creates a backoff that has not waited yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits a moment, longer with each call.
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
