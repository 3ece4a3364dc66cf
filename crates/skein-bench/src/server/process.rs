//! The servers as processes of ours: started, watched, ended.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to listen.
const START: Duration = Duration::from_secs(20);

/// A server; ends with the value.
pub struct Server {
    /// Its name in the report.
    pub name: &'static str,
    /// Where it listens.
    pub address: SocketAddr,
    child: Child,
}

impl Server {
    /// `skein serve` with one worker.
    pub fn skein(binary: &Path, folder: &Path, durability: &str) -> Result<Self, String> {
        let address = free_address()?;
        let mut command = Command::new(binary);
        command.args(["serve", "--workers", "1", "--durability", durability]);
        command.arg("--listen").arg(address.to_string()).arg("--data").arg(folder.join("skein"));
        Self::start("skein", command, address)
    }

    /// `redis-server` that writes nothing to disk.
    pub fn redis(binary: &Path, folder: &Path) -> Result<Self, String> {
        let address = free_address()?;
        let mut command = Command::new(binary);
        command.args(["--port", &address.port().to_string(), "--save", "", "--appendonly", "no"]);
        command.arg("--dir").arg(folder);
        Self::start("redis", command, address)
    }

    fn start(name: &'static str, mut command: Command, address: SocketAddr) -> Result<Self, String> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| {
            format!("cannot start {program}: {error}; build it or install it, or name it by --{name}")
        })?;
        let mut server = Self { name, address, child };
        let since = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("{program} ended at its start: {status}"));
            }
            if since.elapsed() > START {
                return Err(format!("{program} does not listen on {address} after {} s", START.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// CPU time of all its threads since they began, in seconds. REQUIRES: no thread ends between two calls
    /// that are compared; servers keep theirs.
    pub fn cpu_seconds(&self) -> Result<f64, String> {
        let folder = format!("/proc/{}/task", self.child.id());
        let failed = |error: std::io::Error| format!("cannot read the CPU time from {folder}: {error}");
        let mut nanoseconds = 0.0;
        for task in std::fs::read_dir(&folder).map_err(failed)? {
            // The first field is the time on a core, to the nanosecond (`stat` counts in hundredths of a second).
            let text =
                std::fs::read_to_string(task.map_err(failed)?.path().join("schedstat")).map_err(failed)?;
            let field = text.split(' ').next().and_then(|field| field.parse::<f64>().ok());
            nanoseconds += field.ok_or_else(|| format!("{folder}: schedstat has no time: {text}"))?;
        }
        Ok(nanoseconds / 1e9)
    }

    /// Adds to an error what became of the server, if it has ended.
    pub fn explain(&mut self, error: String) -> String {
        match self.child.try_wait() {
            Ok(Some(status)) => format!("{error}; {} had ended: {status}", self.name),
            _ => error,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A free port on loopback. Another program could take it before the server does; the server then says so.
fn free_address() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    listener.map_err(|error| format!("cannot find a free port: {error}"))
}
