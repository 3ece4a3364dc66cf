//! A thread that processes a bounded queue.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::exit::Failure;
use crate::threads;

/// The sending end of the queue.
pub struct WorkQueue<T> {
    /// Removed to end the thread.
    sender: Option<SyncSender<T>>,
    thread: Option<JoinHandle<Result<(), Failure>>>,
}

impl<T: Send + 'static> WorkQueue<T> {
    /// Starts a thread that calls `work` on each item. At most `waiting` items wait for it.
    pub fn start(
        waiting: usize,
        work: impl FnOnce(Receiver<T>) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Self, Failure> {
        let (sender, things) = sync_channel(waiting);
        let thread = threads::start("skein-load", move || work(things))?;
        Ok(Self { sender: Some(sender), thread: Some(thread) })
    }

    /// Adds an item. Blocks while the queue is full. Returns false if the thread has ended.
    ///
    /// # Errors
    /// Returns the error with which the thread failed, once.
    pub fn put(&mut self, thing: T) -> Result<bool, Failure> {
        if self.sender.as_ref().is_some_and(|sender| sender.send(thing).is_ok()) {
            return Ok(true);
        }
        self.end()?;
        Ok(false)
    }

    /// Waits until all items are processed, and ends the thread.
    ///
    /// # Errors
    /// Returns the error with which the thread failed, unless `put` returned it before.
    pub fn end(&mut self) -> Result<(), Failure> {
        self.sender = None;
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}
