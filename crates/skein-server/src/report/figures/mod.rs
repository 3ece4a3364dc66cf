//! The figures of a server: numbers that INFO, Prometheus or both tell.
//!
//! ```text
//!              ┌─► INFO                   (info)
//!   FIGURES ───┼─► /metrics               (metrics/collect)
//!              └─► docs/monitoring.md     (a test)
//! ```
//!
//! A figure is one row of [`FIGURES`]. Families with labels, histograms, and lines of INFO that are
//! no numbers of their own are with their readers.

use std::time::Duration;

use skein_data::StoreStats;
use skein_disk::BufferStats;

use crate::report::info::InfoNumbers;
use crate::shared::{ServerCounts, ServerShared};

mod table;

pub(crate) use table::FIGURES;

/// A row.
pub(crate) struct Figure {
    /// The section of INFO and the field there; empty if INFO does not tell it.
    pub info: (&'static str, &'static str),
    /// The metric, without `skein_`, the unit and `_total`; empty if Prometheus does not read it.
    pub metric: &'static str,
    pub kind: FigureKind,
    pub unit: FigureUnit,
    /// The meaning, for Prometheus and the documents.
    pub help: &'static str,
    /// Returns the value, or `None` if this server does not have it.
    pub read: fn(&FigureSource<'_>) -> Option<FigureValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FigureKind {
    Gauge,
    /// Only rises. INFO counts some of them from the last CONFIG RESETSTAT on.
    Counter,
}

/// The unit for Prometheus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FigureUnit {
    None,
    Bytes,
    Seconds,
}

/// A value. INFO has times in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FigureValue {
    Number(u64),
    Time(Duration),
}

macro_rules! numbers {
    ($($type:ty),+) => { $(
        #[allow(clippy::cast_lossless, reason = "`u64` has no `From<usize>`")]
        impl From<$type> for FigureValue {
            fn from(number: $type) -> Self {
                Self::Number(number as u64)
            }
        }
    )+ };
}

numbers!(bool, u32, u64, usize);

impl From<Duration> for FigureValue {
    fn from(time: Duration) -> Self {
        Self::Time(time)
    }
}

/// The source of the values, as of one moment.
pub(crate) struct FigureSource<'s> {
    pub shared: &'s ServerShared,
    pub store: &'s StoreStats,
    pub counted: ServerCounts,
    /// The cache of the disk engine.
    pub buffer: Option<BufferStats>,
}

impl<'s> FigureSource<'s> {
    /// Counts from the start of the server, for Prometheus.
    pub(crate) fn since_start(shared: &'s ServerShared, store: &'s StoreStats) -> Self {
        Self {
            shared,
            store,
            counted: ServerCounts::now(shared, store),
            buffer: shared.data.store.disk().map(|(_, stats)| stats.buffer),
        }
    }

    /// Counts from the last CONFIG RESETSTAT, for INFO.
    pub(crate) fn since_reset(shared: &'s ServerShared, numbers: &'s InfoNumbers) -> Self {
        Self { counted: shared.statistics(numbers), ..Self::since_start(shared, &numbers.store) }
    }
}

#[cfg(test)]
mod tests;
