//! The handlers of the commands: one row for each row of `command_table`, in the same order.
//!
//! The compiler checks the order: each row repeats the name of its command. A command that is only
//! in one of the two tables does not compile.

mod channels;
mod connection;
mod expiry;
mod geo;
mod hashes;
mod hyperloglog;
mod keys;
mod lists;
mod scripts;
mod server;
mod sets;
mod skein;
mod sorted_sets;
mod standalone;
mod streams;
mod strings;
mod transactions;

use super::Handler;
use super::while_loading::LoadingHandler;
use crate::command_table::{COMMANDS, CommandSpec, RESERVED_KEY};

/// The handlers of a command.
#[derive(Clone, Copy)]
struct CommandHandlers {
    handler: Handler,
    /// Replies while the data is still loading. With `None` the command replies LOADING then.
    early: Option<LoadingHandler>,
}

/// A row of a family's file.
struct HandlerRow {
    name: &'static str,
    handlers: CommandHandlers,
}

const fn row(name: &'static str, handler: Handler) -> HandlerRow {
    HandlerRow { name, handlers: CommandHandlers { handler, early: None } }
}

impl HandlerRow {
    /// Returns the row with a handler for the time while the data is loading.
    const fn early(mut self, early: LoadingHandler) -> Self {
        self.handlers.early = Some(early);
        self
    }
}

/// The families, in the order of the table.
const FAMILIES: [&[HandlerRow]; 17] = [
    strings::HANDLERS,
    hashes::HANDLERS,
    keys::HANDLERS,
    expiry::HANDLERS,
    connection::HANDLERS,
    server::HANDLERS,
    skein::HANDLERS,
    sorted_sets::HANDLERS,
    sets::HANDLERS,
    lists::HANDLERS,
    streams::HANDLERS,
    hyperloglog::HANDLERS,
    geo::HANDLERS,
    channels::HANDLERS,
    transactions::HANDLERS,
    scripts::HANDLERS,
    standalone::HANDLERS,
];

/// The handlers by [`CommandSpec::number`]. They are small and lie side by side, so those of the
/// frequent commands are in few cache lines.
static HANDLERS: [CommandHandlers; COMMANDS.len()] = {
    let mut all = [FAMILIES[0][0].handlers; COMMANDS.len()];
    let (mut at, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut i = 0;
        while i < FAMILIES[family].len() {
            let row = &FAMILIES[family][i];
            assert!(is_same(row.name, COMMANDS[at].name), "the handlers are in another order than the table");
            all[at] = row.handlers;
            (at, i) = (at + 1, i + 1);
        }
        family += 1;
    }
    assert!(at == COMMANDS.len(), "a command of the table has no handler");
    all
};

const fn is_same(name: &str, other: &str) -> bool {
    let (name, other) = (name.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < name.len() && at < other.len() && name[at] == other[at] {
        at += 1;
    }
    at == name.len() && at == other.len()
}

/// A tag with a mark is the index of no command.
const _: () = assert!(COMMANDS.len() < RESERVED_KEY as usize);

/// Returns the handler of a request with this tag, or `None` if the command is unknown or has
/// another number of arguments.
#[inline]
pub(crate) fn handler_of(tag: u16) -> Option<Handler> {
    HANDLERS.get(usize::from(tag)).map(|command| command.handler)
}

impl CommandSpec {
    /// Returns the handler of the command.
    #[inline]
    pub(crate) fn handler(&self) -> Handler {
        HANDLERS[usize::from(self.number)].handler
    }

    /// Returns whether the command itself may write. PFCOUNT may, although it has the flag of
    /// reads: it keeps the count in the value.
    pub(crate) fn may_write(&self) -> bool {
        self.has_flag("write")
            || matches!(self.handler(), Handler::Write(_) | Handler::WriteRun(_))
            || self.name == "pfcount"
    }

    /// Returns the handler for the time while the data is still loading, if there is one.
    pub(crate) fn early(&self) -> Option<LoadingHandler> {
        HANDLERS[usize::from(self.number)].early
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_table::ResolvedTag;

    #[test]
    fn only_tags_of_right_requests_have_a_handler() {
        for tag in 0..=u16::MAX {
            let is_right = matches!(ResolvedTag::of(tag), ResolvedTag::Command(_));
            assert_eq!(handler_of(tag).is_some(), is_right, "{tag}");
        }
    }

    #[test]
    fn batched_commands_have_a_key() {
        for command in &COMMANDS {
            let batched = matches!(
                command.handler(),
                Handler::Read(_)
                    | Handler::Peek(_)
                    | Handler::ReadOneOrMany(..)
                    | Handler::PeekOneOrMany(..)
                    | Handler::ReadOrSlices(..)
                    | Handler::Write(_)
                    | Handler::WriteRun(_)
                    | Handler::WriteOrSlices(..)
            );
            if batched {
                assert!(command.keys.0 == 1 && command.arity.abs() >= 2, "{}", command.name);
            }
        }
    }

    /// Incident: the commands that run while the data is loading were a separate list, which could
    /// contradict this table. Fix: like Redis, the server runs the commands that the table flags as
    /// `loading`. The exceptions, which cannot run yet, are named here.
    #[test]
    fn what_is_answered_early_is_flagged_so() {
        // Redis flags each subcommand instead of the command.
        const BY_SUBCOMMAND: [&str; 1] = ["client"];
        const NEEDS_DATA: &[&str] =
            &["debug", "discard", "exec", "lastsave", "monitor", "multi", "unwatch", "watch"];
        // A loading connection has no worker that could deliver a message.
        let needs_data =
            |command: &CommandSpec| NEEDS_DATA.contains(&command.name) || command.group == "pubsub";
        for command in COMMANDS.iter().filter(|command| !BY_SUBCOMMAND.contains(&command.name)) {
            let flagged = command.has_flag("loading");
            let expected = flagged && !needs_data(command);
            assert_eq!(command.early().is_some(), expected, "{}", command.name);
            assert!(flagged || !NEEDS_DATA.contains(&command.name), "{}", command.name);
        }
    }
}
