//! The metrics endpoint (`ServerOptions::metrics`): the server's statistics for Prometheus by HTTP,
//! in a thread of its own.
//!
//! ```text
//!   Prometheus ─► GET /metrics ─► collect: counts of workers, store and system ─► OpenMetrics text
//!   supervisor ─► GET /-/healthy, /-/ready ─► pages: the server's state, also while loading
//! ```
//!
//! One thread serves up to `CONNECTIONS_MAX` connections at once and never waits for a single one.
//! Each connection has a deadline for its request and one for its answer (see `http`), and a limit
//! on its bytes. If all places are taken, a new connection replaces the one that has been silent
//! for longest. So clients can neither block the thread nor make its memory grow.
//!
//! The thread never holds a lock that requests of clients wait for. When the server stops,
//! unfinished answers are cut off.

mod collect;
mod http;
mod pages;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use http::{HttpExchange, HttpTimeouts};
use pages::HttpPage;
pub(crate) use pages::MetricsPages;

use crate::StartError;
use crate::net::accepting::REST;
use crate::net::open_files::METRICS_CONNECTIONS_MAX as CONNECTIONS_MAX;
use crate::net::threads::{poll_with_waker, spawn, system};

const WAKE: Token = Token(usize::MAX);
const LISTENER: Token = Token(usize::MAX - 1);

/// The time limits of an exchange. A normal client sends its request in one piece; the answer is
/// long.
const PATIENCE: HttpTimeouts = HttpTimeouts { head: Duration::from_secs(1), answer: Duration::from_secs(2) };

/// The port of the metrics, before a thread answers on it.
#[derive(Debug)]
pub(crate) struct MetricsListener {
    listener: TcpListener,
    address: SocketAddr,
    poll: Poll,
    waker: Waker,
}

/// The handle of the thread.
#[derive(Debug)]
pub(crate) struct MetricsThread {
    pub address: SocketAddr,
    waker: Waker,
    thread: JoinHandle<()>,
}

impl MetricsListener {
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

    /// Starts the thread, which answers with these pages until [`MetricsThread::end`].
    pub(crate) fn serve(self, pages: &Arc<MetricsPages>) -> Result<MetricsThread, StartError> {
        let (ending, asked) = (Arc::clone(pages), Arc::clone(pages));
        let metrics = self.answer(PATIENCE, move || ending.are_over(), move |path| asked.page(path))?;
        tracing::info!(address = %metrics.address, "answering Prometheus");
        Ok(metrics)
    }

    /// Answers each request with its page.
    fn answer(
        self,
        patience: HttpTimeouts,
        stopping: impl Fn() -> bool + Send + 'static,
        page: impl Fn(&[u8]) -> Option<HttpPage> + Send + 'static,
    ) -> Result<MetricsThread, StartError> {
        let Self { listener, address, poll, waker } = self;
        let exchanges = [const { None }; CONNECTIONS_MAX];
        let answering = MetricsLoop { listener, poll, exchanges, patience, stopping, page };
        let thread = spawn("skein-metrics".to_owned(), move || answering.run())?;
        Ok(MetricsThread { address, waker, thread })
    }
}

impl MetricsThread {
    /// Ends the thread of a server that failed to start.
    pub(crate) fn give_up(self, pages: &MetricsPages) {
        pages.give_up();
        if !self.end() {
            tracing::error!("the thread of the metrics panicked");
        }
    }

    /// Ends the thread after the server has begun to stop. Returns `false` if the thread panicked.
    pub(crate) fn end(self) -> bool {
        if let Err(cause) = self.waker.wake() {
            tracing::error!(%cause, "cannot wake the thread of the metrics");
        }
        self.thread.join().is_ok()
    }
}

/// The state of the thread.
struct MetricsLoop<S, T> {
    listener: TcpListener,
    poll: Poll,
    exchanges: [Option<HttpExchange>; CONNECTIONS_MAX],
    patience: HttpTimeouts,
    stopping: S,
    page: T,
}

impl<S: Fn() -> bool, T: Fn(&[u8]) -> Option<HttpPage>> MetricsLoop<S, T> {
    fn run(mut self) {
        let mut events = Events::with_capacity(2 * CONNECTIONS_MAX);
        let mut rest = None;
        while !(self.stopping)() {
            if let Err(cause) = self.poll.poll(&mut events, self.until_next().into_iter().chain(rest).min())
                && cause.kind() != io::ErrorKind::Interrupted
            {
                tracing::error!(%cause, "the metrics thread failed; metrics are no longer available");
                return;
            }
            for event in &events {
                if let Token(place) = event.token()
                    && place < CONNECTIONS_MAX
                {
                    self.step(place);
                }
            }
            self.drop_overdue();
            // This is done even without an event: a connection that was refused for a while makes
            // no further event.
            rest = self.accept_all();
        }
    }

    /// Returns the time until the next deadline.
    fn until_next(&self) -> Option<Duration> {
        let first = self.exchanges.iter().flatten().map(|exchange| exchange.deadline).min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    fn drop_overdue(&mut self) {
        let now = Instant::now();
        for exchange in &mut self.exchanges {
            if exchange.take_if(|exchange| exchange.deadline <= now).is_some() {
                tracing::debug!("a request for metrics took too long");
            }
        }
    }

    /// Accepts all waiting connections. Returns how long to rest before the next attempt, if the
    /// system refused.
    fn accept_all(&mut self) -> Option<Duration> {
        while !(self.stopping)() {
            match self.listener.accept() {
                Ok((stream, _)) => self.begin(stream),
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return None,
                Err(_) => return Some(REST),
            }
        }
        None
    }

    /// Begins an exchange in a free place, or in place of the connection that has been silent for
    /// longest.
    fn begin(&mut self, mut stream: TcpStream) {
        let since = |exchange: &Option<HttpExchange>| exchange.as_ref().map(HttpExchange::silent_since);
        let Some(place) = (0..CONNECTIONS_MAX).min_by_key(|&place| since(&self.exchanges[place])) else {
            return;
        };
        // The old connection must be closed before the new one is registered under the same number.
        self.exchanges[place] = None;
        let both = Interest::READABLE | Interest::WRITABLE;
        if let Err(cause) = self.poll.registry().register(&mut stream, Token(place), both) {
            tracing::debug!(%cause, "a request for metrics cannot be watched");
            return;
        }
        self.exchanges[place] = Some(HttpExchange::new(stream, self.patience));
        self.step(place);
    }

    /// Continues an exchange as far as possible without waiting.
    fn step(&mut self, place: usize) {
        let Some(exchange) = &mut self.exchanges[place] else { return };
        match exchange.step(self.patience, &self.page) {
            Ok(false) => {}
            Ok(true) => self.exchanges[place] = None,
            Err(cause) => {
                tracing::debug!(%cause, "a request for metrics was not answered");
                self.exchanges[place] = None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
