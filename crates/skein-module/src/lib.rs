//! SkeinDB's ordered keys inside Redis and Valkey: `redis-server --loadmodule libskein.so`.
//!
//! The data stay ordinary keys of the server. The module keeps the names of the keys in order, in
//! one index for each database, and answers the ordered commands from these indexes. It derives the
//! order from the keys and never saves it. The server remains responsible for replication, RDB,
//! AOF, expiry, eviction and users. A server without the module reads all data.
//!
//! ```text
//!   key inserted, removed ─► notifications ─► names (one per database) ◄── sweep: fills, repairs
//!                                               │ a page of names
//!   SK.RANGE and relatives ─► commands ─► visible: opened untouched, allowed to the user
//!                                               │ rows of the reply
//!                             job: a slice at a time, other clients in between ──► reply
//! ```
//!
//! # Invariants
//! 1. **One at a time.** The server calls the module under its lock: for commands, timers and
//!    notifications. The module starts no thread. So [`gil`] gives access to the state without a
//!    lock of its own.
//! 2. **No call of the server while the state is borrowed.** If the module opens an expired key,
//!    the server may remove it and notify [`notifications`], which borrows the state. So the module
//!    copies the names out first.
//! 3. **Names are a superset, or the module is not ready.** Once the first sweep is complete, the
//!    name of each existing key is in its database's index. If a command or the sweep finds a name
//!    without a key, it drops the name.
//!
//! # Modules
//! - The server's side: `api` (its functions), `allocator`, `event_loop`, `options`, `info`.
//! - Names: `names` with `pending` (changes in batches), `database`, `notifications`, `sweep`.
//! - The filter of a page: `rights` (of the user), `slots` (of the node), `expiry_knowledge`.
//! - Commands: `commands`, `page`, `job`, `work` (their slices), `value` and `answer` (the reply).
//!
//! Design: `docs/design/cluster-ranges.md`.

mod allocator;
mod answer;
mod api;
mod commands;
mod database;
mod event_loop;
mod expiry_knowledge;
mod gil;
mod info;
mod job;
mod names;
mod notifications;
mod options;
mod page;
mod pending;
mod rights;
mod slots;
mod sweep;
mod value;
mod work;

use valkey_module::{Context, Status, ValkeyString, valkey_module};

use api::{ATOMIC_SLOT_MIGRATION, Ctx, LOADS_BESIDE};

/// Starts the module. The server calls this function after it has set its own functions.
fn init(context: &Context, args: &[ValkeyString]) -> Status {
    if !args.is_empty() {
        context.log_warning("skein: the module takes no arguments; set its options by CONFIG SET skein.NAME");
        return Status::Err;
    }
    // SAFETY: the server's own context, for the duration of this call.
    let ctx = unsafe { Ctx::new(context.ctx) };
    database::start();
    if !notifications::subscribe(ctx) || !sweep::start(ctx) {
        context.log_warning("skein: the server does not tell modules what becomes of its keys");
        return Status::Err;
    }
    if !options::register(ctx) {
        context.log_warning("skein: the server does not take the module's options; see its messages above");
        return Status::Err;
    }
    info::register(ctx);
    ctx.declare(LOADS_BESIDE | ATOMIC_SLOT_MIGRATION);
    Status::Ok
}

fn deinit(context: &Context) -> Status {
    // SAFETY: the server's own context, for the duration of this call.
    sweep::stop(unsafe { Ctx::new(context.ctx) });
    slots::end();
    database::end();
    Status::Ok
}

valkey_module! {
    name: "skein",
    version: 1,
    allocator: (allocator::ServerAllocator, allocator::ServerAllocator),
    data_types: [],
    init: init,
    deinit: deinit,
    commands: [
        ["sk.range", commands::range, "readonly", 0, 0, 0],
        ["sk.prefix", commands::prefix, "readonly", 0, 0, 0],
        ["sk.page", page::page, "readonly", 0, 0, 0],
        ["sk.count", commands::count, "readonly", 0, 0, 0],
        ["sk.first", commands::first, "readonly", 0, 0, 0],
        ["sk.last", commands::last, "readonly", 0, 0, 0],
        ["sk.next", commands::next, "readonly", 0, 0, 0],
        ["sk.prev", commands::prev, "readonly", 0, 0, 0],
        ["sk.delrange", commands::del_range, "write", 0, 0, 0],
        ["sk.memory", commands::memory, "readonly fast", 0, 0, 0],
        ["sk.getv", commands::no_versions, "readonly fast", 0, 0, 0],
        ["sk.cas", commands::no_versions, "readonly fast", 0, 0, 0],
        ["sk.snapshot", commands::no_snapshots, "readonly fast", 0, 0, 0],
    ],
}
