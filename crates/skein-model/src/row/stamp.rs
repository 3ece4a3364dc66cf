//! The stamp of a row: when it was last used, or how often (`age_clock`, `use_count`). It shares a
//! word with the version, which no function here changes.

use std::sync::atomic::Ordering;

use super::RowRef;
use super::age_clock::{REMOVED, VERSION_MASK, stamp_after_use, stamp_after_visit};

impl RowRef<'_> {
    /// Returns the stamp of the row's last use, at its position in the word.
    #[inline]
    pub fn stamp(self) -> u64 {
        self.word().load(Ordering::Relaxed) & !VERSION_MASK
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
        let word = self.word().load(Ordering::Relaxed);
        let stamp = word & !VERSION_MASK;
        if stamp == REMOVED {
            return;
        }
        let next = change(stamp);
        if next != stamp {
            // Relaxed: a hint. If the word has changed, another thread has used the row, or the row
            // was removed.
            let _ = self.word().compare_exchange(
                word,
                next | (word & VERSION_MASK),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
    }
}
