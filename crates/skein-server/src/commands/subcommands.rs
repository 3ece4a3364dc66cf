//! The subcommand of a request.
//!
//! ```text
//!   row of the table ─► subcommands ─┬─► worker: a request with an unknown subcommand
//!                                    │   is neither run nor queued
//!                                    └─► handler: which subcommand is it
//! ```

use super::{Command, CommandError, CommandResult, QUOTED_BYTES_MAX, find, quoted, takes};
use crate::command_table::{COMMANDS, Subcommand};
use crate::resp::{Args, Reply};

/// Returns the name of the subcommand in argument 1 of a request.
///
/// # Errors
/// If the name is unknown or the number of arguments is wrong.
pub(super) fn subcommand(args: &Args<'_>) -> CommandResult<&'static str> {
    let command = find(args.get(0)).map(|index| &COMMANDS[index]);
    command.map_or_else(|| Err(unknown(args)), |command| command.subcommand(args)).map(|found| found.name)
}

/// Returns the error for an unknown subcommand.
fn unknown(args: &Args) -> CommandError {
    let (before, shown) = (&b"ERR unknown subcommand '"[..], quoted(args.get(1), QUOTED_BYTES_MAX));
    CommandError::owned([before, shown, &way_out(args)].concat())
}

/// Returns the end of an error, which names the subcommand HELP.
fn way_out(args: &Args) -> Vec<u8> {
    [b"'. Try ", &*args.get(0).to_ascii_uppercase(), b" HELP."].concat()
}

impl Command {
    /// Returns the subcommand of a request.
    ///
    /// # Errors
    /// See [`subcommand`].
    fn subcommand(&self, args: &Args<'_>) -> CommandResult<&'static Subcommand> {
        let found = self.subcommand_of(args).ok_or_else(|| unknown(args))?;
        if takes(found.arity, args.len()) {
            Ok(found)
        } else {
            Err(CommandError::wrong_arity(&found.full_name(self)))
        }
    }

    /// Checks the subcommand of a request, if the command has subcommands and the request has an
    /// argument.
    ///
    /// # Errors
    /// See [`subcommand`].
    pub(crate) fn check_subcommand(&self, args: &Args) -> CommandResult<()> {
        if self.subcommands.is_empty() || args.len() == 1 {
            return Ok(());
        }
        self.subcommand(args).map(drop)
    }
}

/// Returns the error for an unknown subcommand or a wrong number of arguments. For commands that
/// check their subcommand themselves.
pub(super) fn unknown_or_wrong(args: &Args) -> CommandError {
    let before = &b"ERR unknown subcommand or wrong number of arguments for '"[..];
    CommandError::owned([before, quoted(args.get(1), QUOTED_BYTES_MAX), &way_out(args)].concat())
}

/// Writes a help text as an array of lines.
pub(super) fn help(lines: &[&str], reply: &mut Reply) {
    reply.array_of(lines, |reply, line| reply.simple(line));
}
