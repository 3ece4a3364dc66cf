//! The sweeper thread, which removes the rest of dead collections.
//!
//! It writes no records: no reader can see those members, and recovery drops those that a crash
//! leaves. If it is stopped, the rest of the queue stays until the next start.

use std::path::Path;
use std::sync::Arc;

use skein_sync::background::{BackgroundThread, ThreadSignal};

use super::MemberIndex;
use super::sweep_queue::SweepEnd;
use crate::{Error, Result};

/// Starts the thread. Collections that died before wait for it.
pub(crate) fn start(members: Arc<MemberIndex>) -> Result<BackgroundThread> {
    let signal = members.sweeper.clone();
    BackgroundThread::start("skein-sweep", signal, move |signal| run(&members, signal))
        .map_err(|error| Error::io("start a thread for", Path::new("dead collections"), &error))
}

fn run(members: &MemberIndex, signal: &ThreadSignal) {
    while signal.wait() {
        while !signal.is_stopped() && members.any_dead() {
            if let Err(error) = members.sweep_slice(SweepEnd::First) {
                tracing::debug!("the rest of a collection stays until the next start: {error}");
                members.abandon_first();
            }
        }
    }
}
