//! The server's notifications about its keys.
//!
//! ```text
//!   new                                           the name is inserted, and lasts
//!   loaded, expire, restore, copy_to, rename_to, move_to
//!                                                 the key exists, and may have an expiry time
//!   del, expired, evicted, rename_from, move_from the name is removed
//!   FLUSHDB, FLUSHALL                             all names of one or all databases are removed
//!   SWAPDB                                        two databases swap names; a fill restarts
//!   a load beside the old data has ended          all names are removed, and a fill starts
//! ```
//!
//! It does no harm to insert or remove a name twice. Some changes cause no notification: Redis 7.0
//! removes a slot's keys silently. Ordered commands and the sweep detect such a change when they
//! look up the name's key.

use std::ffi::{CStr, c_char, c_int, c_void};

use valkey_module::raw;

use crate::api::{Ctx, ServerString, bytes_of, server};
use crate::names::ExpiryKnowledge;
use crate::{database, sweep};

/// The kinds of notification that report inserted and removed keys.
const KINDS: c_int = raw::REDISMODULE_NOTIFY_NEW
    | raw::REDISMODULE_NOTIFY_GENERIC
    | raw::REDISMODULE_NOTIFY_EXPIRED
    | raw::REDISMODULE_NOTIFY_EVICTED
    | raw::REDISMODULE_NOTIFY_LOADED;

type EventCallback = unsafe extern "C" fn(*mut raw::RedisModuleCtx, raw::RedisModuleEvent, u64, *mut c_void);

/// Subscribes to the notifications. Returns false if the server refuses.
pub fn subscribe(ctx: Ctx<'_>) -> bool {
    let events = [
        (raw::REDISMODULE_EVENT_FLUSHDB, on_flush as EventCallback),
        (raw::REDISMODULE_EVENT_SWAPDB, on_swap),
        (raw::REDISMODULE_EVENT_REPL_ASYNC_LOAD, on_load_beside),
    ];
    // SAFETY: a live context, and functions that stay as long as the module is loaded.
    unsafe {
        let keys = server!(RedisModule_SubscribeToKeyspaceEvents(ctx.raw(), KINDS, Some(on_key)));
        keys == 0
            && events.into_iter().all(|(id, callback)| {
                let event = raw::RedisModuleEvent { id, dataver: 1 };
                server!(RedisModule_SubscribeToServerEvent(ctx.raw(), event, Some(callback))) == 0
            })
    }
}

unsafe extern "C" fn on_key(
    ctx: *mut raw::RedisModuleCtx,
    _: c_int,
    event: *const c_char,
    key: *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: all pointers are valid for the duration of this call.
    let (ctx, event, name) = unsafe { (Ctx::new(ctx), CStr::from_ptr(event), bytes_of(key)) };
    let comes = |number, standing| {
        database::with(|state| state.names_or_new(number).note(name, standing));
    };
    match event.to_bytes() {
        b"new" => comes(ctx.database(), ExpiryKnowledge::Lasting),
        // These keys may have an expiry time: the server sends "new" before it sets the time.
        b"loaded" | b"expire" | b"restore" | b"rename_to" => comes(ctx.database(), ExpiryKnowledge::Unsure),
        b"copy_to" | b"move_to" => {
            // Within a transaction, Valkey 9 reports the selected database even if the key is in
            // another one. So the module inserts the name in both, and each read of the name looks
            // up the key.
            let told = ctx.database();
            comes(told, ExpiryKnowledge::Unsure);
            if let Some(number) = ctx.open(&ServerString::new(name)).map(|key| key.database())
                && number != told
            {
                comes(number, ExpiryKnowledge::Unsure);
            }
        }
        b"del" | b"expired" | b"evicted" | b"rename_from" | b"move_from" => {
            let number = ctx.database();
            database::with(|state| state.forget(number, name));
        }
        _ => {}
    }
    0
}

unsafe extern "C" fn on_flush(
    _: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    part: u64,
    data: *mut c_void,
) {
    if part != raw::REDISMODULE_SUBEVENT_FLUSHDB_END {
        return;
    }
    // SAFETY: the structure that belongs to this event.
    let number = unsafe { (*data.cast::<raw::RedisModuleFlushInfo>()).dbnum };
    // The number is -1 for all databases.
    database::with(|state| state.clear(usize::try_from(number).ok()));
}

unsafe extern "C" fn on_swap(
    ctx: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    _: u64,
    data: *mut c_void,
) {
    // SAFETY: the structure that belongs to this event.
    let (one, other) = unsafe {
        let swap = &*data.cast::<raw::RedisModuleSwapDbInfo>();
        (swap.dbnum_first, swap.dbnum_second)
    };
    if let (Ok(one), Ok(other)) = (usize::try_from(one), usize::try_from(other)) {
        database::with(|state| state.swap(one, other));
        // A running fill may have scanned a part of one of the two databases. It would miss the
        // beginning of the keys that were swapped into that database.
        if database::with(|state| state.filling.is_some()) {
            // SAFETY: a live context.
            sweep::fill(unsafe { Ctx::new(ctx) });
        }
    }
}

unsafe extern "C" fn on_load_beside(
    ctx: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    part: u64,
    _: *mut c_void,
) {
    // During such a load, the notifications of loaded keys name the databases in use. So, whether
    // the load succeeds or fails, all names are removed and the databases are scanned again.
    if part != raw::REDISMODULE_SUBEVENT_REPL_ASYNC_LOAD_STARTED {
        database::with(|state| state.clear(None));
        // SAFETY: a live context.
        sweep::fill(unsafe { Ctx::new(ctx) });
    }
}
