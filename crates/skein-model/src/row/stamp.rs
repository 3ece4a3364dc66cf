//! The stamp of a row: when it was last used, or how often (`age_clock`, `use_count`). It shares a
//! word with the version, which no function here changes.

use std::sync::atomic::Ordering;

use super::RowRef;
use super::UPPER_SHIFT;
use super::age_clock::{REMOVED, STAMP_MASK, stamp_after_use, stamp_after_visit};

impl RowRef<'_> {
    /// Returns the stamp of the row's last use, at its position in the word.
    #[inline]
    pub fn stamp(self) -> u64 {
        self.upper_bits() & STAMP_MASK
    }

    /// Notes that the row is used at `now`. Writes only if the row has another stamp.
    #[inline]
    pub fn touch(self, now: u64) {
        if self.stamp() != now {
            self.stamp_anew(now);
        }
    }

    #[cold]
    fn stamp_anew(self, now: u64) {
        self.change_stamp(|stamp| stamp_after_use(now, stamp));
    }

    /// Notes that the row is visited at `now`, but not used. Returns its stamp.
    pub fn settle(self, now: u64) -> u64 {
        self.change_stamp(|stamp| stamp_after_visit(now, stamp));
        self.stamp()
    }

    /// Sets the stamp of the row.
    pub fn restamp(self, stamp: u64) {
        self.change_stamp(|_| stamp);
    }

    fn change_stamp(self, change: impl FnOnce(u64) -> u64) {
        let before = self.upper().load(Ordering::Relaxed);
        let upper = u64::from(u16::from_le(before)) << UPPER_SHIFT;
        let stamp = upper & STAMP_MASK;
        if stamp == REMOVED {
            return;
        }
        let next = change(stamp);
        if next != stamp {
            let after = ((next | (upper & !STAMP_MASK)) >> UPPER_SHIFT) as u16;
            // Relaxed: a hint. If the bits have changed, another thread has used the row, or the
            // row was removed.
            let _ =
                self.upper().compare_exchange(before, after.to_le(), Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}
