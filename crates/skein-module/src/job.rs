//! Commands that run in slices, so that the server serves other clients in between.
//!
//! ```text
//!   request ─► first slice ─► done: the reply is sent at once
//!                   │ more
//!                   ▼
//!              client blocked ─► timer ─► slice ─► ... ─► reply slices ─► client unblocked
//! ```
//!
//! Within `MULTI` and scripts a module must not block the client. There the whole command runs in
//! one slice, as every command of the server does.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use valkey_module::raw;

use crate::answer::{CollectedReply, ReplyPart};
use crate::api::{Ctx, DENY_BLOCKING, is_quiet, server};
use crate::gil::Gil;
use crate::work::{SlicedWork, WorkProgress};

/// A command with a blocked client.
struct SlicedJob {
    /// `None` once the reply is complete.
    work: Option<Box<dyn SlicedWork>>,
    answer: CollectedReply,
    client: *mut raw::RedisModuleBlockedClient,
    /// The context that receives the reply.
    to: *mut raw::RedisModuleCtx,
}

/// The running jobs, by the addresses of their blocked clients. The value says whether the client
/// has disconnected. The server may reuse an address for a later client. So a client that
/// disconnects after the end of its job adds no key here.
static DISCONNECTED: Gil<BTreeMap<usize, bool>> = Gil::new(BTreeMap::new());

unsafe extern "C" fn on_gone(_: *mut raw::RedisModuleCtx, client: *mut raw::RedisModuleBlockedClient) {
    DISCONNECTED.with(|jobs| {
        if let Some(disconnected) = jobs.get_mut(&client.addr()) {
            *disconnected = true;
        }
    });
}

/// Runs the work, and sends its reply, at once or in slices.
pub fn run(ctx: Ctx<'_>, mut work: Box<dyn SlicedWork>) {
    let mut answer = CollectedReply::default();
    let mut more = slice(&mut work, ctx, &mut answer);
    if ctx.has(DENY_BLOCKING) {
        while more {
            more = slice(&mut work, ctx, &mut answer);
        }
    }
    if !more && (answer.is_short() || ctx.has(DENY_BLOCKING)) {
        while answer.give(ctx) {}
        return;
    }
    // SAFETY: a live context of a client that may be blocked. Its reply is sent to a context of its
    // own, and the client is unblocked once.
    let job = unsafe {
        let client = server!(RedisModule_BlockClient(ctx.raw(), None, None, None, 0));
        server!(RedisModule_SetDisconnectCallback(client, Some(on_gone)));
        DISCONNECTED.with(|jobs| jobs.insert(client.addr(), false));
        SlicedJob {
            work: more.then_some(work),
            answer,
            client,
            to: server!(RedisModule_GetThreadSafeContext(client)),
        }
    };
    schedule(ctx, Box::new(job));
}

/// Runs one slice. Returns whether there are more. If the slice fails, the error replaces the
/// reply.
fn slice(work: &mut Box<dyn SlicedWork>, ctx: Ctx<'_>, answer: &mut CollectedReply) -> bool {
    // A panic must not end the server.
    let done = catch_unwind(AssertUnwindSafe(|| work.step(ctx, answer)));
    let fault = match done {
        Ok(Ok(progress)) => return progress == WorkProgress::More,
        Ok(Err(fault)) => fault,
        Err(_) => "ERR internal error in the module skein; see the server's log".to_owned(),
    };
    *answer = CollectedReply::default();
    answer.push(ReplyPart::Error(fault.as_bytes()));
    false
}

fn schedule(ctx: Ctx<'_>, job: Box<SlicedJob>) {
    let job = Box::into_raw(job).cast();
    // SAFETY: a live context; the function stays, since the server does not unload a module with
    // blocked clients.
    unsafe { server!(RedisModule_CreateTimer(ctx.raw(), 0, Some(on_timer), job)) };
}

unsafe extern "C" fn on_timer(ctx: *mut raw::RedisModuleCtx, job: *mut c_void) {
    // SAFETY: a live context, and the job of `schedule`, which the timer returns once.
    let (ctx, mut job) = unsafe { (Ctx::new(ctx), Box::from_raw(job.cast::<SlicedJob>())) };
    if job.step(ctx) {
        schedule(ctx, job);
    }
}

impl SlicedJob {
    /// Runs a slice, or sends a portion of the reply. Returns whether there are more.
    fn step(&mut self, ctx: Ctx<'_>) -> bool {
        if DISCONNECTED.with(|jobs| jobs.get(&self.client.addr()) == Some(&true)) {
            return false;
        }
        match &mut self.work {
            // While writes are paused (`CLIENT PAUSE`, `CLUSTER FAILOVER`), the server delays its
            // clients' writes. It does not delay a module's writes: if a module writes, an
            // assertion fails and the server ends. So a job that writes waits here.
            Some(work) if work.writes() && is_quiet() => true,
            Some(work) => {
                if !slice(work, ctx, &mut self.answer) {
                    self.work = None;
                }
                true
            }
            // SAFETY: created by `run`, and not freed yet.
            None => self.answer.give(unsafe { Ctx::new(self.to) }),
        }
    }
}

impl Drop for SlicedJob {
    fn drop(&mut self) {
        DISCONNECTED.with(|jobs| jobs.remove(&self.client.addr()));
        // SAFETY: `run` created both, and they are freed once. The server sends the reply to the
        // client, if it is still connected.
        unsafe {
            server!(RedisModule_FreeThreadSafeContext(self.to));
            server!(RedisModule_UnblockClient(self.client, null_mut()));
        }
    }
}
