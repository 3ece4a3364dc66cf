//! The background thread that starts checkpoints: by log size, by time, or on request.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use skein_sync::locks::{lock, wait_timeout};

use crate::store::StoreCore;
use crate::{Error, Result};

/// The interval at which the thread checks log size and time.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// The delay before the next attempt after a failed checkpoint, for example on a full disk.
const RETRY_INTERVAL: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
struct SchedulerSignal {
    stop: bool,
}

#[derive(Debug)]
pub(crate) struct CheckpointScheduler {
    shared: Arc<(Mutex<SchedulerSignal>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl CheckpointScheduler {
    /// Starts the thread. It keeps the store's memory alive until it is stopped.
    pub(crate) fn start(core: Arc<StoreCore>) -> Result<Self> {
        let shared = Arc::new((Mutex::new(SchedulerSignal::default()), Condvar::new()));
        let orders = shared.clone();
        let thread = std::thread::Builder::new()
            .name("skein-checkpoint".into())
            .spawn(move || run(&core, &orders))
            .map_err(|error| Error::io("start a thread for", &checkpoints_path(), &error))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Requests a checkpoint. Returns false if one was requested and has not begun.
    pub(crate) fn request(&self, core: &StoreCore) -> bool {
        let (orders, wake) = &*self.shared;
        // The thread checks the request under this lock before it waits.
        let held = lock(orders);
        let is_first = core.request_checkpoint();
        drop(held);
        wake.notify_all();
        is_first
    }

    /// Stops the thread, after the checkpoint that it is writing.
    pub(crate) fn stop(&self) {
        let (orders, wake) = &*self.shared;
        lock(orders).stop = true;
        wake.notify_all();
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // Only a panic in the thread is an error here, and it has been reported already.
            let _ = thread.join();
        }
    }
}

fn checkpoints_path() -> std::path::PathBuf {
    "the checkpoints".into()
}

fn run(core: &StoreCore, (orders, wake): &(Mutex<SchedulerSignal>, Condvar)) {
    let mut not_before = Instant::now();
    loop {
        let mut held = lock(orders);
        if !held.stop && !core.checkpoint_is_requested() {
            held = wait_timeout(wake, held, LOOK_INTERVAL);
        }
        if held.stop {
            return;
        }
        drop(held);
        let may_be_due = Instant::now() >= not_before;
        if (core.checkpoint_is_requested() || (may_be_due && core.checkpoint_is_due()))
            && let Some(written) = core.checkpoint_if_requested(core.options.checkpoint_threads, may_be_due)
        {
            match written {
                Ok(report) => tracing::info!(rows = report.rows, took = ?report.took, "checkpoint written"),
                // The log's disk is full by now. The next checkpoint is written at a standstill and
                // may free space.
                Err(Error::Closed | Error::NoRoomOnDisk { .. }) => {}
                Err(error) => {
                    tracing::error!("the checkpoint failed, the log is kept: {error}");
                    not_before = Instant::now() + RETRY_INTERVAL;
                }
            }
        }
    }
}
