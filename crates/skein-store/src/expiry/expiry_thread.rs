//! The thread that removes what has expired, some at a time.
//!
//! Each tick it takes the first keys of the order that are overdue, and removes them as a client would: each with a version and a record in the log. It works a
//! quarter of the time at most, and half of it when that was not enough for some ticks; what it does not get through stays hidden until it does.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use skein_log::Durability;
use skein_sync::atomic::Ordering;
use skein_sync::locks::{lock, wait_timeout};

use crate::session::Writer;
use crate::store::StoreCore;
use crate::{Error, Result};

/// How often the thread looks, if the options do not say otherwise.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

/// A key stays so long after its time, so that one whose time is frozen (a transaction, say) never sees it go. It is half a second of the steady clock: a jump of the system's
/// clock makes it no shorter.
pub(crate) const GRACE_MS: u64 = 500;

/// Keys that are removed with one entry to the log.
const KEYS: usize = 256;

/// The part of an interval in which the thread works, at most: a quarter.
const SHARE: u32 = 4;

/// The same when the thread has been behind for [`PATIENCE`] ticks: a half.
const SHARE_BEHIND: u32 = 2;

const PATIENCE: u32 = 10;

/// The thread's handle.
#[derive(Debug)]
pub(crate) struct ExpiryThread {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl ExpiryThread {
    /// Starts the thread, if the options want one. It keeps `inner` alive until it is stopped.
    pub(crate) fn start(inner: Arc<StoreCore>) -> Result<Self> {
        let stop: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let thread = match inner.options.expiry_interval {
            None => None,
            Some(interval) => {
                let stop = stop.clone();
                let thread = std::thread::Builder::new()
                    .name("skein-expiry".into())
                    .spawn(move || run(&inner, interval, &stop))
                    .map_err(|error| {
                        Error::io("start a thread for", std::path::Path::new("expiry"), &error)
                    })?;
                Some(thread)
            }
        };
        Ok(Self { stop, thread: Mutex::new(thread) })
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        *lock(&self.stop.0) = true;
        self.stop.1.notify_all();
        if let Some(thread) = lock(&self.thread).take() {
            // Only a panic in the thread makes this an error; it has been reported by then.
            let _ = thread.join();
        }
    }
}

fn run(inner: &StoreCore, interval: Duration, (stop, wake): &(Mutex<bool>, Condvar)) {
    // Ticks in a row that have left something to do.
    let mut behind: u32 = 0;
    loop {
        let held = lock(stop);
        if *held || *wait_timeout(wake, held, interval) {
            return;
        }
        if !inner.rows.any_expiring() {
            continue;
        }
        let share = if behind < PATIENCE { SHARE } else { SHARE_BEHIND };
        match tick(inner, interval / share) {
            Ok(true) => behind = 0,
            Ok(false) => behind = behind.saturating_add(1),
            Err(Error::Closed) => return,
            Err(error) => tracing::debug!("what has expired is not removed now: {error}"),
        }
    }
}

/// Removes what is overdue, for so long; whether that was all.
fn tick(inner: &StoreCore, time: Duration) -> Result<bool> {
    let began = Instant::now();
    while began.elapsed() < time {
        if remove_overdue(inner, KEYS)? < KEYS {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the first overdue keys, at most `most`; how many it looked at.
pub(crate) fn remove_overdue(inner: &StoreCore, most: usize) -> Result<usize> {
    let end = inner.options.clock.before(Duration::from_millis(GRACE_MS));
    let overdue = inner.order.first_before(end, most);
    if overdue.is_empty() {
        return Ok(0);
    }
    let mut writer = Writer::enter(inner, 0, None)?;
    let removed = remove_all(&mut writer, end, &overdue);
    let ticket = writer.finish()?;
    if inner.options.durability == Durability::Sync && ticket.epoch > 0 {
        inner.log.request_durable(ticket.epoch);
    }
    // Relaxed: a count.
    inner.expired.fetch_add(removed? as u64, Ordering::Relaxed);
    Ok(overdue.len())
}

fn remove_all(writer: &mut Writer<'_>, end: u64, overdue: &[(u64, Vec<u8>)]) -> Result<usize> {
    let keys: Vec<&[u8]> = overdue.iter().map(|(_, key)| &key[..]).collect();
    writer.prefetch(&keys);
    let mut removed = 0;
    for (at, key) in overdue {
        removed += usize::from(writer.remove_overdue(key, *at, end)?);
    }
    Ok(removed)
}
