//! Starts threads and makes event queues. An error names the refused resource.

use std::io;
use std::thread::JoinHandle;

use mio::{Poll, Waker};

use crate::StartError;

pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> StartError {
    move |cause| StartError::System { what, cause }
}

pub(crate) fn poll_with_waker(token: mio::Token) -> Result<(Poll, Waker), StartError> {
    let poll = Poll::new().map_err(system("an event queue"))?;
    let waker = Waker::new(poll.registry(), token).map_err(system("an event queue"))?;
    Ok((poll, waker))
}

pub(crate) fn spawn<R: Send + 'static>(
    name: String,
    run: impl FnOnce() -> R + Send + 'static,
) -> Result<JoinHandle<R>, StartError> {
    // Every worker runs scripts. The unused part of a stack occupies no memory.
    let builder = std::thread::Builder::new().name(name).stack_size(skein_script::STACK_SIZE);
    builder.spawn(run).map_err(system("a thread"))
}
