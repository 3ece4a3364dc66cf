//! A server in a child process: starts it, waits until it serves, and stops it.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};

use super::{RegisteredServer, RunningServer, ServerLaunch, resident_bytes, thread_cpu_seconds};
use crate::{Error, Result};

/// The time limit for a server to start serving.
const PATIENCE: Duration = Duration::from_secs(20);

/// The number of output lines that an error shows.
const LAST_WORDS: usize = 3;

/// A server in a child process; dropping the value stops it.
#[derive(Debug)]
pub struct BenchServerProcess {
    name: &'static str,
    address: SocketAddr,
    child: Child,
    /// The file with its output.
    output: PathBuf,
}

impl BenchServerProcess {
    /// Starts the server at the given address, on the cores of the calling thread. Returns when the
    /// server answers.
    ///
    /// # Errors
    /// If the server does not start or does not answer; the error shows its last output.
    pub fn start(entry: &RegisteredServer, program: &Path, how: &ServerLaunch<'_>) -> Result<Self> {
        let output = how.folder.join("output");
        let opened = |path: &Path| File::create(path).map_err(|error| Error::io("make", path, error));
        let (file, shown) = (opened(&output)?, program.display());
        let again = file.try_clone().map_err(|error| Error::io("open", &output, error))?;
        let mut command = Command::new(program);
        command.args((entry.options)(how)).args((entry.place)(how));
        command.stdin(Stdio::null()).stdout(file).stderr(again);
        // SAFETY: between fork and exec the closure makes one system call and touches none of the
        // parent's memory.
        unsafe {
            // If the bench is killed, the server is killed too.
            command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        let child = command.spawn();
        let child = child.map_err(|error| Error::Failed(format!("cannot start {shown}: {error}")))?;
        let mut process = Self { name: entry.name, address: how.address, child, output };
        process.wait()?;
        Ok(process)
    }

    /// Waits until the server serves. A listening server may still be loading its data.
    fn wait(&mut self) -> Result<()> {
        let since = Instant::now();
        while !serves(self.address) {
            if let Ok(Some(status)) = self.child.try_wait() {
                let words = self.last_words();
                return Err(Error::Failed(format!("{} ended at its start ({status}){words}", self.name)));
            }
            if since.elapsed() > PATIENCE {
                return Err(Error::Failed(format!(
                    "{} does not serve on {} after {} s{}",
                    self.name,
                    self.address,
                    PATIENCE.as_secs(),
                    self.last_words()
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Returns the end of its output, to append to an error.
    fn last_words(&self) -> String {
        let text = std::fs::read(&self.output).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LAST_WORDS)..];
        if last.is_empty() { String::new() } else { format!("; it said: {}", last.join(" | ")) }
    }
}

/// Returns whether a server answers at the address and is not loading. A server without the command
/// PING answers with an error, which counts too.
fn serves(address: SocketAddr) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"PING\r\n")?;
        let mut reply = [0; 8];
        let len = stream.read(&mut reply)?;
        Ok::<_, std::io::Error>(len > 0 && !reply.starts_with(b"-LOADING"))
    };
    ask().unwrap_or(false)
}

impl RunningServer for BenchServerProcess {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn cpu_seconds(&self) -> Result<f64> {
        let folder = PathBuf::from(format!("/proc/{}/task", self.child.id()));
        let failed = |error: std::io::Error| Error::io("read", &folder, error);
        let mut seconds = 0.0;
        for task in std::fs::read_dir(&folder).map_err(failed)? {
            seconds += thread_cpu_seconds(&task.map_err(failed)?.path())?;
        }
        Ok(seconds)
    }

    fn resident_bytes(&self) -> Result<Option<u64>> {
        resident_bytes(&PathBuf::from(format!("/proc/{}", self.child.id()))).map(Some)
    }

    fn explain(&mut self, error: Error) -> Error {
        match self.child.try_wait() {
            Ok(Some(status)) => {
                Error::Failed(format!("{error}; {} had ended ({status}){}", self.name, self.last_words()))
            }
            _ => error,
        }
    }
}

impl Drop for BenchServerProcess {
    fn drop(&mut self) {
        // If the process has already ended, both calls fail, and nothing is left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a free port on loopback. Another program could take it before the server does; then the
/// server's error says so.
///
/// # Errors
/// If there is no free port.
pub fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    listener.map_err(|error| Error::Failed(format!("cannot find a free port: {error}")))
}

/// Returns the program's name and version, as the program prints them.
pub fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().next()?;
    let words = line.split_inclusive(' ');
    let until = words.clone().position(|word| word.bytes().any(|byte| byte.is_ascii_digit()))?;
    Some(words.take(until + 1).collect::<String>().trim().to_owned())
}
