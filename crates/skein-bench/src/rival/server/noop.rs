//! A server that does no work: it shows the cost of the sockets alone, the bound for all others.
//!
//! The bench tells it the length of the next requests and the reply to each. It counts bytes
//! without reading them. It is a thread of the bench, on the core of the servers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::{RunningServer, thread_cpu_seconds};
use crate::{Error, Result, sys};

/// Its name in reports.
pub const NAME: &str = "no-op";

/// Its description in reports.
pub const ABOUT: &str = "answers so many bytes for so many, without looking at them: the bound";

/// The interval at which it checks whether to stop.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The greatest number of bytes per read.
const READ_BYTES: usize = 64 << 10;

/// The length of a request, and the reply to each.
#[derive(Debug, Default)]
struct NoopExchange {
    request_bytes: usize,
    reply: Vec<u8>,
}

/// The server; dropping the value stops it.
#[derive(Debug)]
pub struct Noop {
    address: SocketAddr,
    shape: Arc<Mutex<Arc<NoopExchange>>>,
    stop: Arc<AtomicBool>,
    task: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl Noop {
    /// Starts the server, pinned to a core.
    ///
    /// # Errors
    /// If there is no free port, or if the system refuses a thread.
    pub fn start(core: usize) -> Result<Self> {
        let failed = |error: std::io::Error| Error::Failed(format!("cannot start {NAME}: {error}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (shape, stop) = (Arc::new(Mutex::default()), Arc::new(AtomicBool::new(false)));
        let (shape_there, stop_there) = (Arc::clone(&shape), Arc::clone(&stop));
        let (sender, started) = mpsc::channel();
        let thread = std::thread::Builder::new().name(NAME.to_owned()).spawn(move || {
            let task = sys::pin_to(core).map(|()| rustix::thread::gettid().as_raw_nonzero());
            // The starting thread waits for this message.
            let _ = sender.send(task);
            // If a connection fails, the client reports the error.
            let _ = serve(&listener, &shape_there, &stop_there);
        });
        let thread = thread.map_err(failed)?;
        let gone = |_| Error::Failed(format!("{NAME} ended at its start"));
        let task = started.recv().map_err(gone)?.map_err(failed)?;
        let task = Path::new("/proc/self/task").join(task.to_string());
        Ok(Self { address, shape, stop, task, thread: Some(thread) })
    }
}

impl RunningServer for Noop {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn cpu_seconds(&self) -> Result<f64> {
        thread_cpu_seconds(&self.task)
    }

    fn resident_bytes(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    fn explain(&mut self, error: Error) -> Error {
        error
    }

    fn expect(&self, request: &[u8], reply: &[u8]) {
        let shape = NoopExchange { request_bytes: request.len(), reply: reply.to_owned() };
        *self.shape.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(shape);
    }
}

impl Drop for Noop {
    fn drop(&mut self) {
        // Relaxed: only the stop flag itself is read; the join orders everything else.
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

/// A connection, and the bytes of its incomplete request.
struct NoopConnection {
    socket: TcpStream,
    begun: usize,
}

fn serve(listener: &TcpListener, shape: &Mutex<Arc<NoopExchange>>, stop: &AtomicBool) -> std::io::Result<()> {
    const LISTENER: u64 = u64::MAX;
    let poll: OwnedFd = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
    let mut connections: Vec<Option<NoopConnection>> = Vec::new();
    let (mut events, mut buffer, mut replies) =
        (Vec::with_capacity(64), vec![0; READ_BYTES], Vec::with_capacity(READ_BYTES));
    while !stop.load(Ordering::Relaxed) {
        events.clear();
        match epoll::wait(&poll, spare_capacity(&mut events), Some(&LOOK)) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        for event in &events {
            let number = event.data.u64();
            if number == LISTENER {
                let (socket, _) = listener.accept()?;
                socket.set_nodelay(true)?;
                socket.set_write_timeout(Some(Duration::from_secs(10)))?;
                let data = epoll::EventData::new_u64(connections.len() as u64);
                epoll::add(&poll, &socket, data, epoll::EventFlags::IN)?;
                connections.push(Some(NoopConnection { socket, begun: 0 }));
                continue;
            }
            let shape = Arc::clone(&shape.lock().unwrap_or_else(PoisonError::into_inner));
            let place = &mut connections[number as usize];
            let alive =
                place.as_mut().is_some_and(|connection| connection.answer(&shape, &mut buffer, &mut replies));
            if !alive {
                // Closing the socket removes it from the poll.
                *place = None;
            }
        }
    }
    Ok(())
}

impl NoopConnection {
    /// Answers the requests that have arrived; returns false if the client has closed the
    /// connection.
    fn answer(&mut self, shape: &NoopExchange, buffer: &mut [u8], replies: &mut Vec<u8>) -> bool {
        let got = match self.socket.read(buffer) {
            Ok(got) if got > 0 && shape.request_bytes > 0 => got,
            _ => return false,
        };
        let bytes = self.begun + got;
        self.begun = bytes % shape.request_bytes;
        replies.clear();
        for _ in 0..bytes / shape.request_bytes {
            replies.extend_from_slice(&shape.reply);
        }
        self.socket.write_all(replies).is_ok()
    }
}
