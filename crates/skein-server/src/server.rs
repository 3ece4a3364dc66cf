//! Starting a server, and stopping it.
//!
//! ```text
//!   acceptor ──► worker 0..n   each: event loop, connections, session
//!                   └──► keeper: writes the checkpoints that SAVE asks for
//!   pulse: looks at the counts, for rates        metrics: tells them to Prometheus
//! ```

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::net::TcpListener;
use mio::{Poll, Waker};
use skein_store::OpenProgress;

use crate::acceptor::{self, Acceptor};
use crate::acl::Acl;
use crate::commands::Fault;
use crate::engine::{self, Engine};
use crate::files::FileRoom;
use crate::loading::Loading;
use crate::metrics::{Listening, Metrics, Pages};
use crate::observe::pulse;
use crate::shared::{Mailbox, Shared};
use crate::tls::TlsPort;
use crate::transport::Listener;
use crate::worker::loading::{Doorman, Handover};
use crate::worker::{self, Worker, WorkerReport};
use crate::{ServerOptions, StartError, files, unix_socket};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// A server that is running.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    acceptor: JoinHandle<io::Result<()>>,
    workers: Vec<JoinHandle<io::Result<WorkerReport>>>,
    keeper: JoinHandle<()>,
    pulse: JoinHandle<()>,
    metrics: Option<Metrics>,
}

/// Stops a server from any thread; made by [`Server::handle`].
#[derive(Debug, Clone)]
pub struct ServerHandle {
    shared: Arc<Shared>,
}

/// What a server did, told by [`Server::wait`] when it has stopped.
#[derive(Debug)]
#[non_exhaustive]
pub struct StopReport {
    /// Requests answered since the start.
    pub requests: u64,
    /// Connections accepted since the start.
    pub connections: u64,
    /// Connections that were open when the stop began.
    pub closed: usize,
    /// Of them, those to which not all replies could be sent in time.
    pub cut_short: usize,
    /// Threads that ended by a failure; always worth a report to the makers.
    pub failed_threads: Vec<String>,
    /// Whether everything written was made durable (see [`Engine::flush`]).
    pub flushed: Result<(), engine::Error>,
    /// How long the server ran.
    pub ran: Duration,
    /// How long the stop took.
    pub took: Duration,
}

impl ServerHandle {
    /// Begins a graceful stop: no new connections; what has been read is answered; then connections are
    /// closed. [`Server::wait`] returns when it is done.
    pub fn shutdown(&self) {
        self.shared.stop();
    }
}

pub(crate) fn system(what: &'static str) -> impl Fn(io::Error) -> StartError {
    move |cause| StartError::System { what, cause }
}

/// A port that is listened on, and its address.
fn listen_on(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |cause| StartError::Listen { listen, cause };
    let listener = TcpListener::bind(listen).map_err(failed)?;
    // The standard library's queue of 128 overflows in a burst, and a client that is dropped tries again after
    // a whole second. Listening once more only sets the length; the system caps it.
    rustix::net::listen(&listener, BACKLOG).map_err(|cause| failed(cause.into()))?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

pub(crate) fn poll_with_waker(token: mio::Token) -> Result<(Poll, Waker), StartError> {
    let poll = Poll::new().map_err(system("an event queue"))?;
    let waker = Waker::new(poll.registry(), token).map_err(system("an event queue"))?;
    Ok((poll, waker))
}

/// A server that listens and has no data yet (see `loading`). Dropped, it listens no more.
#[derive(Debug)]
pub struct Bound {
    loading: Arc<Loading>,
    tls: Option<Arc<TlsPort>>,
    ports: Ports,
    metrics: Answers,
    metrics_address: Option<SocketAddr>,
}

/// Where connections come in, or who answers there.
#[derive(Debug)]
enum Ports {
    Waiting(Vec<Listener>),
    Answered(Doorman),
}

/// The metrics, if they are wanted: the port that waits, then the thread that answers there, which
/// ends when this is dropped.
#[derive(Debug)]
struct Answers {
    waiting: Option<Listening>,
    given: Option<Metrics>,
    pages: Arc<Pages>,
}

impl Bound {
    /// Where it listens; tells the port that was taken for port 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.loading.address
    }

    /// Where it listens for TLS, if it does.
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.tls.as_ref().map(|port| port.address)
    }

    /// Where it answers Prometheus, if it does.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Answers whoever comes, from now on until [`serve`](Self::serve): with LOADING, as Redis
    /// does, but for what needs no data. A client's SHUTDOWN cancels the opening of the store.
    ///
    /// # Errors
    /// No threads left.
    pub fn answer_loading(mut self) -> Result<Self, StartError> {
        if let Ports::Waiting(listeners) = self.ports {
            self.ports = Ports::Answered(Doorman::start(self.loading.clone(), listeners)?);
        }
        self.metrics.serve()?;
        Ok(self)
    }

    /// Starts serving `store`, of either engine. The store stays the caller's to close, after
    /// [`Server::wait`].
    ///
    /// # Errors
    /// No threads left.
    pub fn serve(self, store: impl Into<Engine>) -> Result<Server, StartError> {
        let Self { loading, tls, ports, mut metrics, .. } = self;
        let handover = match ports {
            Ports::Waiting(listeners) => Handover { listeners, guests: Vec::new() },
            Ports::Answered(doorman) => doorman.end()?,
        };
        let (acceptor_poll, acceptor_waker) = poll_with_waker(acceptor::WAKE)?;
        let mut polls = Vec::new();
        let mut mailboxes = Vec::new();
        for _ in 0..loading.options.workers {
            let (poll, waker) = poll_with_waker(worker::WAKE)?;
            polls.push(poll);
            mailboxes.push(Mailbox::new(waker));
        }
        // The store's files are open by now, and so are the connections that the doorman let in.
        let files = FileRoom::now(loading.options.workers, handover.guests.len());
        let mut options = loading.options.clone();
        options.clients_max = clients_max(&files, options.clients_max)?;
        let shared = Arc::new(Shared::new(
            options,
            (loading.address, tls),
            loading.acl.clone(),
            store.into(),
            mailboxes,
            acceptor_waker,
            (files, loading.run_id.clone()),
        ));
        shared.count_from(&loading);
        let listening = Arc::downgrade(&shared);
        shared.store.on_durable(move || {
            if let Some(shared) = listening.upgrade() {
                shared.mailboxes.iter().for_each(Mailbox::epoch_advanced);
            }
        });
        metrics.pages.serve(&shared);
        metrics.serve()?;
        let server = Server::start_threads(&shared, (acceptor_poll, handover), polls, metrics);
        match &server {
            Ok(_) => {
                tracing::info!(address = %loading.address, workers = shared.options.workers, "serving");
            }
            // Threads that were started before the one that failed end by this.
            Err(_) => shared.stop(),
        }
        server
    }
}

impl Answers {
    /// Answers from now on, if there is a place to ask.
    fn serve(&mut self) -> Result<(), StartError> {
        if let Some(listening) = self.waiting.take() {
            self.given = Some(listening.serve(&self.pages)?);
        }
        Ok(())
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        if let Some(metrics) = self.given.take() {
            metrics.give_up(&self.pages);
        }
    }
}

impl Server {
    /// Listens as the options say, before there is anything to serve; `progress` is that of the
    /// store that will be opened. Raises this process's soft limit on open files if `clients_max`
    /// needs it, and lowers `clients_max` to what the limit allows: descriptors are kept back for
    /// logs and checkpoints, and for the files that are open when it starts.
    ///
    /// # Errors
    /// An option that cannot work, an address that cannot be listened on, a limit on open files that
    /// has no room for clients.
    pub fn bind(mut options: ServerOptions, progress: Arc<OpenProgress>) -> Result<Bound, StartError> {
        options.check()?;
        let acl = Arc::new(acl(&mut options)?);
        let files = FileRoom::now(options.workers, 0);
        options.clients_max = clients_max(&files, options.clients_max)?;
        let (listener, address) = listen_on(options.listen)?;
        let mut listeners = vec![Listener::Tcp(listener)];
        let mut tls_port = None;
        if let Some(tls) = &options.tls {
            let config = tls.config()?;
            let (listener, address) = listen_on(tls.listen)?;
            let port = Arc::new(TlsPort::new(address, tls.clone(), config));
            listeners.push(Listener::Tls(listener, Arc::clone(&port)));
            tls_port = Some(port);
        }
        if let Some(socket) = &options.unix_socket {
            let failed = |cause| StartError::UnixSocket { path: socket.path.clone(), cause };
            listeners.push(unix_socket::listen(socket, BACKLOG).map_err(failed)?);
        }
        let metrics = options.metrics.map(Listening::at).transpose()?;
        let loading = Arc::new(Loading::new(options, acl, (address, run_id()?), progress));
        Ok(Bound {
            tls: tls_port,
            ports: Ports::Waiting(listeners),
            metrics_address: metrics.as_ref().map(Listening::address),
            metrics: Answers {
                waiting: metrics,
                given: None,
                pages: Arc::new(Pages::new(Arc::clone(&loading))),
            },
            loading,
        })
    }

    /// Listens, and starts serving `store`: [`bind`](Self::bind) and [`Bound::serve`] for a store
    /// that is open already.
    ///
    /// # Errors
    /// An option that cannot work, an address that cannot be listened on, no threads left.
    pub fn start(store: impl Into<Engine>, options: ServerOptions) -> Result<Self, StartError> {
        Self::bind(options, Arc::default())?.serve(store)
    }

    fn start_threads(
        shared: &Arc<Shared>,
        (acceptor_poll, handover): (Poll, Handover),
        polls: Vec<Poll>,
        mut metrics: Answers,
    ) -> Result<Self, StartError> {
        let mut workers = Vec::new();
        for (number, poll) in polls.into_iter().enumerate() {
            let worker = Worker::new(number, shared.clone(), poll);
            let run = guarded(shared.clone(), "worker", move || worker.run());
            workers.push(spawn(format!("skein-worker-{number}"), run)?);
        }
        let kept = shared.clone();
        let keeper = spawn("skein-keeper".to_owned(), move || keep(&kept))?;
        let pulse = shared.clone();
        let pulse = spawn("skein-pulse".to_owned(), move || pulse::run(&pulse))?;
        let acceptor = Acceptor::new(shared.clone(), acceptor_poll, handover).map_err(system("accepting"))?;
        let run = guarded(shared.clone(), "acceptor", move || acceptor.run());
        let acceptor = spawn("skein-acceptor".to_owned(), run)?;
        let metrics = metrics.given.take();
        Ok(Self { shared: shared.clone(), acceptor, workers, keeper, pulse, metrics })
    }

    /// Where it listens; tells the port that was taken for port 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.address
    }

    /// Where it listens for TLS, if it does.
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.shared.tls.as_ref().map(|port| port.address)
    }

    /// Where it answers Prometheus, if it does; tells the port that was taken for port 0.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|metrics| metrics.address)
    }

    /// A handle that stops this server.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle { shared: self.shared.clone() }
    }

    /// Waits until the server has stopped, by [`ServerHandle::shutdown`] or by the command SHUTDOWN.
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
        if self.keeper.join().is_err() {
            failed_threads.push("keeper: panicked".to_owned());
        }
        // Before whoever only looks on: what was acknowledged is not kept waiting.
        let flushed = shared.store.flush();
        // What came in too late to be adopted; its clients hear that it is closed, whoever still has a handle.
        for mailbox in &shared.mailboxes {
            drop(mailbox.take());
        }
        self.pulse.thread().unpark();
        if self.pulse.join().is_err() {
            failed_threads.push("pulse: panicked".to_owned());
        }
        if self.metrics.is_some_and(|metrics| !metrics.end()) {
            failed_threads.push("metrics: panicked".to_owned());
        }
        let report = StopReport {
            requests: shared.total(|counts| &counts.requests),
            connections: shared.accepted.load(Ordering::Relaxed),
            closed: total.closed,
            cut_short: total.cut_short,
            failed_threads,
            flushed,
            ran: shared.started.elapsed(),
            took: began.elapsed(),
        };
        tracing::info!(requests = report.requests, closed = report.closed, took = ?report.took, "stopped");
        report
    }
}

/// The users to begin with. The password is taken out of the options: nothing keeps it but as a hash.
fn acl(options: &mut ServerOptions) -> Result<Acl, StartError> {
    let password = options.password.take();
    let acl = Acl::new(password.as_deref(), options.acl_file.clone()).map_err(|error| {
        StartError::AclFile { path: options.acl_file.clone().unwrap_or_default(), why: error.to_string() }
    })?;
    if acl.users.default_user().is_open()
        && let Some(listen) = options.open_to_others()
    {
        return Err(StartError::NoPassword { listen });
    }
    Ok(acl)
}

/// How many clients there may be, of so many that are wanted.
fn clients_max(files: &FileRoom, wanted: usize) -> Result<usize, StartError> {
    let clients = files.make(wanted);
    if clients == 0 {
        return Err(StartError::TooFewFiles { limit: files::limit().unwrap_or(0), kept: files.kept });
    }
    if clients < wanted {
        let (limit, kept) = (files::limit(), files.kept);
        tracing::warn!(
            limit,
            kept,
            "clients_max is lowered from {wanted} to {clients}: the limit on open files has no room for more beside those that are kept for logs and checkpoints; raise it (ulimit -n)"
        );
    }
    Ok(clients)
}

/// 20 random bytes in hexadecimal digits.
fn run_id() -> Result<String, StartError> {
    let mut bytes = [0; 20];
    getrandom::fill(&mut bytes).map_err(|error| system("random numbers")(error.into()))?;
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Ok(digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect())
}

pub(crate) fn spawn<R: Send + 'static>(
    name: String,
    run: impl FnOnce() -> R + Send + 'static,
) -> Result<JoinHandle<R>, StartError> {
    std::thread::Builder::new().name(name).spawn(run).map_err(system("a thread"))
}

/// Runs a thread of the server. One that fails stops the whole server: half a server would leave its
/// connections hanging.
fn guarded<R: Send + 'static>(
    shared: Arc<Shared>,
    what: &'static str,
    run: impl FnOnce() -> io::Result<R> + Send + 'static,
) -> impl FnOnce() -> io::Result<R> + Send + 'static {
    struct StopOnUnwind(Arc<Shared>, &'static str);
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

/// Writes the checkpoints that clients wait for, one after the other: each for all who asked before
/// it began.
fn keep(shared: &Shared) {
    shared.checkpoints.serve(
        || {
            let done = shared.store.checkpoint();
            if let Err(error) = &done {
                tracing::error!(%error, "a checkpoint failed");
            }
            done.map_err(Fault::from)
        },
        |askers, done| shared.tell_of_checkpoint(askers, done),
    );
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;

    use skein_store::{Durability, Store, StoreOptions};

    use super::*;
    use crate::transport::Transport;

    /// It lay in the mail of a worker that had ended, open for as long as anybody had a handle.
    #[test]
    fn a_connection_that_comes_as_the_server_stops_is_closed() {
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
        server.shared.mailboxes[0].send(|mail| mail.connections.push(accepted));
        assert!(server.wait().failed_threads.is_empty());
        client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        assert_eq!(client.read(&mut [0; 8]).expect("the end"), 0);
        drop(handle);
        store.close().expect("closed");
    }
}
