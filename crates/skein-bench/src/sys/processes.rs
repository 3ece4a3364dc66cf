//! Independent processes: forks of this one that do the same at once, each pinned to a core.
//!
//! What they share is what the machine cannot but share: caches, memory, its bandwidth. So what threads on one structure reach is
//! held against what so many processes reach.
//!
//! ```text
//!   parent:   go ─► each child …  figures ◄─ each child      once per phase, so that all begin a phase together
//! ```
//!
//! # Invariants
//! 1. A fork is made only where the process has one thread: a fork copies the calling thread alone, and locks that others held
//!    would stay locked.
//! 2. A child never returns from [`in_processes`], whatever its work does: it ends by `_exit`.
//! 3. No child outlives its parent, nor the call.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_parent_process_death_signal, waitpid};

use super::pin_to;
use crate::{Error, Result};

/// Waits for threads that have ended to be gone; they are seen for a moment after they were joined.
///
/// # Errors
/// If the process has more threads than the calling one.
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
        "this process has {threads} threads, and one with more than one thread cannot be copied; measure it in a command of its own"
    )))
}

/// Runs `phases` phases in `processes` processes, each of which begins with a state of its own, made by `begin` from its number,
/// and begins a phase when all have done the one before. Returns what they found, by phase and process.
///
/// # Errors
/// If this process has several threads, if the system refuses something, or if a process ends before its time.
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
        // SAFETY: invariant 1; `one_thread` has just looked, and nothing here starts a thread.
        match unsafe { libc::fork() } {
            -1 => return Err(failed(std::io::Error::last_os_error())),
            0 => {
                // Of siblings; their parent alone speaks to them, and ends them.
                drop(std::mem::take(&mut children.0));
                drop(ours);
                let work = || child(number, theirs, phases, &begin, &phase);
                let done = catch_unwind(AssertUnwindSafe(work)).is_ok_and(|done| done.is_ok());
                // SAFETY: ends this process at once, without the exit handlers that are its parent's (invariant 2).
                unsafe { libc::_exit(i32::from(!done)) };
            }
            pid => children.0.extend(Pid::from_raw(pid).map(|pid| (pid, ours))),
        }
    }
    // The first word says that a child is ready.
    children.hear::<0>()?;
    (0..phases).map(|_| children.go().and_then(|()| children.hear())).collect()
}

/// What a child does.
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
    // Its memory goes with the process; taking the state apart would be in the others' way.
    std::mem::forget(state);
    Ok(())
}

/// What a message of a child begins with.
const READY: u8 = 1;

/// Children, and the ways to them.
struct ChildProcesses(Vec<(Pid, UnixStream)>);

impl ChildProcesses {
    /// Sends all into the next phase.
    fn go(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(|(_, child)| child.write_all(&[READY])).map_err(ended)
    }

    /// Waits for all, and what they have found.
    fn hear<const N: usize>(&mut self) -> Result<Vec<[f64; N]>> {
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
    /// Ends those that have not ended (invariant 3). They have nothing to lose; so what fails here means that one has ended.
    fn drop(&mut self) {
        for (child, _) in &self.0 {
            let _ = kill_process(*child, Signal::KILL);
            let _ = waitpid(Some(*child), WaitOptions::empty());
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` wants")]
fn failed(error: std::io::Error) -> Error {
    Error::Failed(format!("cannot start independent processes: {error}"))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` wants")]
fn ended(error: std::io::Error) -> Error {
    Error::Failed(format!("a process that was measured ended before it had its figures: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_copied() {
        let (stay, stays) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stays.recv());
        let refused = in_processes(2, 1, |_| (), |(), _| [0.0]).expect_err("there are two threads at least");
        drop(stay);
        assert!(other.join().expect("it does not panic").is_err());
        let why = refused.to_string();
        assert!(why.contains("threads") && why.contains("in a command of its own"), "{why}");
    }
}
