//! The script that keeps the server busy, as other workers see it: its sort, whether it may be
//! stopped, and the request to stop it.
//!
//! ```text
//!   script ── longer than busy-reply-threshold ─► begin ── note_write, verdict ──► end
//!                                                   ▲
//!   SCRIPT KILL, FUNCTION KILL, SHUTDOWN NOSAVE ────┘ (`commands::while_busy`)
//! ```
//!
//! # Invariant
//! A script that was told to stop does not write any more, and a script that has written is not
//! told to stop. Both are decided under one lock.
//!
//! Source: Redis's documentation of `SCRIPT KILL` and `FUNCTION KILL`.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use skein_sync::locks::lock;

use crate::observe::slowlog::ClippedRequest;
use crate::request::command_error::CommandError;
use crate::scripting::ScriptSort;

const BUSY_SCRIPT: CommandError = CommandError::text(
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
);
const BUSY_FUNCTION: CommandError = CommandError::text(
    "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.",
);
pub(crate) const NOT_BUSY: CommandError = CommandError::text("NOTBUSY No scripts in execution right now.");
const UNKILLABLE: CommandError = CommandError::text(
    "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the \
     script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.",
);

/// The order to a running script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptVerdict {
    GoOn,
    /// A client has stopped it.
    Killed,
    /// A client stops the server without waiting for it.
    Abandoned,
}

impl ScriptSort {
    /// Returns the error for a request that must not run beside such code.
    pub(crate) fn refusal(self) -> CommandError {
        match self {
            Self::Script => BUSY_SCRIPT,
            Self::Function => BUSY_FUNCTION,
        }
    }
}

/// A script that has kept the server busy for longer than the threshold.
#[derive(Debug)]
pub(crate) struct RunningScript {
    pub sort: ScriptSort,
    /// The function's name, or the script's digest.
    pub name: Vec<u8>,
    /// The request that runs it, shortened as in the slow log.
    pub request: ClippedRequest,
    pub began: Instant,
    has_written: bool,
    verdict: ScriptVerdict,
}

impl RunningScript {
    pub(crate) fn new(
        sort: ScriptSort,
        name: Vec<u8>,
        request: ClippedRequest,
        began: Instant,
        has_written: bool,
    ) -> Self {
        Self { sort, name, request, began, has_written, verdict: ScriptVerdict::GoOn }
    }

    pub(crate) fn duration(&self) -> Duration {
        self.began.elapsed()
    }
}

/// The script that keeps the server busy, if there is one.
#[derive(Debug, Default)]
pub(crate) struct BusyScript(Mutex<Option<RunningScript>>);

impl BusyScript {
    pub(crate) fn running(&self) -> MutexGuard<'_, Option<RunningScript>> {
        lock(&self.0)
    }

    pub(crate) fn begin(&self, script: RunningScript) {
        *self.running() = Some(script);
    }

    pub(crate) fn end(&self) {
        *self.running() = None;
    }

    /// Notes that the script is about to write. Returns `false` if it must not: it was told to
    /// stop.
    pub(crate) fn note_write(&self) -> bool {
        let mut running = self.running();
        let Some(script) = running.as_mut() else { return true };
        script.has_written |= script.verdict == ScriptVerdict::GoOn;
        script.verdict == ScriptVerdict::GoOn
    }

    pub(crate) fn verdict(&self) -> ScriptVerdict {
        self.running().as_ref().map_or(ScriptVerdict::GoOn, |script| script.verdict)
    }

    /// Tells the script to stop. Errors if no script runs, or if the script has written or is of
    /// another sort.
    pub(crate) fn kill(&self, sort: ScriptSort) -> Result<(), CommandError> {
        let mut running = self.running();
        let script = running.as_mut().ok_or(NOT_BUSY)?;
        if script.has_written {
            return Err(UNKILLABLE);
        }
        if script.sort != sort {
            return Err(script.sort.refusal());
        }
        if script.verdict == ScriptVerdict::GoOn {
            script.verdict = ScriptVerdict::Killed;
        }
        Ok(())
    }

    /// Tells the script to stop because the server does, even if it has written.
    pub(crate) fn abandon(&self) {
        if let Some(script) = self.running().as_mut() {
            script.verdict = ScriptVerdict::Abandoned;
        }
    }

    /// Returns the error for a request that must not run beside the script.
    pub(crate) fn refusal(&self) -> CommandError {
        // If no script is noted, it has just ended.
        self.running().as_ref().map_or(BUSY_SCRIPT, |script| script.sort.refusal())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(has_written: bool) -> BusyScript {
        let busy = BusyScript::default();
        let request = ClippedRequest(Vec::new());
        let name = b"f".to_vec();
        busy.begin(RunningScript::new(ScriptSort::Function, name, request, Instant::now(), has_written));
        busy
    }

    fn kill(busy: &BusyScript, sort: ScriptSort) -> String {
        let killed = busy.kill(sort);
        killed.map_or_else(|why| String::from_utf8_lossy(why.bytes()).into_owned(), |()| "ok".to_owned())
    }

    #[test]
    fn a_script_is_stopped_before_it_writes_or_not_at_all() {
        let busy = started(false);
        assert!(kill(&busy, ScriptSort::Script).contains("FUNCTION KILL"));
        assert_eq!(busy.verdict(), ScriptVerdict::GoOn);
        assert_eq!(kill(&busy, ScriptSort::Function), "ok");
        assert!(!busy.note_write(), "it was told to stop");
        assert_eq!(kill(&busy, ScriptSort::Function), "ok", "it has not written");
        busy.end();
        assert!(kill(&busy, ScriptSort::Script).starts_with("NOTBUSY"));

        let busy = started(false);
        assert!(busy.note_write());
        assert!(kill(&busy, ScriptSort::Function).starts_with("UNKILLABLE"));
        assert!(kill(&started(true), ScriptSort::Script).starts_with("UNKILLABLE"), "before the sort");
        busy.abandon();
        assert_eq!(busy.verdict(), ScriptVerdict::Abandoned);
    }
}
