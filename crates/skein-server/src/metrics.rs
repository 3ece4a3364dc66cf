//! `ServerOptions::metrics`: the server in numbers for Prometheus, by HTTP, in a thread of its own.
//!
//! ```text
//!   Prometheus ─► GET /metrics ─► collect: counts of the workers, of the store, of the system ─► OpenMetrics text
//!   supervisor ─► GET /-/healthy, /-/ready ─► pages: what the server is at, from before its data is there
//! ```
//!
//! One request at a time, each with a deadline for its head and one for its answer (see `exchange`), and a bound on its bytes, so that nobody can hold it up for
//! long or make it grow. It takes no lock that requests of clients wait for. A stop cuts off the request that is being answered.

mod collect;
mod exchange;
mod pages;

use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use skein_sync::locks::lock;

use exchange::Patience;
use pages::Page;
pub(crate) use pages::Pages;

use crate::StartError;
use crate::server::{poll_with_waker, spawn, system};

const WAKE: Token = Token(usize::MAX);
const LISTENER: Token = Token(0);

/// For how long others wait for one who asks. A request is sent whole by whoever means it; its answer is long.
const PATIENCE: Patience = Patience { head: Duration::from_secs(1), answer: Duration::from_secs(2) };
/// How long accepting rests when the system refuses.
const REST: Duration = Duration::from_millis(50);

/// A place where Prometheus may ask, before anybody answers.
#[derive(Debug)]
pub(crate) struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    poll: Poll,
    waker: Waker,
}

/// Who is being answered, so that a stop can cut it off.
type Asking = Mutex<Option<TcpStream>>;

/// The thread that answers.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub address: SocketAddr,
    waker: Waker,
    asking: Arc<Asking>,
    thread: JoinHandle<()>,
}

impl Listening {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn at(listen: SocketAddr) -> Result<Self, StartError> {
        let failed = |cause| StartError::Listen { listen, cause };
        let mut listener = TcpListener::bind(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (poll, waker) = poll_with_waker(WAKE)?;
        let registered = poll.registry().register(&mut listener, LISTENER, Interest::READABLE);
        registered.map_err(system("an event queue"))?;
        Ok(Self { listener, address, poll, waker })
    }

    /// Answers with these pages from now on, until [`Metrics::end`].
    pub(crate) fn serve(self, pages: &Arc<Pages>) -> Result<Metrics, StartError> {
        let (ending, asked) = (Arc::clone(pages), Arc::clone(pages));
        let metrics = self.answer(PATIENCE, move || ending.are_over(), move |path| asked.page(path))?;
        tracing::info!(address = %metrics.address, "answering Prometheus");
        Ok(metrics)
    }

    /// Answers each request with its page.
    fn answer(
        self,
        patience: Patience,
        stopping: impl Fn() -> bool + Send + 'static,
        page: impl Fn(&[u8]) -> Option<Page> + Send + 'static,
    ) -> Result<Metrics, StartError> {
        let Self { listener, address, poll, waker } = self;
        let asking = Arc::new(Asking::default());
        let answering = Answering { asking: Arc::clone(&asking), patience, stopping, page };
        let thread = spawn("skein-metrics".to_owned(), move || answering.run(&listener, poll))?;
        Ok(Metrics { address, waker, asking, thread })
    }
}

impl Metrics {
    /// Ends the thread of a server that does not come to be.
    pub(crate) fn give_up(self, pages: &Pages) {
        pages.give_up();
        if !self.end() {
            tracing::error!("the thread of the metrics panicked");
        }
    }

    /// Ends the thread, once the server is stopping; false if it panicked.
    pub(crate) fn end(self) -> bool {
        if let Err(cause) = self.waker.wake() {
            tracing::error!(%cause, "cannot wake the thread of the metrics");
        }
        if let Some(stream) = &*lock(&self.asking) {
            // Who has gone already needs no cut.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.thread.join().is_ok()
    }
}

/// What the thread has at hand.
struct Answering<S, T> {
    asking: Arc<Asking>,
    patience: Patience,
    stopping: S,
    page: T,
}

impl<S: Fn() -> bool, T: Fn(&[u8]) -> Option<Page>> Answering<S, T> {
    fn run(&self, listener: &TcpListener, mut poll: Poll) {
        let mut events = Events::with_capacity(4);
        while !(self.stopping)() {
            if let Err(cause) = poll.poll(&mut events, None)
                && cause.kind() != io::ErrorKind::Interrupted
            {
                tracing::error!(%cause, "metrics are not answered any more");
                return;
            }
            while !(self.stopping)() {
                match listener.accept() {
                    Ok((stream, _)) => {
                        if let Err(cause) = self.answer(stream.into()) {
                            tracing::debug!(%cause, "a request for metrics was not answered");
                        }
                    }
                    Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => std::thread::sleep(REST),
                }
            }
        }
    }

    /// Answers the one request of a connection, unless a stop begins.
    fn answer(&self, stream: TcpStream) -> io::Result<()> {
        *lock(&self.asking) = Some(stream.try_clone()?);
        // Only now: a stop that has not begun yet finds the connection.
        let done =
            if (self.stopping)() { Ok(()) } else { exchange::answer(stream, self.patience, &self.page) };
        *lock(&self.asking) = None;
        done
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;

    use super::*;

    /// A stop waited for whoever was being answered, as long as they liked to take.
    #[test]
    fn a_stop_waits_for_nobody() {
        let hour = Patience { head: Duration::from_hours(1), answer: Duration::from_hours(1) };
        for request in ["", "GET /metr", "GET /metrics HTTP/1.1\r\n\r\n"] {
            let listening = Listening::at(([127, 0, 0, 1], 0).into()).expect("a port");
            let stop = Arc::new(AtomicBool::new(false));
            let stopping = Arc::clone(&stop);
            // More than the system buffers.
            let page = |_: &[u8]| Some(Page::words("200 OK", "x".repeat(64 << 20)));
            let metrics = listening.answer(hour, move || stopping.load(Ordering::SeqCst), page);
            let metrics = metrics.expect("a thread");
            let mut client = TcpStream::connect(metrics.address).expect("a connection");
            client.write_all(request.as_bytes()).expect("to send");
            while lock(&metrics.asking).is_none() {
                std::thread::yield_now();
            }
            stop.store(true, Ordering::SeqCst);
            let (ended, end) = channel();
            std::thread::spawn(move || ended.send(metrics.end()));
            assert_eq!(end.recv_timeout(Duration::from_mins(1)), Ok(true), "{request:?}");
        }
    }
}
