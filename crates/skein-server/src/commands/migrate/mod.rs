//! MIGRATE: moves keys to another server.
//!
//! ```text
//!   request ─► query ─► find ─┬─ outside: a job ─► thread: transfer ─► worker: remove_moved
//!                             └─ in EXEC or a script: transfer, remove
//! ```
//!
//! `migrations` has the picture of the whole, and why no write is lost. In EXEC and in scripts the
//! command keeps all clients waiting, as in Redis: the transaction is not over before it ends.
//!
//! Read in this order: `query`, this file, `transfer`, `target`.

mod query;
mod target;
mod transfer;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::net::threads;
use crate::notice::key_events::KeyChanges;
use crate::request::key_version::KeyVersion;
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;
use crate::shared::migrations::{MigrationEnd, MigrationJob, MovingKey};
use skein_data::{EngineKeys, EngineWriter, Ticket, name_within};

use super::{AfterCommand, CommandContext, CommandError, CommandResult, QUOTED_BYTES_MAX, quoted};
pub(crate) use query::MigrationQuery;

const FAILED: CommandError = CommandError::text(
    "ERR the migration has failed by a bug of the server, which is in its log; the keys are kept here",
);

/// Returns the keys of a request that are present.
pub(crate) fn find(
    context: &mut CommandContext,
    query: &MigrationQuery,
    args: &Args,
) -> CommandResult<Vec<MovingKey>> {
    let mut found = Vec::new();
    for key in query.keys.clone().map(|at| args.get(at)) {
        let version = context.look_up(key, |row| row.map(|row| row.map(KeyVersion::of)))?;
        found.extend(version.map(|version| MovingKey { key: key.to_vec(), version }));
    }
    Ok(found)
}

/// Replies that there is nothing to move.
pub(crate) fn reply_no_key(reply: &mut Reply) {
    reply.simple("NOKEY");
}

/// Moves keys while all clients wait. REQUIRES: no other worker runs requests.
pub(super) fn at_once(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let query = MigrationQuery::parse(args)?;
    let keys = find(context, &query, args)?;
    if keys.is_empty() {
        reply_no_key(reply);
        return Ok(AfterCommand::Done);
    }
    let (acknowledged, result) =
        transfer::transfer(context.shared, &mut context.session, &query.target, &keys);
    if !query.copy {
        let removed = acknowledged.iter().map(|at| &keys[*at].key[..]);
        context.write(|writer| remove_all(writer, removed))?;
    }
    result?;
    reply.ok();
    Ok(AfterCommand::Done)
}

fn remove_all<'k>(writer: &mut EngineWriter, keys: impl Iterator<Item = &'k [u8]>) -> CommandResult<()> {
    for key in keys {
        writer.remove(key)?;
    }
    Ok(())
}

/// Starts a job on a thread.
pub(crate) fn start(shared: &Arc<ServerShared>, job: MigrationJob) {
    if !shared.data.migrations.add(job) {
        return;
    }
    let of_thread = Arc::clone(shared);
    let started = threads::spawn("skein-migrate".to_owned(), move || {
        while let Some(job) = of_thread.data.migrations.next() {
            let end = run(&of_thread, job);
            of_thread.workers.mailboxes[end.who.worker].send(|mail| mail.migrated.push(end));
        }
    });
    if let Err(error) = started {
        let fault = CommandError::owned(format!("ERR no thread can be started to move the keys: {error}"));
        for MigrationJob { who, copy, keys, .. } in shared.data.migrations.thread_refused() {
            let end = MigrationEnd { who, copy, keys, acknowledged: Vec::new(), result: Err(fault.clone()) };
            shared.workers.mailboxes[who.worker].send(|mail| mail.migrated.push(end));
        }
    }
}

fn run(shared: &ServerShared, job: MigrationJob) -> MigrationEnd {
    let MigrationJob { who, target, copy, keys } = job;
    // Without an end, writes to the keys would wait for ever.
    let transferred = catch_unwind(AssertUnwindSafe(|| {
        let mut session = shared.data.store.session();
        session.freeze();
        transfer::transfer(shared, &mut session.keys(), &target, &keys)
    }));
    let (acknowledged, result) = transferred.unwrap_or_else(|_| {
        tracing::error!("a thread of MIGRATE panicked");
        (Vec::new(), Err(FAILED))
    });
    MigrationEnd { who, copy, keys, acknowledged, result }
}

/// Removes the keys that the target has acknowledged, unless they have changed. Returns the ticket
/// of the reply. REQUIRES: no other worker runs requests, and this worker may write.
pub(crate) fn remove_moved(
    keys: &mut EngineKeys,
    end: &MigrationEnd,
    changes: &mut KeyChanges,
) -> (CommandResult<()>, Ticket) {
    if end.copy {
        return (end.result.clone(), Ticket::default());
    }
    let (mut unchanged, mut result) = (Vec::new(), Ok(()));
    for MovingKey { key, version } in end.acknowledged.iter().map(|at| &end.keys[*at]) {
        match KeyVersion::read(keys, key) {
            Ok(now) if now == *version => unchanged.push(&key[..]),
            // It has expired, or memory was short.
            Ok(KeyVersion::Absent(_)) => {}
            Ok(_) => result = result.and(Err(changed(key))),
            Err(error) => result = result.and(Err(error.into())),
        }
    }
    let watch = changes.begin_removal(keys, unchanged.iter().copied());
    let (removed, ticket) = keys.write(|writer| remove_all(writer, unchanged.iter().copied()));
    let removed = removed.map_err(CommandError::from).and_then(|removed| removed);
    changes.end(watch, keys, removed.is_ok());
    (removed.and(result).and(end.result.clone()), ticket)
}

/// Returns the error for a key that was written although it moved.
fn changed(key: &[u8]) -> CommandError {
    let name = String::from_utf8_lossy(quoted(name_within(key), QUOTED_BYTES_MAX)).into_owned();
    CommandError::owned(format!(
        "ERR the key '{name}' was changed here while it moved, so it stays here, and the target has its earlier \
         contents; move it again with REPLACE"
    ))
}
