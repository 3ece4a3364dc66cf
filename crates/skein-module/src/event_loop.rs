//! A call in each turn of the server's event loop.
//!
//! A timer of the server fires a millisecond later at the earliest. Work that timers drive
//! therefore leaves the processor idle in between. A pipe that is always writable is ready in every
//! turn of the event loop. The server serves its clients, calls the module, and serves its clients
//! again.

use std::ffi::{c_int, c_void};
use std::io::{PipeReader, PipeWriter, pipe};
use std::os::fd::AsRawFd;
use std::ptr::null_mut;

use valkey_module::raw;

use crate::api::{Ctx, server};

/// The called function. Its context lives as long as the [`EventLoopHook`].
pub type TurnCallback = fn(Ctx<'_>);

/// Calls a function in each turn of the event loop, until the value is dropped.
pub struct EventLoopHook {
    writer: PipeWriter,
    /// Keeps the pipe open. Without a reader a write would fail, and the pipe would be ready
    /// because of that error.
    _reader: PipeReader,
    ctx: *mut raw::RedisModuleCtx,
}

// SAFETY: used only under the server's lock, on the thread that holds it.
unsafe impl Send for EventLoopHook {}

const WRITABLE: c_int = raw::REDISMODULE_EVENTLOOP_WRITABLE.cast_signed();

/// The function and the context of the only `EventLoopHook`.
static ON_TURN: crate::gil::Gil<Option<(TurnCallback, usize)>> = crate::gil::Gil::new(None);

impl EventLoopHook {
    /// Starts the calls. Returns `None` if the system provides no pipe, or the server rejects it.
    pub fn start(ctx: Ctx<'_>, on_turn: TurnCallback) -> Option<Self> {
        let (reader, writer) = pipe().ok()?;
        // SAFETY: a live context, and a function that stays as long as the module is loaded. The
        // context is freed once.
        let ctx = unsafe {
            if server!(RedisModule_EventLoopAdd(writer.as_raw_fd(), WRITABLE, Some(on_ready), null_mut()))
                != 0
            {
                return None;
            }
            server!(RedisModule_GetDetachedThreadSafeContext(ctx.raw()))
        };
        ON_TURN.with(|place| *place = Some((on_turn, ctx.expose_provenance())));
        Some(Self { writer, _reader: reader, ctx })
    }
}

impl Drop for EventLoopHook {
    fn drop(&mut self) {
        ON_TURN.with(Option::take);
        // SAFETY: `start` created both, and they are released once.
        unsafe {
            server!(RedisModule_EventLoopDel(self.writer.as_raw_fd(), WRITABLE));
            server!(RedisModule_FreeThreadSafeContext(self.ctx));
        }
    }
}

unsafe extern "C" fn on_ready(_: c_int, _: *mut c_void, _: c_int) {
    if let Some((on_turn, ctx)) = ON_TURN.with(|place| *place) {
        // SAFETY: the context lives as long as the `EventLoopHook`, which `on_turn` may drop as its
        // last act.
        on_turn(unsafe { Ctx::new(std::ptr::with_exposed_provenance_mut(ctx)) });
    }
}
