//! The two sides of an engine that the server implements, and the slot that holds the host while a
//! script runs.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::time::Duration;

/// The version of RESP in which a script sees replies: `redis.setresp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RespVersion {
    /// The version at the start of every script.
    #[default]
    Resp2,
    /// After `redis.setresp(3)`.
    Resp3,
}

/// The level of a line that a script logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptLogLevel {
    /// `redis.LOG_DEBUG`
    Debug,
    /// `redis.LOG_VERBOSE`
    Verbose,
    /// `redis.LOG_NOTICE`
    Notice,
    /// `redis.LOG_WARNING`
    Warning,
}

/// The end of a script that [`ScriptHost::tick`] requests: the error that the client receives,
/// without a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop(pub String);

/// Runs the commands of a script.
pub trait ScriptHost {
    /// Adds an argument to the next command. The first one is the command's name.
    fn argument(&mut self, bytes: &[u8]);

    /// Runs the command of the arguments so far, and forgets them. Appends its reply to `reply`, in
    /// this version of RESP. A command that is refused replies with an error. Returns the time that
    /// the command took, which counts as work of the script.
    fn call(&mut self, version: RespVersion, reply: &mut Vec<u8>) -> Duration;

    /// Forgets the arguments so far.
    fn forget_arguments(&mut self);

    /// Returns whether the user may run the command of the arguments so far, and forgets them.
    /// Returns `None` if there is no such command.
    fn may_call(&mut self) -> Option<bool>;

    /// Writes a line to the server's log.
    fn log(&mut self, level: ScriptLogLevel, text: &[u8]);

    /// Returns whether the script has run a command that writes. From then on the engine gives it
    /// [`WRITTEN_RESERVE`](crate::WRITTEN_RESERVE): removed values exist in its memory alone.
    fn has_written(&self) -> bool;

    /// Called about every millisecond, in Lua and in the functions of the libraries. A break ends
    /// the script.
    fn tick(&mut self) -> ControlFlow<Stop>;
}

/// Encodes the value of a script, as the client's version of RESP wants it.
#[expect(missing_docs, reason = "the names are those of RESP's types")]
pub trait ReplySink {
    /// Returns whether this many bytes of text may be added. `false` ends the reply.
    fn admits(&self, bytes: usize) -> bool;
    /// Forgets all that was written.
    fn clear(&mut self);
    /// Writes the error for a reply that has become too long.
    fn too_long(&mut self);
    fn null(&mut self);
    fn boolean(&mut self, value: bool);
    fn integer(&mut self, value: i64);
    fn double(&mut self, value: f64);
    fn bulk(&mut self, bytes: &[u8]);
    fn status(&mut self, text: &[u8]);
    /// `text` begins with its code.
    fn error(&mut self, text: &[u8]);
    /// The elements follow.
    fn array(&mut self, len: usize);
    /// Keys and values follow alternately.
    fn map(&mut self, pairs: usize);
    /// The members follow.
    fn set(&mut self, len: usize);
    fn big_number(&mut self, digits: &[u8]);
    fn verbatim(&mut self, format: &[u8], text: &[u8]);
}

/// The host of the running script.
///
/// # Invariants
/// 1. A pointer is in the slot only during [`HostSlot::lend`], which borrows the host for that
///    time.
/// 2. While a callback uses the host, the slot is empty. So no second reference is made.
#[derive(Default)]
pub(crate) struct HostSlot(Cell<Option<NonNull<dyn ScriptHost>>>);

/// Empties the slot, on a panic too.
struct Lent<'s>(&'s HostSlot);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.0.set(None);
    }
}

impl HostSlot {
    /// Lends the host to the callbacks of the engine while `run` runs.
    pub(crate) fn lend<R>(&self, host: &mut dyn ScriptHost, run: impl FnOnce() -> R) -> R {
        let host: NonNull<dyn ScriptHost + '_> = NonNull::from(host);
        // SAFETY: the types differ by the lifetime alone. `Lent` removes the pointer before the
        // borrow of `host` ends, and `with` hands out no reference beyond its closure (invariant
        // 1).
        let host: NonNull<dyn ScriptHost + 'static> = unsafe { std::mem::transmute(host) };
        let lent = Lent(self);
        lent.0.0.set(Some(host));
        run()
    }

    /// Calls `act` with the host. Returns `None` outside of a script, and within another call.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut dyn ScriptHost) -> R) -> Option<R> {
        let mut host = self.0.take()?;
        // SAFETY: the slot has the pointer only while `lend` holds the unique borrow of the host
        // (invariant 1), and the slot is empty now, so this is the only reference (invariant 2).
        let done = act(unsafe { host.as_mut() });
        self.0.set(Some(host));
        Some(done)
    }
}
