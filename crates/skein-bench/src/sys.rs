//! What the bench asks of the operating system: pinning, independent processes, clocks.

use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{Error, Result};

/// Which clock times a loop on one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Clock {
    /// The time of day: what a user waits.
    Wall,
    /// The thread's own CPU time, which leaves out moments when other programs had the core: for machines that
    /// are not idle. The system's work for the thread (page faults) counts.
    Cpu,
}

impl Clock {
    /// The time since `start`, which this clock gave.
    pub fn since(self, start: Duration) -> Duration {
        self.now().saturating_sub(start)
    }

    /// The time now, since some fixed moment.
    pub fn now(self) -> Duration {
        let clock = match self {
            Self::Wall => rustix::time::ClockId::Monotonic,
            Self::Cpu => rustix::time::ClockId::ThreadCPUTime,
        };
        let now = rustix::time::clock_gettime(clock);
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

#[allow(clippy::needless_pass_by_value)] // The shape that `map_err` wants.
fn not_pinned(error: io::Error) -> Error {
    Error::Failed(format!("cannot pin a thread to a core: {error}"))
}

/// A pipe as two files: read end, write end.
fn pipe() -> io::Result<(std::fs::File, std::fs::File)> {
    let mut ends = [0; 2];
    // SAFETY: `pipe` fills the two integers it is given.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both are open and owned by nobody else.
    Ok(unsafe { (std::fs::File::from_raw_fd(ends[0]), std::fs::File::from_raw_fd(ends[1])) })
}

/// Runs `work(0)` and `work(1)` at the same time in two forked processes, each pinned to its core; returns
/// their figures. The processes share their parent's memory as it was, copied on write.
///
/// REQUIRES: the process has one thread (a fork copies only the calling one).
///
/// # Errors
/// If the system refuses, or a process ends before it has a figure.
pub fn in_two_processes(work: impl Fn(usize) -> f64) -> io::Result<[f64; 2]> {
    let (mut go_out, go_in) = pipe()?;
    let mut children = Vec::new();
    for number in 0..2 {
        let (result_out, mut result_in) = pipe()?;
        // SAFETY: the process has one thread, says the contract, so the child may do what it likes.
        match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                drop(go_in);
                let ready = pin_to(number).is_ok() && matches!(go_out.read(&mut [0]), Ok(1));
                let figure = if ready { work(number) } else { f64::NAN };
                let sent = result_in.write_all(&figure.to_le_bytes());
                // SAFETY: ends the child at once, without the parent's exit handlers.
                unsafe { libc::_exit(i32::from(sent.is_err())) };
            }
            child => children.push((child, result_out)),
        }
    }
    (&go_in).write_all(b"go")?;
    let mut figures = [0.0; 2];
    for (number, (child, mut result)) in children.into_iter().enumerate() {
        let mut bytes = [0; 8];
        result.read_exact(&mut bytes)?;
        figures[number] = f64::from_le_bytes(bytes);
        // SAFETY: waits for a child of ours; the status is not wanted.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
    Ok(figures)
}

/// Runs `work(0)`, `work(1)`, … on so many threads, each pinned to its core, started together.
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
