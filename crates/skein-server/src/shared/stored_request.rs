//! Requests in the form in which they run: with the keys that the store has for their names.
//!
//! ```text
//!   client of database 3:   LMOVE from to LEFT RIGHT
//!   rights, MONITOR, …      see this
//!   the handler             LMOVE <3>from <3>to LEFT RIGHT        <3>: the prefix of the keyspace
//!   COPY a b DB 5           COPY <3>a <5>b DB 5
//!   MOVE a 5                MOVE <3>a 5 <5>a                      one more argument
//! ```
//!
//! Ranges are in the names of the keyspace instead (`skein_data::EngineKeys::scan`). Every place
//! that writes a key into a reply or a message uses `skein_data::name_within`.

use skein_data::StoredKeyspace;

use crate::clients::client::ClientState;
use crate::command_table::{Command, Flag};
use crate::planted_bugs;
use crate::request::command_error::{ARGUMENTS_TOO_LONG, CommandError};
use crate::request::databases::parse_database;
use crate::request::moved_keys::places_of;
use crate::resp::{ArgList, Args};
use crate::shared::exclusion_gate::StableDatabases;

/// The stored form of a request. Its memory is used again.
#[derive(Debug, Default)]
pub(crate) struct StoredRequest(ArgList);

impl StoredRequest {
    /// Returns a request with the stored forms of its keys: itself, if they are its names. They
    /// count while the databases are stable, and no longer.
    ///
    /// # Errors
    /// A key is too long to be written.
    #[inline]
    pub(crate) fn of<'s>(
        &'s mut self,
        client: &ClientState,
        command: &'static Command,
        args: &Args<'s>,
        _: StableDatabases<'s>,
    ) -> Result<Args<'s>, CommandError> {
        let keyspace = planted_bugs::take_early().unwrap_or_else(|| client.keyspace());
        if keyspace.is_default() && command.other_database.is_none() {
            return Ok(*args);
        }
        self.rewrite(client, keyspace, command, args)
    }

    #[cold]
    fn rewrite<'s>(
        &'s mut self,
        client: &ClientState,
        keyspace: StoredKeyspace,
        command: &'static Command,
        args: &Args<'s>,
    ) -> Result<Args<'s>, CommandError> {
        let places = places_of(command, args);
        if places.is_empty() {
            return Ok(*args);
        }
        let other = named_database(client, command, args);
        let (stored, mut fits) = (&mut self.0, true);
        stored.clear();
        for (at, arg) in args.from(0).enumerate() {
            if places.binary_search(&at).is_err() {
                fits &= stored.push(arg);
                continue;
            }
            let keyspace = if at == 2 { other.unwrap_or(keyspace) } else { keyspace };
            check_length(client, keyspace, command, arg)?;
            fits &= stored.push(&keyspace.stored(arg));
        }
        // A command that names no key there has it as one more argument.
        if let Some(to) = other.filter(|_| command.keys == (1, 1, 1)) {
            check_length(client, to, command, args.get(1))?;
            fits &= stored.push(&to.stored(args.get(1)));
        }
        if fits { stored.args().ok_or(ARGUMENTS_TOO_LONG) } else { Err(ARGUMENTS_TOO_LONG) }
    }
}

/// Returns the keyspace of the other database to which a request writes, if it names a valid one.
fn named_database(client: &ClientState, command: &Command, args: &Args) -> Option<StoredKeyspace> {
    let number = command.other_database?(args)?;
    let database = parse_database(number, client.databases().count()).ok()?;
    Some(client.databases().keyspace(database))
}

/// Refuses a key that is too long for its database to a command that may write it.
fn check_length(
    client: &ClientState,
    keyspace: StoredKeyspace,
    command: &Command,
    name: &[u8],
) -> Result<(), CommandError> {
    let most = client.databases().name_bytes_max(keyspace);
    if name.len() <= most || keyspace.is_default() || !command.has(Flag::DenyOom) {
        return Ok(());
    }
    Err(CommandError::owned(format!(
        "ERR the key has {} bytes, and keys of a database that is not stored as database 0 have at most {most}, \
         because {} of the limit are a prefix; use a shorter key or database 0",
        name.len(),
        keyspace.prefix_bytes()
    )))
}
