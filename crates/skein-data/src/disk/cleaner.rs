//! The thread that removes expired keys, and the members of removed collections.
//!
//! At each tick it removes the first overdue keys of the expiry index, each with its row and its
//! members, and then members of dead collections. It works at most half of the time. A transaction
//! that replaces a large collection removes former members itself (`main_rows.rs`), so only the
//! members that small commands leave remain for this thread. Expired keys that are not removed yet
//! are hidden from readers.

use std::ops::Bound;
use std::time::{Duration, Instant};

use skein_disk::{KeySpace, ScanRequest, WalkDirection};
use skein_sync::background::ThreadSignal;

use super::keys::{dead_key, parse_expiry_key};
use super::main_rows::{RowReferences, remove_expired_row};
use super::members::{order_in, remove_members};
use super::{DiskEngine, DiskRowReader};
use crate::Result;

/// The interval of the ticks, and the time of work of each kind. Waiting for another writer is no
/// work.
const INTERVAL: Duration = Duration::from_millis(100);
const WORK: Duration = Duration::from_millis(50);
/// The time of one transaction that removes members. Other writers wait no longer.
const STEP: Duration = Duration::from_millis(5);

/// Keys or members that one transaction removes.
const REMOVED_TOGETHER: usize = 64;

/// Runs until the signal is stopped.
pub(super) fn run(engine: &DiskEngine, signal: &ThreadSignal) {
    while signal.wait_timeout(INTERVAL) {
        let expired = if engine.is_expiry_paused() {
            Ok(())
        } else {
            let end = engine.core().clock.removes_before();
            in_steps(signal, || engine.remove_expired(end))
        };
        let dead = in_steps(signal, || engine.remove_dead());
        if let Err(error) = expired.and(dead) {
            // Writes are stopped, or a page is damaged. The rest stays until the next start.
            tracing::debug!("expired keys and removed members stay: {error}");
        }
    }
}

/// Does steps for [`WORK`]. A step returns the time of its work, or `None` if there was nothing to
/// do.
fn in_steps(signal: &ThreadSignal, mut step: impl FnMut() -> Result<Option<Duration>>) -> Result<()> {
    let mut worked = Duration::ZERO;
    while worked < WORK && !signal.is_stopped() {
        let Some(time) = step()? else { break };
        worked += time;
    }
    Ok(())
}

impl DiskEngine {
    /// Removes some keys that expire before `end`, in one transaction.
    fn remove_expired(&self, end: u64) -> Result<Option<Duration>> {
        let first = self.store().keys_from(KeySpace::Expiry, 0, WalkDirection::Forward, REMOVED_TOGETHER)?;
        let overdue: Vec<_> =
            first.iter().filter_map(|entry| parse_expiry_key(entry)).filter(|(at, _)| *at < end).collect();
        if overdue.is_empty() {
            return Ok(None);
        }
        let mut batch = self.core().removal_observer.get().and_then(|observer| observer.begin());
        let mut removed = Vec::new();
        let (mut transaction, mut buffer) = (self.begin(), DiskRowReader::default());
        let begun = Instant::now();
        for (at, key) in overdue {
            let row = buffer.row(key, |value| transaction.get_into(key, value))?;
            // The entries that were read may be older than the transaction.
            let Some(row) = row.filter(|row| row.expires_at() == Some(at)) else { continue };
            let old = RowReferences::of(Some(row));
            remove_expired_row(self, &mut transaction, key, old)?;
            self.count_expired();
            removed.push(key);
            if transaction.is_full() {
                break;
            }
        }
        for key in &removed {
            self.note_removal(key);
        }
        transaction.commit()?;
        if let Some(batch) = &mut batch {
            for key in &removed {
                batch.expired(key);
            }
        }
        Ok(Some(begun.elapsed()))
    }

    /// Removes some members of a dead collection, in one transaction.
    fn remove_dead(&self) -> Result<Option<Duration>> {
        let (lower, upper) = (dead_key(0), dead_key(1));
        let first = ScanRequest {
            lower: Bound::Included(&lower[..8]),
            upper: Bound::Excluded(&upper[8..]),
            direction: WalkDirection::Forward,
            keys: 1,
            bytes: 1,
            values: true,
        };
        let mut found = self.store().space(KeySpace::Members)?.range(&first)?;
        let Some(marker) = found.entries.pop() else { return Ok(None) };
        let id = marker.key.get(8..).and_then(|id| id.try_into().ok()).map_or(0, u64::from_be_bytes);
        let order = order_in(&marker.value);
        let mut transaction = self.store().begin();
        let begun = Instant::now();
        let mut more = true;
        while more && begun.elapsed() < STEP && !transaction.is_full() {
            more = remove_members(&mut transaction, id, order, REMOVED_TOGETHER, false)?;
        }
        if !more {
            transaction.remove_in(KeySpace::Members, &marker.key)?;
        }
        transaction.commit()?;
        Ok(Some(begun.elapsed()))
    }
}
