//! BITOP: combines several values bit by bit, and stores the result.
//!
//! ```text
//!   first source ─► result ─► combined with one source at a time ─► destination
//! ```
//!
//! The command is exclusive (`Handler::Exclusive`), so it sees all sources at one moment. It holds
//! the result and one source, however many there are. A shorter source counts as followed by zeros.

use super::value_of;
use crate::commands::command_error::SYNTAX;
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult, is};
use crate::resp::{Args, Reply};
use skein_data::RowView;

#[derive(Clone, Copy, PartialEq, Eq)]
enum BitOperation {
    And,
    Or,
    Xor,
    Not,
}

impl BitOperation {
    fn parse(name: &[u8]) -> Option<Self> {
        let known = [("AND", Self::And), ("OR", Self::Or), ("XOR", Self::Xor), ("NOT", Self::Not)];
        known.into_iter().find(|(word, _)| is(name, word)).map(|(_, operation)| operation)
    }

    /// Combines the result with another source.
    fn combine(self, result: &mut Vec<u8>, source: &[u8]) {
        let common = result.len().min(source.len());
        let pairs = result.iter_mut().zip(source);
        match self {
            Self::And => {
                pairs.for_each(|(byte, other)| *byte &= other);
                result[common..].fill(0);
                result.resize(result.len().max(source.len()), 0);
            }
            Self::Or => {
                pairs.for_each(|(byte, other)| *byte |= other);
                result.extend_from_slice(&source[common..]);
            }
            Self::Xor => {
                pairs.for_each(|(byte, other)| *byte ^= other);
                result.extend_from_slice(&source[common..]);
            }
            // It has a single source.
            Self::Not => {}
        }
    }
}

/// Returns the combination of all sources.
fn combined(
    context: &mut CommandContext,
    operation: BitOperation,
    sources: impl Iterator<Item = impl AsRef<[u8]>>,
) -> CommandResult<Vec<u8>> {
    let mut result: Option<Vec<u8>> = None;
    for key in sources {
        context.look_up(key.as_ref(), |row| {
            let value = value_of(row?.map(RowView::row))?.unwrap_or_default();
            match &mut result {
                Some(result) => operation.combine(result, value),
                None => result = Some(value.to_vec()),
            }
            Ok::<_, CommandError>(())
        })?;
    }
    let mut result = result.unwrap_or_default();
    if operation == BitOperation::Not {
        for byte in &mut result {
            *byte = !*byte;
        }
    }
    Ok(result)
}

pub(super) fn bit_op(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let operation = BitOperation::parse(args.get(1)).ok_or(SYNTAX)?;
    if operation == BitOperation::Not && args.len() != 4 {
        return Err(CommandError::text("ERR BITOP NOT must be called with a single source key."));
    }
    let result = combined(context, operation, args.from(3))?;
    context.write(|writer| {
        if result.is_empty() {
            writer.remove(args.get(2)).map(drop)
        } else {
            writer.put(args.get(2), &result)
        }
    })?;
    reply.count(result.len());
    Ok(AfterCommand::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_source_counts_as_followed_by_zeros() {
        for (operation, one, other, expected) in [
            (BitOperation::And, &b"\xff\xf0\x0f"[..], &b"\xf3\xff"[..], &b"\xf3\xf0\0"[..]),
            (BitOperation::And, b"\xff", b"\x0f\xff", b"\x0f\0"),
            (BitOperation::Or, b"\x01\x02\x03", b"\x10", b"\x11\x02\x03"),
            (BitOperation::Or, b"", b"\x10", b"\x10"),
            (BitOperation::Xor, b"\xff", b"\x0f\x0f", b"\xf0\x0f"),
        ] {
            let mut result = one.to_vec();
            operation.combine(&mut result, other);
            assert_eq!(result, expected);
        }
    }
}
