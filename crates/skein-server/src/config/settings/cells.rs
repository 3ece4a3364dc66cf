//! Values that any thread may read and set, each independent of the others: so all accesses are
//! relaxed.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::config::{LogControl, OptionsFile};
use crate::{ClientMemoryLimit, DefaultChannels, Tls, UnixSocket};

/// An option of the server, as a value that can change while it runs.
pub(crate) trait Live {
    type Cell: std::fmt::Debug;

    /// Returns the cell with this value at the start.
    fn cell(&self) -> Self::Cell;
}

/// A number.
#[derive(Debug)]
pub(crate) struct LiveNumber(AtomicUsize);

impl LiveNumber {
    #[inline]
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: usize) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// A time in microseconds. A longer one than `i64::MAX` of them counts as for ever.
#[derive(Debug)]
pub(crate) struct LiveTime(AtomicU64);

impl LiveTime {
    /// The longest time that is not for ever.
    pub(crate) const MICROS_MAX: u64 = i64::MAX as u64;

    /// Returns the microseconds, or `u64::MAX` for ever.
    #[inline]
    pub(crate) fn micros(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the microseconds, or `u64::MAX` for ever.
    pub(crate) fn set_micros(&self, micros: u64) {
        self.0.store(micros, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn nanos(&self) -> u64 {
        self.micros().saturating_mul(1_000)
    }

    pub(crate) fn millis(&self) -> u64 {
        self.micros() / 1_000
    }

    pub(crate) fn seconds(&self) -> u64 {
        self.micros() / 1_000_000
    }
}

/// A switch.
#[derive(Debug)]
pub(crate) struct LiveSwitch(AtomicBool);

impl LiveSwitch {
    #[inline]
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }
}

impl Live for usize {
    type Cell = LiveNumber;

    fn cell(&self) -> LiveNumber {
        LiveNumber(AtomicUsize::new(*self))
    }
}

impl Live for Duration {
    type Cell = LiveTime;

    fn cell(&self) -> LiveTime {
        let micros = u64::try_from(self.as_micros()).ok().filter(|micros| *micros <= LiveTime::MICROS_MAX);
        LiveTime(AtomicU64::new(micros.unwrap_or(u64::MAX)))
    }
}

impl Live for bool {
    type Cell = LiveSwitch;

    fn cell(&self) -> LiveSwitch {
        LiveSwitch(AtomicBool::new(*self))
    }
}

/// Types of options that do not change, or that another part of the server keeps.
macro_rules! kept_elsewhere {
    ($($type:ty),+ $(,)?) => { $(
        impl Live for $type {
            type Cell = ();

            fn cell(&self) {}
        }
    )+ };
}

kept_elsewhere!(
    u32,
    ClientMemoryLimit,
    DefaultChannels,
    Option<Arc<dyn LogControl>>,
    Option<Arc<dyn OptionsFile>>,
    Option<PathBuf>,
    Option<SocketAddr>,
    Option<Tls>,
    Option<UnixSocket>,
    Option<Vec<u8>>,
    SocketAddr,
    String,
);
