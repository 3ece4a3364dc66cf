//! The sweeper thread, which removes the rest of dead collections.
//!
//! It writes no records: no reader can see those members, and recovery drops those that a crash
//! leaves.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use skein_sync::locks::{lock, wait};

use super::MemberIndex;
use super::sweep_queue::SweepEnd;
use crate::{Error, Result};

#[derive(Debug)]
pub(crate) struct Sweeper {
    members: Arc<MemberIndex>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Sweeper {
    pub(crate) fn start(members: Arc<MemberIndex>) -> Result<Self> {
        let worked_on = members.clone();
        let thread =
            std::thread::Builder::new().name("skein-sweep".into()).spawn(move || run(&worked_on)).map_err(
                |error| Error::io("start a thread for", std::path::Path::new("dead collections"), &error),
            )?;
        Ok(Self { members, thread: Mutex::new(Some(thread)) })
    }

    /// Stops the thread. The rest of the queue stays until the next start.
    pub(crate) fn stop(&self) {
        self.members.end_sweeps();
        if let Some(thread) = lock(&self.thread).take() {
            // Only a panic in the thread is an error here, and it has been reported already.
            let _ = thread.join();
        }
    }
}

impl MemberIndex {
    /// Tells the thread to end.
    pub(crate) fn end_sweeps(&self) {
        lock(&self.sweep_queue).stop = true;
        self.wake.notify_all();
    }
}

fn run(members: &MemberIndex) {
    loop {
        let mut queue = lock(&members.sweep_queue);
        while queue.dead.is_empty() && !queue.stop {
            queue = wait(&members.wake, queue);
        }
        if queue.stop {
            return;
        }
        drop(queue);
        if let Err(error) = members.sweep_slice(SweepEnd::First) {
            tracing::debug!("the rest of a collection stays until the next start: {error}");
            members.abandon_first();
        }
    }
}
