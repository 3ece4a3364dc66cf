//! The sweep: visits all keys and all names, a slice at a time, and makes them agree.
//!
//! ```text
//!   fill:    all keys of every database, a slice in each turn of the event loop; ordered commands
//!            return an error until its end
//!   repair:  all keys, then all names, at each tick of the server's clock; restarts after its end
//! ```
//!
//! The server ticks ten times a second by default (`hz`), so the repair takes half a hundredth of
//! the time. The repair has no timer, because a server does not unload a module that has one. The
//! fill has a timer for exactly that reason.
//!
//! [`notifications`](crate::notifications) handles the keys that are inserted or removed meanwhile.
//! A scan of the server returns every key that exists during the whole scan. So no name is missing
//! after it.

use std::ffi::{c_int, c_void};
use std::ops::Bound;
use std::ptr::null_mut;

use skein_index::ScanDirection;
use valkey_module::raw;

use crate::api::{Ctx, REPLICA, ServerString, bytes_of, now_usec, server};
use crate::database::{self, FillProgress};
use crate::event_loop::EventLoopHook;
use crate::gil::Gil;
use crate::names::{DatabaseNames, ExpiryKnowledge};

/// Duration of a slice of the fill in microseconds, in an idle server and in a busy one.
const FILL_USEC: u64 = 2_000;
const FILL_BUSY_USEC: u64 = 1_000;
/// The server counts as busy if this many microseconds pass between two slices of the fill.
const BUSY_USEC: u64 = 200;
/// Duration of a slice of the repair in microseconds.
const REPAIR_USEC: u64 = 500;
/// The names, or buckets of the server's hash table, that are checked between two reads of the
/// clock.
const NAMES: usize = 64;
const BUCKETS: usize = 16;

/// The progress of the sweep.
struct KeySweep {
    /// Requests the slices of a fill, while a fill runs.
    turns: Option<EventLoopHook>,
    /// The fill's timer. It keeps the module loaded, and requests the slices if there is no hook.
    timer: Option<raw::RedisModuleTimerID>,
    /// The time at which the last slice of the fill ended.
    rested: u64,
    database: usize,
    place: SweepPosition,
    /// The time at which the fill began.
    began: u64,
}

enum SweepPosition {
    /// The sweep visits the server's keys.
    Keys(KeyCursor),
    /// The sweep visits the module's names, after this name, or from the first name.
    Names(Option<Vec<u8>>),
}

/// A cursor over a database's keys.
struct KeyCursor(*mut raw::RedisModuleScanCursor);

// SAFETY: used only under the server's lock, on the thread that holds it.
unsafe impl Send for KeyCursor {}

impl KeyCursor {
    fn new() -> Self {
        // SAFETY: a plain call.
        Self(unsafe { server!(RedisModule_ScanCursorCreate()) })
    }
}

impl Drop for KeyCursor {
    fn drop(&mut self) {
        // SAFETY: ours, and destroyed once.
        unsafe { server!(RedisModule_ScanCursorDestroy(self.0)) };
    }
}

static SWEEP: Gil<Option<KeySweep>> = Gil::new(None);

/// Starts the sweep when the module starts. If the server has keys, the sweep begins with a fill. A
/// server that loads its data later notifies the module of each key. Returns false if the server
/// refuses the subscription.
pub fn start(ctx: Ctx<'_>) -> bool {
    SWEEP.with(|sweep| {
        *sweep = Some(KeySweep {
            turns: None,
            timer: None,
            rested: 0,
            database: 0,
            place: SweepPosition::Keys(KeyCursor::new()),
            began: now_usec(),
        });
    });
    if keys(ctx) > 0 {
        fill(ctx);
    }
    let event = raw::RedisModuleEvent { id: raw::REDISMODULE_EVENT_CRON_LOOP, dataver: 1 };
    // SAFETY: a live context, and a function that stays as long as the module is loaded.
    unsafe { server!(RedisModule_SubscribeToServerEvent(ctx.raw(), event, Some(on_tick))) == 0 }
}

/// Ends the sweep when the module ends.
pub fn stop(ctx: Ctx<'_>) {
    if let Some(mut sweep) = SWEEP.with(Option::take) {
        sweep.end_fill(ctx);
    }
}

/// Restarts the sweep with a fill. Ordered commands return an error until the fill has visited all
/// keys.
pub fn fill(ctx: Ctx<'_>) {
    let of = keys(ctx);
    database::with(|state| state.filling = Some(FillProgress { met: 0, of }));
    let Some(mut sweep) = SWEEP.with(Option::take) else { return };
    (sweep.database, sweep.place, sweep.began) = (0, SweepPosition::Keys(KeyCursor::new()), now_usec());
    sweep.begin_fill(ctx);
    SWEEP.with(|place| *place = Some(sweep));
}

unsafe extern "C" fn on_timer(ctx: *mut raw::RedisModuleCtx, _: *mut c_void) {
    SWEEP.with(|sweep| {
        if let Some(sweep) = sweep {
            sweep.timer = None;
        }
    });
    // SAFETY: a live context.
    fill_slice(unsafe { Ctx::new(ctx) });
}

/// Continues the fill for one slice.
fn fill_slice(ctx: Ctx<'_>) {
    let rested = SWEEP.with(|sweep| sweep.as_ref().map_or(0, |sweep| sweep.rested));
    let usec = if now_usec() - rested > BUSY_USEC { FILL_BUSY_USEC } else { FILL_USEC };
    slice(ctx, usec, |sweep| {
        sweep.rested = now_usec();
        if database::with(|state| state.filling.is_some()) {
            sweep.begin_fill(ctx);
        } else {
            sweep.end_fill(ctx);
        }
    });
}

unsafe extern "C" fn on_tick(
    ctx: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    _: u64,
    _: *mut c_void,
) {
    // The changes in the batches need not wait longer.
    database::with(|state| state.all().for_each(DatabaseNames::merge));
    if database::with(|state| state.filling.is_none()) {
        // SAFETY: a live context.
        slice(unsafe { Ctx::new(ctx) }, REPAIR_USEC, |_| {});
    }
}

/// Runs the sweep for one slice, then calls `after`.
fn slice(ctx: Ctx<'_>, usec: u64, after: impl FnOnce(&mut KeySweep)) {
    // The sweep is taken out of its place, because a called function may call the module again.
    let Some(mut sweep) = SWEEP.with(Option::take) else { return };
    let (used, end) = (ctx.database(), now_usec() + usec);
    while sweep.step(ctx) && now_usec() < end {}
    ctx.select(used);
    after(&mut sweep);
    SWEEP.with(|place| *place = Some(sweep));
}

/// Returns the number of keys in all databases.
fn keys(ctx: Ctx<'_>) -> u64 {
    let used = ctx.database();
    // SAFETY: a live context.
    let sizes = (0..)
        .take_while(|&number| ctx.select(number))
        .map(|_| unsafe { server!(RedisModule_DbSize(ctx.raw())) });
    let all = sizes.sum();
    ctx.select(used);
    all
}

impl KeySweep {
    /// Starts the event-loop hook and the timer that request the slices of a fill, unless they run
    /// already.
    fn begin_fill(&mut self, ctx: Ctx<'_>) {
        if self.turns.is_none() {
            self.turns = EventLoopHook::start(ctx, fill_slice);
        }
        if self.timer.is_none() {
            let millis = if self.turns.is_some() { 1_000 } else { 0 };
            // SAFETY: a live context, and a function that stays: the timer is stopped before the
            // module is unloaded.
            let timer =
                unsafe { server!(RedisModule_CreateTimer(ctx.raw(), millis, Some(on_timer), null_mut())) };
            self.timer = Some(timer);
        }
    }

    /// Ends the requests for slices. The context may be that of the hook. The caller must not use
    /// it afterwards.
    fn end_fill(&mut self, ctx: Ctx<'_>) {
        if let Some(timer) = self.timer.take() {
            // SAFETY: a live context; the timer's data is null.
            unsafe { server!(RedisModule_StopTimer(ctx.raw(), timer, null_mut())) };
        }
        self.turns = None;
    }

    /// Checks some keys or names. Returns false at the end of a pass.
    fn step(&mut self, ctx: Ctx<'_>) -> bool {
        if !ctx.select(self.database) {
            return self.next_pass();
        }
        match &mut self.place {
            SweepPosition::Keys(cursor) => {
                let on_met =
                    if database::with(|state| state.filling.is_some()) { on_met } else { on_checked };
                // SAFETY: a live context and cursor, and the function's data is a number.
                let scan = || unsafe {
                    let number = self.database as *mut c_void;
                    server!(RedisModule_Scan(ctx.raw(), cursor.0, Some(on_met), number)) != 0
                };
                let more = (0..BUCKETS).all(|_| scan());
                if !more {
                    (self.database, self.place) = (self.database + 1, SweepPosition::Keys(KeyCursor::new()));
                }
            }
            SweepPosition::Names(after) => {
                let last = check_names(ctx, self.database, after.as_deref());
                self.database += usize::from(last.is_none());
                *after = last;
            }
        }
        true
    }

    /// Starts the next pass after the last database: names follow keys, and keys follow names.
    /// Returns false.
    fn next_pass(&mut self) -> bool {
        self.database = 0;
        let filled = now_usec() - self.began;
        match self.place {
            SweepPosition::Keys(_) => {
                database::with(|state| {
                    if state.filling.take().is_some() {
                        state.counts.filled_usec = filled;
                    }
                });
                self.place = SweepPosition::Names(None);
            }
            SweepPosition::Names(_) => {
                database::with(|state| state.counts.sweeps += 1);
                self.place = SweepPosition::Keys(KeyCursor::new());
            }
        }
        false
    }
}

/// Handles a key that the fill visits.
unsafe extern "C" fn on_met(
    _: *mut raw::RedisModuleCtx,
    name: *mut raw::RedisModuleString,
    key: *mut raw::RedisModuleKey,
    number: *mut c_void,
) {
    // SAFETY: a live string, and an open key if it is not null.
    let (name, lasts) = unsafe {
        let lasts =
            !key.is_null() && server!(RedisModule_GetExpire(key)) == i64::from(raw::REDISMODULE_NO_EXPIRE);
        (bytes_of(name), lasts)
    };
    let standing = if lasts { ExpiryKnowledge::Lasting } else { ExpiryKnowledge::Unsure };
    database::with(|state| {
        state.names_or_new(number.addr()).note(name, standing);
        if let Some(filling) = &mut state.filling {
            filling.met += 1;
        }
    });
}

/// Handles a key that the repair visits.
unsafe extern "C" fn on_checked(
    _: *mut raw::RedisModuleCtx,
    name: *mut raw::RedisModuleString,
    _: *mut raw::RedisModuleKey,
    number: *mut c_void,
) {
    // SAFETY: a live string.
    let name = unsafe { bytes_of(name) };
    database::with(|state| {
        state.counts.missing_added += u64::from(state.names_or_new(number.addr()).add(name));
    });
}

/// Checks the next names, and drops each name without a key. Returns the last name that was
/// checked.
fn check_names(ctx: Ctx<'_>, number: usize, after: Option<&[u8]>) -> Option<Vec<u8>> {
    let bounds = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
    let page = database::with(|state| {
        state.names(number).map(|names| names.page(bounds, ScanDirection::Forward, NAMES))
    })?;
    for (name, _) in page.iter() {
        if ctx.open(&ServerString::new(name)).is_none() {
            drop_stale(ctx, number, name);
        }
    }
    page.last().map(<[u8]>::to_vec)
}

/// Drops a name without a key. (If the key expired just now, a notification has already removed the
/// name.)
///
/// Does nothing on a replica. A replica hides an expired key, but keeps it until its primary
/// removes the key or extends its time.
pub fn drop_stale(ctx: Ctx<'_>, number: usize, name: &[u8]) {
    if ctx.has(REPLICA) {
        return;
    }
    database::with(|state| {
        if state.remove(number, name) {
            state.counts.stale_dropped += 1;
        }
    });
}

const _: () = assert!(size_of::<c_int>() == 4, "the server's functions are declared for this");
