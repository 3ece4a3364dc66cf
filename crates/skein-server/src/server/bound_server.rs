//! A server that listens but has no data yet: its ports, its users, and the threads that answer
//! until the data is loaded.
//!
//! ```text
//!   Server::bind ─► BoundServer { ports, metrics, users } ─ answer_loading ─► LOADING (`loading`)
//!                     └────────────────────────────────────── serve(store) ─► Server
//! ```

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

use mio::net::TcpListener;

use super::acceptor;
use crate::acl::Acl;
use crate::net::open_files::{self, OpenFileBudget};
use crate::shared::loading::Loading;

use crate::net::BACKLOG;
use crate::net::threads::{poll_with_waker, system};
use crate::net::tls::TlsPort;
use crate::net::transport::Listener;
use crate::net::unix_socket;
use crate::report::metrics::{MetricsListener, MetricsPages, MetricsThread};
use crate::scripting::functions::FunctionRegistry;
use crate::server::Server;
use crate::shared::{ClientAccess, Mailbox, ServerIdentity, ServerShared, StoredData, WorkerAccess};
use crate::worker;
use crate::worker::loading::{LoadingHandover, LoadingThread};
use crate::{ServerOptions, StartError};
use skein_data::{Engine, OpenProgress};

/// A server that listens but has no data yet (see `loading`). Dropping it closes its ports.
#[derive(Debug)]
pub struct BoundServer {
    loading: Arc<Loading>,
    tls: Option<Arc<TlsPort>>,
    ports: ListeningPorts,
    metrics: MetricsPort,
    metrics_address: Option<SocketAddr>,
}

/// The ports, or the thread that answers on them.
#[derive(Debug)]
enum ListeningPorts {
    Waiting(Vec<Listener>),
    Answered(LoadingThread),
}

/// The metrics port, if there is one: first the waiting port, then the thread that answers on it.
/// Dropping this ends the thread.
#[derive(Debug)]
pub(crate) struct MetricsPort {
    waiting: Option<MetricsListener>,
    pub given: Option<MetricsThread>,
    pages: Arc<MetricsPages>,
}

impl BoundServer {
    /// See [`Server::bind`].
    pub(crate) fn new(
        mut options: ServerOptions,
        progress: Arc<OpenProgress>,
    ) -> Result<BoundServer, StartError> {
        options.check()?;
        let acl = Arc::new(acl(&mut options)?);
        let files = OpenFileBudget::now(options.workers, 0);
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
        let metrics = options.metrics.map(MetricsListener::at).transpose()?;
        let loading = Arc::new(Loading::new(options, acl, address, run_id()?, progress));
        Ok(Self {
            tls: tls_port,
            ports: ListeningPorts::Waiting(listeners),
            metrics_address: metrics.as_ref().map(MetricsListener::address),
            metrics: MetricsPort {
                waiting: metrics,
                given: None,
                pages: Arc::new(MetricsPages::new(Arc::clone(&loading))),
            },
            loading,
        })
    }

    /// Returns the TCP address, with the actual port if port 0 was requested.
    pub fn local_addr(&self) -> SocketAddr {
        self.loading.address
    }

    /// Returns the TLS address, if the server listens for TLS.
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.tls.as_ref().map(|port| port.address)
    }

    /// Returns the address of the metrics, if there is one.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Starts to answer clients, until [`serve`](Self::serve) is called. As in Redis, the answer is
    /// LOADING, except for commands that need no data. A client's SHUTDOWN cancels the opening of
    /// the store.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn answer_loading(mut self) -> Result<Self, StartError> {
        if let ListeningPorts::Waiting(listeners) = self.ports {
            self.ports = ListeningPorts::Answered(LoadingThread::start(self.loading.clone(), listeners)?);
        }
        self.metrics.serve()?;
        Ok(self)
    }

    /// Starts to serve `store`, of either engine. The caller must close the store after
    /// [`Server::wait`]. If the store evicts keys, it must not evict the server's own row: set
    /// `StoreLimits::never_evicted` to [`skein_data::FUNCTIONS_KEY`].
    ///
    /// # Errors
    /// If no thread can be started, or the libraries of functions or the table of databases in the
    /// store cannot be loaded.
    pub fn serve(self, store: impl Into<Engine>) -> Result<Server, StartError> {
        let Self { loading, tls, ports, mut metrics, .. } = self;
        let handover = match ports {
            ListeningPorts::Waiting(listeners) => LoadingHandover { listeners, handed_over: Vec::new() },
            ListeningPorts::Answered(loading_thread) => loading_thread.end()?,
        };
        let (acceptor_poll, acceptor_waker) = poll_with_waker(acceptor::WAKE)?;
        let mut polls = Vec::new();
        let mut mailboxes = Vec::new();
        for _ in 0..loading.options.workers {
            let (poll, waker) = poll_with_waker(worker::WAKE)?;
            polls.push(poll);
            mailboxes.push(Mailbox::new(waker));
        }
        // The store's files are open by now, and so are the connections of the loading thread.
        let files = OpenFileBudget::now(loading.options.workers, handover.handed_over.len());
        let mut options = loading.options.clone();
        options.clients_max = clients_max(&files, options.clients_max)?;
        let store: Engine = store.into();
        loading.databases.open(&store)?;
        let functions = FunctionRegistry::open(&store, options.script_memory_max)?;
        let identity = ServerIdentity {
            address: loading.address,
            tls,
            started: Instant::now(),
            started_unix_s: UNIX_EPOCH.elapsed().unwrap_or_default().as_secs(),
            run_id: loading.run_id.clone(),
            replication_id: run_id()?,
        };
        let data = StoredData::new(store, loading.databases.clone(), &options);
        let shared = Arc::new(ServerShared::new(
            options,
            identity,
            loading.acl.clone(),
            data,
            functions,
            ClientAccess::after(&loading, files),
            WorkerAccess::new(mailboxes, acceptor_waker),
        ));
        let listening = Arc::downgrade(&shared);
        shared.data.store.on_durable(move || {
            if let Some(shared) = listening.upgrade() {
                shared.workers.mailboxes.iter().for_each(Mailbox::epoch_advanced);
            }
        });
        metrics.pages.serve(&shared);
        metrics.serve()?;
        let server = Server::start_threads(&shared, acceptor_poll, handover, polls, metrics);
        match &server {
            Ok(_) => {
                tracing::info!(address = %loading.address, workers = shared.options.workers, "serving");
            }
            // This ends the threads that were started before the one that failed.
            Err(_) => shared.stop(),
        }
        server
    }
}

impl MetricsPort {
    /// Starts the thread for the metrics, if there is a port for them.
    fn serve(&mut self) -> Result<(), StartError> {
        if let Some(listening) = self.waiting.take() {
            self.given = Some(listening.serve(&self.pages)?);
        }
        Ok(())
    }
}

impl Drop for MetricsPort {
    fn drop(&mut self) {
        if let Some(metrics) = self.given.take() {
            metrics.give_up(&self.pages);
        }
    }
}

/// Returns a listening port and its address.
fn listen_on(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |cause| StartError::Listen { listen, cause };
    let listener = TcpListener::bind(listen).map_err(failed)?;
    // The standard library's queue of 128 connections overflows in a burst, and a client retries a
    // dropped connection only after a whole second. A second `listen` just sets the length; the
    // system caps it.
    rustix::net::listen(&listener, BACKLOG).map_err(|cause| failed(cause.into()))?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Creates the users at the start. Takes the password out of the options, so that only its hash
/// stays in memory.
fn acl(options: &mut ServerOptions) -> Result<Acl, StartError> {
    let password = options.password.take();
    let (file, channels) = (options.acl_file.clone(), options.default_channels);
    let acl = Acl::new(password.as_deref(), file, channels).map_err(|error| StartError::AclFile {
        path: options.acl_file.clone().unwrap_or_default(),
        why: error.to_string(),
    })?;
    if acl.users.default_user().is_open()
        && let Some(listen) = options.first_public_address()
    {
        return Err(StartError::NoPassword { listen });
    }
    Ok(acl)
}

/// Returns the maximum number of clients, if `wanted` are requested. Errors if there is no file
/// descriptor for any.
fn clients_max(files: &OpenFileBudget, wanted: usize) -> Result<usize, StartError> {
    let clients = files.make(wanted);
    if clients == 0 {
        return Err(StartError::TooFewFiles { limit: open_files::limit().unwrap_or(0), kept: files.kept });
    }
    if clients < wanted {
        let (limit, kept) = (open_files::limit(), files.kept);
        tracing::warn!(
            limit,
            kept,
            "clients_max is lowered from {wanted} to {clients}: the limit on open files has no room for more, because some are reserved for logs and checkpoints; raise the limit (ulimit -n)"
        );
    }
    Ok(clients)
}

/// Returns 20 random bytes in hexadecimal digits.
fn run_id() -> Result<String, StartError> {
    let mut bytes = [0; 20];
    getrandom::fill(&mut bytes).map_err(|error| system("random numbers")(error.into()))?;
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Ok(digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect())
}
