//! `redis.call`, `redis.pcall` and `redis.acl_check_cmd`: functions on the Lua stack, because
//! scripts call the first ones often. A function by mlua makes a reference of each argument and
//! result.
//!
//! ```text
//!   arguments on the stack ─► host.argument … host.call ─► RunState::reply ─► values on the stack
//!   └──────── Rust: owns what it likes, never raises ───┘  └─ Lua: may raise, owns nothing ─────┘
//! ```
//!
//! # Invariants
//! 1. The first part calls no function of Lua that raises an error, and no panic leaves it. So its
//!    values are dropped.
//! 2. The second part owns nothing that must be dropped, because an error of Lua leaves it with
//!    `longjmp`. The reply is in the [`RunState`].
//! 3. No second call begins before the first one ends: a command runs no Lua of this engine. So one
//!    buffer of the state is sufficient.

use std::ffi::c_int;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use mlua::{Function, Lua, ffi};

use crate::host::ScriptHost;
use crate::libraries::number::format_g;
use crate::reply_values::{NoValue, push_reply};
use crate::run_state::{PANICKED, RunState};
use crate::stack::{Kind, Stack, protected};
use crate::work_meter::WorkMeter;

const NO_ARGUMENTS: &str = "Please specify at least one argument for this redis lib call";
const WRONG_ARGUMENTS: &str = "Lua redis lib command arguments must be strings or integers";
/// The error of a script without a host. No script runs without one.
const NO_HOST: &str = "there is no server behind this script";
const NOT_RESP: &str = "the server's reply to a command of the script is not RESP";
const NO_COMMAND: &str = "Invalid command passed to redis.acl_check_cmd()";

/// A whole number below this has the same digits as Redis writes.
const WHOLE_MAX: f64 = 1e15;
/// The most characters of a 64-bit number.
const DIGITS: usize = 20;
/// The time of a command that counts as an instruction of Lua.
const UNIT_NANOS: u128 = 10;

/// A function of Lua with the state of the engine as its first upvalue.
pub(crate) type StackFunction = unsafe extern "C-unwind" fn(*mut ffi::lua_State) -> c_int;

/// Makes a function of Lua. REQUIRES: the state outlives the Lua state.
pub(crate) fn function(lua: &Lua, state: &Rc<RunState>, function: StackFunction) -> mlua::Result<Function> {
    let state = Rc::as_ptr(state);
    // SAFETY: the work owns nothing.
    let made = unsafe { protected(lua, (), |stack| stack.push_function(function, state.cast()))? };
    Ok(made.1)
}

/// Gives a number to the host as Redis writes it.
fn give_number(host: &mut dyn ScriptHost, number: f64) {
    if number.fract() == 0.0 && number.abs() < WHOLE_MAX && !(number == 0.0 && number.is_sign_negative()) {
        let mut digits = [0; DIGITS];
        let mut rest = &mut digits[..];
        // There is room for every number.
        let _ = write!(rest, "{}", number as i64);
        let len = DIGITS - rest.len();
        host.argument(&digits[..len]);
    } else {
        host.argument(format_g(number, 17).as_bytes());
    }
}

/// `redis.call`: an error reply is raised.
///
/// # Safety
/// Lua calls it, with the upvalue of [`function`].
pub(crate) unsafe extern "C-unwind" fn call(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: guaranteed by the caller.
    let (mut stack, is_error) = unsafe { run(state) };
    if is_error {
        stack.raise();
    }
    1
}

/// `redis.pcall`: an error reply is returned, as the table that `redis.call` would raise.
///
/// # Safety
/// As for [`call`].
pub(crate) unsafe extern "C-unwind" fn pcall(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { run(state) };
    1
}

/// `redis.acl_check_cmd`: whether the user may run a command.
///
/// # Safety
/// As for [`call`].
pub(crate) unsafe extern "C-unwind" fn acl_check_cmd(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: guaranteed by the caller.
    let (mut stack, run) = unsafe { open(state) };
    let may_call = with_host(run, |host| {
        give(&stack, host)?;
        host.may_call().ok_or(NO_COMMAND)
    });
    stack.clear();
    match may_call {
        Ok(may) => stack.push_boolean(may),
        Err(fault) => {
            push_error(&mut stack, &[b"ERR ", fault.as_bytes()]);
            stack.raise();
        }
    }
    1
}

/// Returns the stack of the running function, and the state of its engine.
///
/// # Safety
/// As for [`call`]. The state of the engine is used within the call alone.
unsafe fn open<'s>(state: *mut ffi::lua_State) -> (Stack, &'s RunState) {
    // SAFETY: Lua calls the function with this state.
    let stack = unsafe { Stack::of(state) };
    // SAFETY: the upvalue is the state of the engine, which outlives all calls.
    let run = unsafe { &*stack.upvalue().cast::<RunState>() };
    (stack, run)
}

/// Runs a command, and pushes its reply. Returns whether that is an error.
///
/// # Safety
/// As for [`call`].
unsafe fn run(state: *mut ffi::lua_State) -> (Stack, bool) {
    // SAFETY: guaranteed by the caller.
    let (mut stack, run) = unsafe { open(state) };
    let asked = with_host(run, |host| {
        give(&stack, host)?;
        // SAFETY: no other call has the buffer (invariant 3).
        unsafe { run.empty_reply() };
        // SAFETY: as above.
        let took = host.call(run.version.get(), unsafe { &mut *run.reply.get() });
        if host.has_written() {
            // The reply may be the only copy of the removed values.
            run.memory.raise();
        }
        Ok(took)
    });
    if let Ok(took) = asked {
        let units = usize::try_from(took.as_nanos() / UNIT_NANOS).unwrap_or(usize::MAX);
        // SAFETY: Lua has called the function with this state.
        unsafe { skein_lua::charge(state, units) };
    }
    // Thousands of arguments would leave no room for the reply.
    stack.clear();
    if let Err(fault) = asked {
        push_error(&mut stack, &[b"ERR ", fault.as_bytes()]);
        return (stack, true);
    }
    // SAFETY: no other call has the buffer (invariant 3).
    let reply: &[u8] = unsafe { &*run.reply.get() };
    if let Some(error) = error_of(reply) {
        push_error(&mut stack, &[error]);
        // As in Redis: an error that is raised again is not counted twice.
        stack.push_bytes(b"ignore_error_stats_update");
        stack.push_boolean(true);
        stack.set();
        return (stack, true);
    }
    let pushed = push_reply(&mut stack, reply, WorkMeter::new(Some(run)));
    match pushed {
        Ok(()) => {}
        Err(NoValue::Broken) => push_error(&mut stack, &[b"ERR ", NOT_RESP.as_bytes()]),
        Err(NoValue::Stopped) => push_stop(&mut stack, run),
    }
    (stack, pushed.is_err())
}

/// Pushes the error of a script that the host has stopped.
fn push_stop(stack: &mut Stack, run: &RunState) {
    stack.clear();
    // Without a limit of memory nothing raises an error, so the borrow of the reason ends.
    run.memory.without(|| run.with_stop_reason(|why| push_error(stack, &[b"ERR ", why.as_bytes()])));
}

/// Calls `act` with the host. No panic leaves this.
fn with_host<R>(
    run: &RunState,
    act: impl FnOnce(&mut dyn ScriptHost) -> Result<R, &'static str>,
) -> Result<R, &'static str> {
    match catch_unwind(AssertUnwindSafe(|| run.host.with(act))) {
        Ok(asked) => asked.unwrap_or(Err(NO_HOST)),
        Err(panic) => {
            run.note_panic(panic);
            Err(PANICKED)
        }
    }
}

/// Gives the arguments on the stack to the host.
fn give(stack: &Stack, host: &mut dyn ScriptHost) -> Result<(), &'static str> {
    let count = stack.top();
    if count == 0 {
        return Err(NO_ARGUMENTS);
    }
    for slot in 1..=count {
        match stack.kind(slot) {
            Kind::String => host.argument(stack.bytes(slot)),
            Kind::Number(number) => give_number(host, number),
            _ => {
                host.forget_arguments();
                return Err(WRONG_ARGUMENTS);
            }
        }
    }
    Ok(())
}

/// Returns the text of an error reply.
fn error_of(reply: &[u8]) -> Option<&[u8]> {
    let line = reply.strip_prefix(b"-")?;
    Some(line.strip_suffix(b"\r\n").unwrap_or(line))
}

/// Pushes an error in the form that scripts see.
fn push_error(stack: &mut Stack, text: &[&[u8]]) {
    stack.push_table();
    stack.push_bytes(b"err");
    stack.push_joined(text);
    stack.set();
}
