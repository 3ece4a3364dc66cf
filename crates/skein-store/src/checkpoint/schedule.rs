//! The background thread that starts checkpoints: by log size, by time, or on request.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_sync::background::{BackgroundThread, ThreadSignal};

use super::CheckpointReport;
use crate::{Error, Result};

/// The interval at which the thread checks log size and time. The logs of a small store exceed
/// their bound by the writes of one interval.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The delay before the next attempt after a failed checkpoint, for example on a full disk.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Starts the thread. `write_if_wanted` writes a checkpoint if one is requested, or if one is due
/// and its argument allows it. The thread owns the closure until it is stopped, so the captured
/// values stay alive.
pub(crate) fn start(
    write_if_wanted: impl Fn(bool) -> Option<Result<CheckpointReport>> + Send + 'static,
) -> Result<BackgroundThread> {
    let run = move |signal: &ThreadSignal| run(&write_if_wanted, signal);
    BackgroundThread::start("skein-checkpoint", Arc::default(), run)
        .map_err(|error| Error::io("start a thread for", Path::new("the checkpoints"), &error))
}

fn run(write_if_wanted: &impl Fn(bool) -> Option<Result<CheckpointReport>>, signal: &ThreadSignal) {
    let mut not_before = Instant::now();
    while signal.wait_timeout(LOOK_INTERVAL) {
        match write_if_wanted(Instant::now() >= not_before) {
            Some(Ok(report)) => tracing::info!(rows = report.rows, took = ?report.took, "checkpoint written"),
            // The log's disk is full by now. The next checkpoint is written at a standstill and may
            // free space.
            None | Some(Err(Error::Closed | Error::NoRoomOnDisk { .. })) => {}
            Some(Err(error)) => {
                tracing::error!("the checkpoint failed, the log is kept: {error}");
                not_before = Instant::now() + RETRY_INTERVAL;
            }
        }
    }
}
