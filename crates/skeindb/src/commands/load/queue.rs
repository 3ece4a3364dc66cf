//! A thread that works off a queue of bounded length.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::exit::Failure;
use crate::threads;

/// The queue's end where things are put in.
pub struct WorkQueue<T> {
    /// Taken away to end the thread.
    sender: Option<SyncSender<T>>,
    thread: Option<JoinHandle<Result<(), Failure>>>,
}

impl<T: Send + 'static> WorkQueue<T> {
    /// Starts a thread that does `work` on what comes; at most `waiting` things wait for it.
    pub fn start(
        waiting: usize,
        work: impl FnOnce(Receiver<T>) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Self, Failure> {
        let (sender, things) = sync_channel(waiting);
        let thread = threads::start("skein-load", move || work(things))?;
        Ok(Self { sender: Some(sender), thread: Some(thread) })
    }

    /// Puts a thing in, and waits while there is no room. False if the thread has ended.
    ///
    /// # Errors
    /// The thread takes no more because it has failed; this is why. It is told once.
    pub fn put(&mut self, thing: T) -> Result<bool, Failure> {
        if self.sender.as_ref().is_some_and(|sender| sender.send(thing).is_ok()) {
            return Ok(true);
        }
        self.end()?;
        Ok(false)
    }

    /// Waits until all is worked off, and ends the thread.
    ///
    /// # Errors
    /// The thread has failed, and that was not told before.
    pub fn end(&mut self) -> Result<(), Failure> {
        self.sender = None;
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}
