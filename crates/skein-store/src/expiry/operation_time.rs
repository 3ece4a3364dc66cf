//! The time of an operation, and the test whether a row is still present at it.

use skein_model::RowRef;

use crate::clock::ExpiryClock;

/// The time of an operation: the present, or a frozen time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationTime<'c> {
    clock: &'c ExpiryClock,
    frozen: Option<u64>,
}

impl<'c> OperationTime<'c> {
    pub(crate) fn new(clock: &'c ExpiryClock, frozen: Option<u64>) -> Self {
        Self { clock, frozen }
    }

    /// Returns the time, in milliseconds since 1970.
    #[inline]
    pub(crate) fn now(self) -> u64 {
        self.frozen.unwrap_or_else(|| self.clock.now())
    }

    /// Freezes the present time.
    pub(crate) fn fixed(self) -> Self {
        Self { frozen: Some(self.now()), ..self }
    }

    /// Returns whether a row is still present. Reads the clock only if the row expires.
    #[inline]
    pub(crate) fn shows(self, row: RowRef<'_>) -> bool {
        row.expires_at().is_none() || !row.has_expired(self.now())
    }

    /// Returns the row if it is still present.
    #[inline]
    pub(crate) fn live(self, row: Option<RowRef<'_>>) -> Option<RowRef<'_>> {
        row.filter(|row| self.shows(*row))
    }
}
