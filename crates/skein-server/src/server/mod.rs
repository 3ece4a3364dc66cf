//! Starts and stops a server.
//!
//! ```text
//!   bound_server ──► loading ──► acceptor ──► worker 0..n   each: event loop, connections, session
//!   (sockets)        (the data   (limits,        └──► checkpoint thread: writes the checkpoints that
//!                     is loaded)  TLS begins)                            SAVE requests
//!   rates: samples the counts                metrics: answers Prometheus
//! ```
//!
//! `error` is the error of a start.

pub(crate) mod acceptor;
pub(crate) mod bound_server;
pub(crate) mod error;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::Poll;
use skein_sync::background::{BackgroundThread, ThreadSignal};

use crate::net::threads::{spawn, system};
use crate::observe::rates;
use crate::report::metrics::MetricsThread;
use crate::request::command_error::CommandError;
use crate::shared::ServerShared;
use crate::worker::loading::LoadingHandover;
use crate::worker::{Worker, WorkerReport};
use crate::{ServerOptions, StartError};
use acceptor::Acceptor;
use bound_server::{BoundServer, MetricsPort};
use skein_data::{Engine, OpenProgress};

/// A running server.
#[derive(Debug)]
pub struct Server {
    shared: Arc<ServerShared>,
    acceptor: JoinHandle<io::Result<()>>,
    workers: Vec<JoinHandle<io::Result<WorkerReport>>>,
    checkpoint_thread: JoinHandle<()>,
    rates_thread: BackgroundThread,
    metrics: Option<MetricsThread>,
}

/// Stops a server from any thread. Created by [`Server::handle`].
#[derive(Debug, Clone)]
pub struct ServerHandle {
    shared: Arc<ServerShared>,
}

/// The final figures of a server, which [`Server::wait`] returns after the stop.
#[derive(Debug)]
#[non_exhaustive]
pub struct StopReport {
    /// Requests answered since the start.
    pub requests: u64,
    /// Connections accepted since the start.
    pub connections: u64,
    /// Connections that were open when the stop began.
    pub closed: usize,
    /// Of those, the ones that were closed before all their replies were sent.
    pub cut_short: usize,
    /// Threads that failed. Each should be reported as a bug.
    pub failed_threads: Vec<String>,
    /// The result of making all writes durable (see [`Engine::flush`]).
    pub flushed: Result<(), skein_data::Error>,
    /// How long the server ran.
    pub ran: Duration,
    /// How long the stop took.
    pub took: Duration,
}

impl ServerHandle {
    /// Begins a graceful stop. No new connections are accepted, requests that were read are
    /// answered, and then connections are closed. [`Server::wait`] returns when this is done.
    pub fn shutdown(&self) {
        self.shared.stop();
    }
}

impl Server {
    /// Listens on the addresses of the options before there is data to serve. `progress` must be
    /// that of the store that will be opened.
    ///
    /// Raises this process's soft limit on open files if `clients_max` needs it. If the limit is
    /// still too low, lowers `clients_max` to fit it. Descriptors for logs, checkpoints and files
    /// that are open at the start are reserved.
    ///
    /// # Errors
    /// If an option is invalid, an address cannot be listened on, or the limit on open files has no
    /// room for clients.
    pub fn bind(options: ServerOptions, progress: Arc<OpenProgress>) -> Result<BoundServer, StartError> {
        BoundServer::new(options, progress)
    }

    /// Listens, and starts to serve `store`, which is open already: [`bind`](Self::bind) and
    /// [`BoundServer::serve`] together.
    ///
    /// # Errors
    /// If an option is invalid, an address cannot be listened on, or no thread can be started.
    pub fn start(store: impl Into<Engine>, options: ServerOptions) -> Result<Self, StartError> {
        Self::bind(options, Arc::default())?.serve(store)
    }

    pub(crate) fn start_threads(
        shared: &Arc<ServerShared>,
        acceptor_poll: Poll,
        handover: LoadingHandover,
        polls: Vec<Poll>,
        mut metrics: MetricsPort,
    ) -> Result<Self, StartError> {
        let LoadingHandover { listeners, mut handed_over } = handover;
        let count = polls.len();
        let mut workers = Vec::new();
        for (number, poll) in polls.into_iter().enumerate() {
            let mut worker = Worker::new(number, shared.clone(), poll);
            let share = handed_over.len().div_ceil(count - number);
            worker.adopt_from_loading(handed_over.drain(..share));
            let run = guarded(shared.clone(), "worker", move || worker.run());
            workers.push(spawn(format!("skein-worker-{number}"), run)?);
        }
        let writer = shared.clone();
        let checkpoint_thread = spawn("skein-saver".to_owned(), move || write_checkpoints(&writer))?;
        let sampled = shared.clone();
        let sample = move |signal: &ThreadSignal| sample_rates(&sampled, signal);
        let rates_thread = BackgroundThread::start("skein-rates", Arc::default(), sample);
        let rates_thread = rates_thread.map_err(system("a thread"))?;
        let acceptor =
            Acceptor::new(shared.clone(), acceptor_poll, listeners).map_err(system("accepting"))?;
        let run = guarded(shared.clone(), "acceptor", move || acceptor.run());
        let acceptor = spawn("skein-acceptor".to_owned(), run)?;
        let metrics = metrics.given.take();
        Ok(Self { shared: shared.clone(), acceptor, workers, checkpoint_thread, rates_thread, metrics })
    }

    /// Returns the TCP address, with the actual port if port 0 was requested.
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.identity.address
    }

    /// Returns the TLS address, if the server listens for TLS.
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.shared.identity.tls.as_ref().map(|port| port.address)
    }

    /// Returns the address of the metrics, if there is one, with the actual port if port 0 was
    /// requested.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|metrics| metrics.address)
    }

    /// Returns a handle that stops this server.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle { shared: self.shared.clone() }
    }

    /// Waits until [`ServerHandle::shutdown`] or the command SHUTDOWN has stopped the server.
    pub fn wait(self) -> StopReport {
        let mut failed_threads = Vec::new();
        match self.acceptor.join() {
            Ok(Ok(())) => {}
            Ok(Err(cause)) => failed_threads.push(format!("acceptor: {cause}")),
            Err(_) => failed_threads.push("acceptor: panicked".to_owned()),
        }
        let began = Instant::now();
        let mut total = WorkerReport::default();
        for (number, worker) in self.workers.into_iter().enumerate() {
            match worker.join() {
                Ok(Ok(report)) => {
                    total.closed += report.closed;
                    total.cut_short += report.cut_short;
                }
                Ok(Err(cause)) => failed_threads.push(format!("worker {number}: {cause}")),
                Err(_) => failed_threads.push(format!("worker {number}: panicked")),
            }
        }
        let shared = &self.shared;
        shared.data.migrations.cancel();
        if self.checkpoint_thread.join().is_err() {
            failed_threads.push("checkpoint thread: panicked".to_owned());
        }
        // The flush is done before the threads that only observe are joined, so that acknowledged
        // writes become durable without delay.
        let flushed = shared.data.store.flush();
        // Drops connections that arrived too late for a worker, so that their clients notice the
        // close even if a handle still exists.
        for mailbox in &*shared.workers.mailboxes {
            drop(mailbox.take(Vec::new()));
        }
        if !self.rates_thread.stop() {
            failed_threads.push("rates: panicked".to_owned());
        }
        if self.metrics.is_some_and(|metrics| !metrics.end()) {
            failed_threads.push("metrics: panicked".to_owned());
        }
        let report = StopReport {
            requests: shared.workers.total(|counts| &counts.requests),
            connections: shared.clients.accepted.load(Ordering::Relaxed),
            closed: total.closed,
            cut_short: total.cut_short,
            failed_threads,
            flushed,
            ran: shared.identity.started.elapsed(),
            took: began.elapsed(),
        };
        tracing::info!(requests = report.requests, closed = report.closed, took = ?report.took, "stopped");
        report
    }
}

/// Runs a thread of the server. If it fails, the whole server stops: otherwise its connections
/// would hang.
fn guarded<R: Send + 'static>(
    shared: Arc<ServerShared>,
    what: &'static str,
    run: impl FnOnce() -> io::Result<R> + Send + 'static,
) -> impl FnOnce() -> io::Result<R> + Send + 'static {
    struct StopOnUnwind(Arc<ServerShared>, &'static str);
    impl Drop for StopOnUnwind {
        fn drop(&mut self) {
            if std::thread::panicking() {
                tracing::error!(thread = self.1, "a thread of the server panicked; stopping");
                self.0.stop();
            }
        }
    }
    move || {
        let _stop = StopOnUnwind(shared.clone(), what);
        let result = run();
        if let Err(cause) = &result {
            tracing::error!(%cause, thread = what, "a thread of the server failed; stopping");
            shared.stop();
        }
        result
    }
}

/// Samples the counts for the rates until the thread is stopped.
fn sample_rates(shared: &ServerShared, signal: &ThreadSignal) {
    loop {
        let counts = [
            shared.workers.total(|counts| &counts.requests),
            shared.workers.total(|counts| &counts.bytes_in),
            shared.workers.total(|counts| &counts.bytes_out),
        ];
        shared.observing.sampler.sample(Instant::now(), counts);
        if !signal.wait_timeout(rates::TICK) {
            return;
        }
    }
}

/// Writes the checkpoints that clients wait for, one after the other. Each is for all clients that
/// asked before it began.
fn write_checkpoints(shared: &ServerShared) {
    shared.data.checkpoints.serve(
        || {
            let done = shared.data.store.checkpoint();
            if let Err(error) = &done {
                tracing::error!(%error, "a checkpoint failed");
            }
            done.map_err(CommandError::from)
        },
        |askers, done| shared.workers.report_checkpoint(askers, done),
    );
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;

    use skein_store::{Durability, Store, StoreOptions};

    use super::*;
    use crate::net::transport::Transport;

    /// Incident: a connection stayed in the mailbox of a worker that had ended. Consequence: it was
    /// open for as long as a handle existed. Fix: the mailboxes are emptied after the workers have
    /// ended.
    #[test]
    fn connection_accepted_during_a_stop_is_closed() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = StoreOptions { durability: Durability::None, logs: 1, ..StoreOptions::default() };
        let store = Store::open(folder.path(), options).expect("a store");
        let listen = ([127, 0, 0, 1], 0).into();
        let options = ServerOptions { listen, workers: 1, ..ServerOptions::default() };
        let server = Server::start(store.clone(), options).expect("a server");
        let handle = server.handle();
        handle.shutdown();
        while !server.workers[0].is_finished() {
            std::thread::yield_now();
        }
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let mut client =
            TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let (accepted, _) = listener.accept().expect("a connection");
        accepted.set_nonblocking(true).expect("no waiting");
        let accepted = Transport::Tcp(mio::net::TcpStream::from_std(accepted));
        server.shared.workers.mailboxes[0].send(|mail| mail.connections.push(accepted));
        assert!(server.wait().failed_threads.is_empty());
        client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        assert_eq!(client.read(&mut [0; 8]).expect("the end"), 0);
        drop(handle);
        store.close().expect("closed");
    }
}
