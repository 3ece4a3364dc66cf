//! Independent processes: forks of this process that run the same work at once, each pinned to a
//! core.
//!
//! They share only the hardware: caches, memory and its bandwidth. So their rate is the bound for
//! threads that share one structure.
//!
//! ```text
//!   parent:   go ─► each child …  figures ◄─ each child      per phase; all start it together
//! ```
//!
//! # Invariants
//! 1. A fork is made only while the process has one thread. A fork copies the calling thread only,
//!    so locks held by others would stay locked.
//! 2. A child never returns from [`in_processes`], whatever its work does: it ends by `_exit`.
//! 3. No child outlives its parent, or the call.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_parent_process_death_signal, waitpid};

use super::pin_to;
use crate::{Error, Result};

/// Waits until joined threads have disappeared; the system shows them for a moment after the join.
///
/// # Errors
/// If the process still has other threads than the calling one.
pub fn one_thread() -> Result<()> {
    let mut threads = 0;
    for _ in 0..50 {
        threads = std::fs::read_dir("/proc/self/task").map_err(failed)?.count();
        if threads == 1 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(Error::Failed(format!(
        "this process has {threads} threads, but only a process with one thread can be forked; \
         measure this in a command of its own"
    )))
}

/// Runs `phases` phases in `processes` processes. `begin` makes each process's state from its
/// number. All processes start a phase when all have finished the one before. Returns the figures
/// by phase and process.
///
/// # Errors
/// If this process has several threads, if a system call fails, or if a process ends too early.
pub fn in_processes<S, const N: usize>(
    processes: usize,
    phases: usize,
    begin: impl Fn(usize) -> S,
    phase: impl Fn(&mut S, usize) -> [f64; N],
) -> Result<Vec<Vec<[f64; N]>>> {
    one_thread()?;
    let mut children = ChildProcesses(Vec::new());
    for number in 0..processes {
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        // SAFETY: invariant 1; `one_thread` has just checked it, and no code here starts a thread.
        match unsafe { libc::fork() } {
            -1 => return Err(failed(std::io::Error::last_os_error())),
            0 => {
                // These are its siblings. Only their parent may talk to them and end them.
                drop(std::mem::take(&mut children.0));
                drop(ours);
                let work = || child(number, theirs, phases, &begin, &phase);
                let done = catch_unwind(AssertUnwindSafe(work)).is_ok_and(|done| done.is_ok());
                // SAFETY: ends this process at once, without the exit handlers, which belong to the
                // parent (invariant 2).
                unsafe { libc::_exit(i32::from(!done)) };
            }
            pid => children.0.extend(Pid::from_raw(pid).map(|pid| (pid, ours))),
        }
    }
    // The first message says that a child is ready.
    children.collect_figures::<0>()?;
    (0..phases).map(|_| children.start_phase().and_then(|()| children.collect_figures())).collect()
}

/// Runs a child's work.
fn child<S, const N: usize>(
    number: usize,
    mut parent: UnixStream,
    phases: usize,
    begin: impl Fn(usize) -> S,
    phase: impl Fn(&mut S, usize) -> [f64; N],
) -> std::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    pin_to(number)?;
    let mut state = begin(number);
    parent.write_all(&[READY])?;
    for count in 0..phases {
        parent.read_exact(&mut [0])?;
        let figures = phase(&mut state, count);
        parent.write_all(&[READY])?;
        parent.write_all(&figures.map(f64::to_le_bytes).concat())?;
    }
    // The memory is freed with the process. Dropping the state would disturb the others.
    std::mem::forget(state);
    Ok(())
}

/// The first byte of a child's message.
const READY: u8 = 1;

/// The children, with a socket to each.
struct ChildProcesses(Vec<(Pid, UnixStream)>);

impl ChildProcesses {
    /// Starts the next phase in all children.
    fn start_phase(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(|(_, child)| child.write_all(&[READY])).map_err(ended)
    }

    /// Waits for all children and returns their figures.
    fn collect_figures<const N: usize>(&mut self) -> Result<Vec<[f64; N]>> {
        let each = |(_, child): &mut (Pid, UnixStream)| {
            child.read_exact(&mut [0])?;
            let mut figures = [0.0; N];
            for figure in &mut figures {
                let mut bytes = [0; 8];
                child.read_exact(&mut bytes)?;
                *figure = f64::from_le_bytes(bytes);
            }
            Ok(figures)
        };
        self.0.iter_mut().map(each).collect::<std::io::Result<_>>().map_err(ended)
    }
}

impl Drop for ChildProcesses {
    /// Kills the children that still run (invariant 3). They have nothing to save. A failing call
    /// means that the child has already ended.
    fn drop(&mut self) {
        for (child, _) in &self.0 {
            let _ = kill_process(*child, Signal::KILL);
            let _ = waitpid(Some(*child), WaitOptions::empty());
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
fn failed(error: std::io::Error) -> Error {
    Error::Failed(format!("cannot start independent processes: {error}"))
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
fn ended(error: std::io::Error) -> Error {
    Error::Failed(format!("a measured process ended before it sent its figures: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_forked() {
        let (stay, stays) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stays.recv());
        let refused = in_processes(2, 1, |_| (), |(), _| [0.0]).expect_err("there are two threads at least");
        drop(stay);
        assert!(other.join().expect("it does not panic").is_err());
        let why = refused.to_string();
        assert!(why.contains("threads") && why.contains("in a command of its own"), "{why}");
    }
}
