//! The operating system functions that the bench needs: pinning, independent processes, clocks.

mod processes;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{Error, Result};

pub use processes::{in_processes, one_thread};

/// Returns a path that runs this program again, or `None` if the system does not tell it.
///
/// The path stays valid if the program's file is replaced or removed meanwhile, for instance by an
/// upgrade or a new build.
pub fn this_program() -> Option<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { Some(running) } else { std::env::current_exe().ok() }
}

/// Returns a path that runs `skein`, which serves our data; or `None` if it is neither beside this
/// program nor on the `PATH`.
///
/// The first call opens the file. So all servers of a run are the same program, and the path stays
/// valid if the file is replaced or removed meanwhile.
pub fn skein_program() -> Option<PathBuf> {
    static OPEN: OnceLock<Option<File>> = OnceLock::new();
    let open = OPEN.get_or_init(|| {
        let beside = std::env::current_exe().ok().map(|program| program.with_file_name("skein"));
        File::open(beside.filter(|path| is_program(path)).or_else(|| on_path("skein"))?).ok()
    });
    // The child resolves its own descriptors, which are copies of these until the program runs.
    open.as_ref().map(|file| PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))
}

/// Returns the program of this name on the `PATH`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The clock for a loop on one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LoopClock {
    /// Wall-clock time: the time that a user waits.
    Wall,
    /// The thread's own CPU time, for machines that are not idle. It excludes moments when other
    /// programs had the core. It includes the system's work for the thread, such as page faults.
    Cpu,
}

impl LoopClock {
    /// Returns the time since `start`, which must be from this clock.
    pub fn since(self, start: Duration) -> Duration {
        self.now().saturating_sub(start)
    }

    /// Returns the time since some fixed moment.
    pub fn now(self) -> Duration {
        let clock = match self {
            Self::Wall => libc::CLOCK_MONOTONIC,
            Self::Cpu => libc::CLOCK_THREAD_CPUTIME_ID,
        };
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // Not rustix: its own search for the clock in memory fails under valgrind. SAFETY: the
        // system writes one `timespec` to memory that is ours. Both clocks exist, so the call does
        // not fail.
        unsafe { libc::clock_gettime(clock, &raw mut now) };
        // Both clocks count up from 0.
        Duration::new(now.tv_sec.cast_unsigned(), now.tv_nsec.cast_unsigned() as u32)
    }
}

/// Pins the calling thread to the `n`-th core that the process may use.
///
/// # Errors
/// If the system refuses.
pub fn pin_to(n: usize) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let cores: Vec<_> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    let mut only = CpuSet::new();
    only.set(cores[n % cores.len()]);
    Ok(sched_setaffinity(None, &only)?)
}

/// Runs `work` on the calling thread pinned to core `n`, and unpins afterwards.
///
/// # Errors
/// If the system does not pin.
pub fn pinned<T>(n: usize, work: impl FnOnce() -> T) -> Result<T> {
    let before = sched_getaffinity(None).map_err(|error| not_pinned(error.into()))?;
    pin_to(n).map_err(not_pinned)?;
    let done = work();
    sched_setaffinity(None, &before).map_err(|error| not_pinned(error.into()))?;
    Ok(done)
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
fn not_pinned(error: io::Error) -> Error {
    Error::Failed(format!("cannot pin a thread to a core: {error}"))
}

/// Runs `work(0)`, `work(1)`, … on `threads` threads, each pinned to its core, all started
/// together.
///
/// # Errors
/// If a thread cannot be pinned.
pub fn on_threads<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Result<Vec<T>> {
    let start = std::sync::Barrier::new(threads);
    let run = |number| {
        let pinned = pin_to(number);
        start.wait();
        pinned.map(|()| work(number))
    };
    let done: io::Result<Vec<T>> = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..threads).map(|number| scope.spawn(move || run(number))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.map_err(not_pinned)
}
