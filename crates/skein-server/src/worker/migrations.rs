//! MIGRATE on the client's worker: starts the migration, holds writes to its keys back, and removes the
//! keys at its end (see `crate::shared::migrations`).

use std::sync::Arc;
use std::time::Instant;

use crate::clients::client::{ClientState, Multi};
use crate::clients::client_registry::ClientLocation;
use crate::command_table::request_keys::keys_of;
use crate::commands::migrate::{MigrationQuery, find, remove_moved, reply_no_key};
use crate::commands::scripts::ScriptCall;
use crate::commands::{AfterCommand, Command, CommandError, ResolvedTag, observed};
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;
use crate::shared::exclusion_gate::StableDatabases;
use crate::shared::migrations::{MigrationJob, Migrations};
use crate::shared::stored_request::StoredRequest;
use skein_data::Ticket;

use super::Worker;
use super::blocking::may_wake_someone;
use super::connections::WorkerConnections;
use super::general::GeneralContext;
use super::ring::{Alone, AloneKeys, HELD_BACK};

/// Returns whether a write must not run in a batch: it may wake a waiting client, or write a key that
/// moves.
pub(super) fn must_leave_batch(
    shared: &ServerShared,
    client: &ClientState,
    command: &'static Command,
    names: &Args,
    stable: StableDatabases<'_>,
) -> bool {
    may_wake_someone(&shared.notices.waiting, client, command, names)
        || names_moving_key(&shared.data.migrations, client, command, names, stable)
}

/// Returns whether a request may write a key that moves, so that it must wait. Scripts may write any
/// key.
pub(super) fn writes_moving_key(
    shared: &ServerShared,
    client: &ClientState,
    tag: u16,
    args: &Args,
    stable: StableDatabases<'_>,
) -> bool {
    let ResolvedTag::Command(command) = ResolvedTag::of(tag) else { return false };
    if let Some(multi) = &client.multi {
        return command.plan.is_exec() && queue_writes_moving_key(shared, multi);
    }
    match command.plan.script() {
        Some(kind) => ScriptCall::would_write(kind, shared, args),
        None => names_moving_key(&shared.data.migrations, client, command, args, stable),
    }
}

/// Does the same as [`moves`] with the names that a client has sent.
fn names_moving_key(
    migrations: &Migrations,
    client: &ClientState,
    command: &'static Command,
    names: &Args,
    stable: StableDatabases<'_>,
) -> bool {
    let mut stored = StoredRequest::default();
    // A request with a wrong key fails.
    migrations.moving.any()
        && stored.of(client, command, names, stable).is_ok_and(|args| moves(migrations, command, &args))
}

/// Returns whether a command that writes names a key of the store that moves, or writes keys without
/// naming them.
pub(super) fn moves(migrations: &Migrations, command: &Command, args: &Args) -> bool {
    migrations.moving.any() && writes_keys(command, args, |keys| migrations.moving.has_any(keys))
}

/// Returns whether a command writes keys of which `count` is true, or writes keys without naming them.
fn writes_keys(command: &Command, args: &Args, count: impl FnOnce(&[&[u8]]) -> bool) -> bool {
    command.may_write
        && (!command.names_keys() || keys_of(command, args).is_some_and(|keys| count(&keys.all())))
}

/// Returns whether a queued request may write a key that moves. Requests before it may select another
/// database, so keys of this name count in each.
pub(super) fn queue_writes_moving_key(shared: &ServerShared, multi: &Multi) -> bool {
    multi.requests().any(|(command, args)| {
        let moves = |names: &[&[u8]]| shared.data.migrations.moving.has_any_name(names);
        match command.plan.script() {
            Some(kind) => ScriptCall::would_write(kind, shared, &args),
            None => writes_keys(command, &args, moves),
        }
    })
}

impl GeneralContext<'_> {
    /// MIGRATE: finds the keys, and holds writes to them back until the migration has ended.
    pub(super) fn start_migration(
        &mut self,
        command: &'static Command,
        client: &mut ClientState,
        slot: usize,
        names: &Args,
        reply: &mut Reply,
    ) -> Result<(AfterCommand, Ticket), CommandError> {
        let query = MigrationQuery::parse(names)?;
        let alone = Alone::wait(&mut self.pass, self.shared)?;
        let mut stored = StoredRequest::default();
        let admitted = alone.admit(&mut stored, (command, names), client, self.session)?;
        let Some((args, mut ring)) = admitted else { return Ok(HELD_BACK) };
        let who = ClientLocation { worker: self.worker, slot, client: client.id };
        let (keys, ticket) = ring.run(self.session, AloneKeys::Reads, client, |context| {
            observed::run(context, command, &args, |context| find(context, &query, &args))
        })?;
        if keys.is_empty() {
            reply_no_key(reply);
            return Ok((AfterCommand::Done, ticket));
        }
        let MigrationQuery { target, copy, .. } = query;
        if !copy {
            self.shared.data.migrations.moving.hold(&keys);
        }
        Ok((AfterCommand::Migrate(Box::new(MigrationJob { who, target, copy, keys })), ticket))
    }
}

impl Worker {
    /// Ends the migrations that their target has answered: removes their keys, and replies. They
    /// wait while a pause or a script holds writes back.
    pub(super) fn end_migrations(&mut self) {
        if self.connections.migrated.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let mut pass = shared.workers.gate.enter(self.connections.number);
        while !self.connections.migrated.is_empty()
            && shared.clients.pause.now().is_none()
            && let Ok(alone) = Alone::wait(&mut pass, &shared)
            && let Some(end) = self.connections.migrated.pop()
            && let Some(mut ring) = alone.begin(false, end.who.client, &mut self.session)
        {
            let (result, ticket) = remove_moved(&mut self.session.keys(), &end, &mut ring.changes);
            if shared.notices.waiting.count_needing_keys() > 0 {
                end.keys.iter().for_each(|moved| shared.notices.waiting.note(&moved.key));
            }
            ring.end(&mut self.session);
            if !end.copy {
                shared.data.migrations.moving.release(&end.keys);
                // Held requests are checked again.
                shared.workers.wake();
            }
            self.connections.end_wait(end.who, &result, ticket);
        }
        self.connections.holds |= !self.connections.migrated.is_empty();
    }
}

impl WorkerConnections {
    /// Returns whether a stopping worker must still wait for migrations.
    pub(super) fn must_end_migrations(&self) -> bool {
        self.shared.data.migrations.moving.any() && self.stop_at.is_some_and(|end| Instant::now() < end)
    }
}
