//! The subcommand of a request.
//!
//! ```text
//!   row of the table ─► subcommands ─┬─► worker: a request with an unknown subcommand
//!                                    │   is neither run nor queued
//!                                    └─► handler: which subcommand is it
//! ```

use super::{CommandError, CommandSpec, QUOTED_BYTES_MAX, quoted, takes};
use crate::command_table::subcommands::{Subcommands, find};
use crate::resp::{ReplyWriter, RequestArgs};

/// Returns the subcommand in argument 1 of a request.
///
/// # Errors
/// If the name is unknown or the number of arguments is wrong.
pub(super) fn subcommand(
    command: &str,
    known: Subcommands,
    args: &RequestArgs<'_>,
) -> Result<&'static str, CommandError> {
    let given = args.get(1);
    match find(known, given) {
        Some((name, wanted)) if takes(wanted, args.len()) => Ok(name),
        Some((name, _)) => Err(CommandError::wrong_arity(&format!("{command}|{name}"))),
        None => {
            let mut text = b"ERR unknown subcommand '".to_vec();
            text.extend_from_slice(quoted(given, QUOTED_BYTES_MAX));
            text.extend_from_slice(format!("'. Try {} HELP.", command.to_ascii_uppercase()).as_bytes());
            Err(CommandError::owned(text))
        }
    }
}

impl CommandSpec {
    /// Checks the subcommand of a request, if the command has subcommands and the request has an
    /// argument.
    ///
    /// # Errors
    /// See [`subcommand`].
    pub(crate) fn check_subcommand(&self, args: &RequestArgs<'_>) -> Result<(), CommandError> {
        if self.subcommands.is_empty() || args.len() == 1 {
            return Ok(());
        }
        subcommand(self.name, self.subcommands, args).map(drop)
    }
}

/// Returns the error for an unknown subcommand or a wrong number of arguments. For commands that
/// check their subcommand themselves.
pub(super) fn unknown_or_wrong(command: &str, args: &RequestArgs<'_>) -> CommandError {
    let before = &b"ERR unknown subcommand or wrong number of arguments for '"[..];
    let after = format!("'. Try {} HELP.", command.to_ascii_uppercase());
    let shown = quoted(args.get(1), QUOTED_BYTES_MAX);
    CommandError::owned([before, shown, after.as_bytes()].concat())
}

/// Writes a help text as an array of lines.
pub(super) fn help(lines: &[&str], reply: &mut ReplyWriter<'_>) {
    reply.array(lines.len());
    for line in lines {
        reply.simple(line);
    }
}
