//! The background thread that starts checkpoints: by log size, by time, or on request.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_sync::background::{BackgroundThread, ThreadSignal};

use crate::store::StoreCore;
use crate::{Error, Result};

/// The interval at which the thread checks log size and time.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// The delay before the next attempt after a failed checkpoint, for example on a full disk.
const RETRY_INTERVAL: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(crate) struct CheckpointScheduler(BackgroundThread);

impl CheckpointScheduler {
    /// Starts the thread. It keeps the store's memory alive until it is stopped.
    pub(crate) fn start(core: Arc<StoreCore>) -> Result<Self> {
        let run = move |signal: &ThreadSignal| run(&core, signal);
        BackgroundThread::start("skein-checkpoint", Arc::default(), run)
            .map(Self)
            .map_err(|error| Error::io("start a thread for", Path::new("the checkpoints"), &error))
    }

    /// Requests a checkpoint. Returns false if one was requested and has not begun.
    pub(crate) fn request(&self, core: &StoreCore) -> bool {
        let is_first = core.request_checkpoint();
        self.0.wake();
        is_first
    }

    /// Stops the thread, after the checkpoint that it is writing.
    pub(crate) fn stop(&self) {
        self.0.stop();
    }
}

fn run(core: &StoreCore, signal: &ThreadSignal) {
    let mut not_before = Instant::now();
    while signal.wait_timeout(LOOK_INTERVAL) {
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
