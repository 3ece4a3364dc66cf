//! Subcommands: which ones a command has, and how many arguments it has then.
//!
//! ```text
//!   a row of the table ─► its subcommands ─┬─► the worker: a request that names none of them is neither run nor queued
//!                                          └─► the handler: which one is it
//! ```

use super::{CommandError, CommandSpec, QUOTED_BYTES_MAX, is, quoted, takes};
use crate::resp::{ReplyWriter, RequestArgs};

/// In lower case, with how many arguments the command has then, itself and the subcommand among them; negative: at least as many.
pub(crate) type Subcommands = &'static [(&'static str, i32)];

/// The one of this name, in any case.
pub(super) fn find(known: Subcommands, name: &[u8]) -> Option<(&'static str, i32)> {
    place(known, name).map(|at| known[at])
}

/// Where the one of this name stands, in any case.
pub(crate) fn place(known: Subcommands, name: &[u8]) -> Option<usize> {
    known.iter().position(|(known, _)| is(name, known))
}

/// The one that is named in argument 1 of a request.
///
/// # Errors
/// There is none of this name, or it takes another number of arguments.
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
    /// Checks the subcommand of a request, if the command has any and the request has an argument for it.
    ///
    /// # Errors
    /// As [`subcommand`].
    pub(crate) fn check_subcommand(&self, args: &RequestArgs<'_>) -> Result<(), CommandError> {
        if self.subcommands.is_empty() || args.len() == 1 {
            return Ok(());
        }
        subcommand(self.name, self.subcommands, args).map(drop)
    }
}

/// The subcommand in argument 1 is none, or takes other arguments: what commands say that look for that themselves.
pub(super) fn unknown_or_wrong(command: &str, args: &RequestArgs<'_>) -> CommandError {
    let before = &b"ERR unknown subcommand or wrong number of arguments for '"[..];
    let after = format!("'. Try {} HELP.", command.to_ascii_uppercase());
    let shown = quoted(args.get(1), QUOTED_BYTES_MAX);
    CommandError::owned([before, shown, after.as_bytes()].concat())
}

/// A help text: an array of lines.
pub(super) fn help(lines: &[&str], reply: &mut ReplyWriter<'_>) {
    reply.array(lines.len());
    for line in lines {
        reply.simple(line);
    }
}
