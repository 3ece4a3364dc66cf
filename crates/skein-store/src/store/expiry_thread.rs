//! The thread that removes expired keys, some at each tick, and advances the clock of the last
//! uses.
//!
//! At each tick it takes the first overdue keys of the expiry index. It removes them like a client:
//! each with a version and a record in the log. It works at most a quarter of the time, or half of
//! it after it was behind for some ticks. Expired keys that are not removed yet stay hidden.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_log::Durability;
use skein_sync::atomic::Ordering;
use skein_sync::background::{BackgroundThread, ThreadSignal};
use skein_sync::locks::lock;

use super::open_store::OpenStore;
use crate::removal_observer::RemovalBatch;
use crate::session::Writer;
use crate::store_core::StoreCore;
use crate::{Error, Result};

/// The number of keys that are removed with one entry into the epoch.
const KEYS: usize = 256;

/// The share of an interval in which the thread works, at most: a quarter.
const SHARE: u32 = 4;

/// The share after the thread was behind for [`PATIENCE`] ticks: a half.
const SHARE_BEHIND: u32 = 2;

const PATIENCE: u32 = 10;

/// Starts the thread, if the options want it. The thread keeps the store's memory alive until it is
/// stopped.
pub(super) fn start(store: Arc<OpenStore>) -> Result<Option<BackgroundThread>> {
    let Some(interval) = store.core.options.expiry_interval else { return Ok(None) };
    let run = move |signal: &ThreadSignal| run(&store.core, interval, signal);
    BackgroundThread::start("skein-expiry", Arc::default(), run)
        .map(Some)
        .map_err(|error| Error::io("start a thread for", Path::new("expiry"), &error))
}

fn run(core: &StoreCore, interval: Duration, signal: &ThreadSignal) {
    // Consecutive ticks that did not remove all overdue keys.
    let mut behind: u32 = 0;
    while signal.wait_timeout(interval) {
        core.keys.rows.ages().tick_by_time(core.options.clock.now_s());
        // Relaxed: the flag is ordered with nothing.
        if !core.keys.rows.any_expiring() || core.expiry_paused.load(Ordering::Relaxed) {
            continue;
        }
        let share = if behind < PATIENCE { SHARE } else { SHARE_BEHIND };
        match tick(core, interval / share) {
            Ok(true) => behind = 0,
            Ok(false) => behind = behind.saturating_add(1),
            Err(Error::Closed) => return,
            Err(error) => tracing::debug!("expired keys are not removed now: {error}"),
        }
    }
}

/// Removes overdue keys for up to `time`. Returns whether it removed all of them.
fn tick(core: &StoreCore, time: Duration) -> Result<bool> {
    let began = Instant::now();
    while began.elapsed() < time {
        if remove_overdue(core, KEYS)? < KEYS {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the first overdue keys, at most `most`. Returns the number of keys that it visited.
pub(crate) fn remove_overdue(core: &StoreCore, most: usize) -> Result<usize> {
    let end = core.options.clock.removes_before();
    let overdue = core.keys.expiry_index.first_before(end, most);
    if overdue.is_empty() {
        return Ok(0);
    }
    let mut batch = core.removal_observer.get().and_then(|observer| observer.begin());
    let mut writer = Writer::enter_unasked(core, 0)?;
    let removed = {
        let _removing = lock(&core.keys.removing_overdue);
        remove_all(&mut writer, end, &overdue, &mut batch)
    };
    let ticket = writer.finish()?;
    drop(batch);
    if core.commit.durability == Durability::Sync && ticket.epoch > 0 {
        core.commit.log.request_durable(ticket.epoch);
    }
    // Relaxed: a count.
    core.expired.fetch_add(removed? as u64, Ordering::Relaxed);
    Ok(overdue.len())
}

fn remove_all(
    writer: &mut Writer<'_>,
    end: u64,
    overdue: &[(u64, Vec<u8>)],
    batch: &mut Option<Box<dyn RemovalBatch + '_>>,
) -> Result<usize> {
    let keys: Vec<&[u8]> = overdue.iter().map(|(_, key)| &key[..]).collect();
    writer.prefetch(&keys);
    let mut removed = 0;
    for (at, key) in overdue {
        if writer.remove_overdue(key, *at, end)? {
            removed += 1;
            if let Some(batch) = batch {
                batch.expired(key);
            }
        }
    }
    Ok(removed)
}
