//! The state of a run, which the engine and the functions of its Lua state share.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell, UnsafeCell};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::function_library::LoadedFunction;
use crate::host::{HostSlot, RespVersion, Stop};
use crate::kept_values::KeptValues;
use crate::memory::MemoryLimit;
use crate::patterns::Frame;

/// The error of a script that a panic of the server stops.
pub(crate) const PANICKED: &str = "the server failed in a command of the script";

/// A reply of a command longer than this gives its buffer back.
const REPLY_BUFFER_MAX: usize = 1 << 20;

/// The state of a run that the callbacks share.
#[derive(Default)]
pub(crate) struct RunState {
    pub(crate) host: HostSlot,
    pub(crate) version: Cell<RespVersion>,
    /// The script was stopped: no `pcall` may continue.
    pub(crate) stopped: Cell<bool>,
    /// The reason, without a code.
    stop_reason: RefCell<String>,
    /// The units of work until the next tick, of all functions in Rust.
    pub(crate) units_left: Cell<usize>,
    /// The functions that the loading library has registered; `None` while no library loads.
    pub(crate) registered: RefCell<Option<Vec<LoadedFunction>>>,
    /// The reply to the running command (invariant 3 of `command_calls`).
    pub(crate) reply: UnsafeCell<Vec<u8>>,
    /// The alternatives of the running match (invariant 2 of `patterns`).
    pub(crate) frames: UnsafeCell<Vec<Frame>>,
    /// A panic in the server. It is raised again when the script has ended.
    pub(crate) panic: Cell<Option<Box<dyn Any + Send>>>,
    pub(crate) memory: MemoryLimit,
    /// Functions of Lua that outlive a run. Set when the engine begins.
    pub(crate) kept: OnceCell<KeptValues>,
}

impl RunState {
    /// Asks the host whether the script may continue. No panic leaves this.
    pub(crate) fn goes_on(&self) -> bool {
        if self.stopped.get() {
            return false;
        }
        match catch_unwind(AssertUnwindSafe(|| self.host.with(|host| host.tick()))) {
            Ok(Some(ControlFlow::Break(Stop(why)))) => {
                self.stop_reason.replace(why);
                self.stopped.set(true);
                false
            }
            Ok(_) => true,
            Err(panic) => {
                self.note_panic(panic);
                false
            }
        }
    }

    /// Calls `act` with the reason why the script was stopped.
    pub(crate) fn with_stop_reason<R>(&self, act: impl FnOnce(&str) -> R) -> R {
        act(&self.stop_reason.borrow())
    }

    /// Returns the functions of Lua that outlive a run.
    pub(crate) fn kept(&self) -> &KeptValues {
        self.kept.get().expect("an engine sets it when it begins")
    }

    /// Keeps a panic for the end of the run. No `pcall` may continue.
    #[cold]
    pub(crate) fn note_panic(&self, panic: Box<dyn Any + Send>) {
        self.stop_reason.replace(PANICKED.to_owned());
        self.stopped.set(true);
        self.panic.set(Some(panic));
    }

    /// Empties the buffer of replies.
    ///
    /// # Safety
    /// No reference to the reply exists.
    pub(crate) unsafe fn empty_reply(&self) {
        // SAFETY: guaranteed by the caller; the engine belongs to one thread.
        let reply = unsafe { &mut *self.reply.get() };
        reply.clear();
        reply.shrink_to(REPLY_BUFFER_MAX);
    }
}
