//! The module's options. `CONFIG SET skein.NAME` and the server's configuration file set them.

use std::ffi::{c_char, c_int, c_longlong, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, Ordering};

use valkey_module::raw;

use crate::api::{Ctx, server};

/// Least, default and greatest limit of a reply in bytes. The default is that of SkeinDB's server.
const REPLY_MAX: (c_longlong, c_longlong, c_longlong) = (1 << 10, 1 << 30, 1 << 40);

// All accesses are relaxed, since they happen under the server's lock.
static MAX_REPLY: AtomicI64 = AtomicI64::new(REPLY_MAX.1);

/// Returns the greatest allowed size of a reply in bytes.
pub fn max_reply() -> usize {
    usize::try_from(MAX_REPLY.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
}

/// Registers the options, and loads their values from the server's configuration. Returns false if
/// the server rejects them.
pub fn register(ctx: Ctx<'_>) -> bool {
    let (least, usual, most) = REPLY_MAX;
    // SAFETY: a live context while the module is loaded, a name that ends with zero, and functions
    // that stay.
    unsafe {
        server!(RedisModule_RegisterNumericConfig(
            ctx.raw(),
            c"max-reply".as_ptr(),
            usual,
            raw::REDISMODULE_CONFIG_MEMORY,
            least,
            most,
            Some(get),
            Some(set),
            None,
            null_mut(),
        )) == 0
            && server!(RedisModule_LoadConfigs(ctx.raw())) == 0
    }
}

unsafe extern "C" fn get(_: *const c_char, _: *mut c_void) -> c_longlong {
    MAX_REPLY.load(Ordering::Relaxed)
}

unsafe extern "C" fn set(
    _: *const c_char,
    value: c_longlong,
    _: *mut c_void,
    _: *mut *mut raw::RedisModuleString,
) -> c_int {
    MAX_REPLY.store(value, Ordering::Relaxed);
    0
}
