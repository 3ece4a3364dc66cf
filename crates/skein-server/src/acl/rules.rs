//! Rules about commands, and the errors of rules.

use super::categories::Category;
use super::command_ids::CommandTarget;
use super::patterns::is_word;

/// The reason why a rule is refused. The texts are Redis's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AclRuleError {
    #[error("Syntax error")]
    Syntax,
    #[error("Unknown command or category name in ACL")]
    Unknown,
    #[error(
        "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. \
         Try 'resetkeys' to start with an empty list of patterns"
    )]
    AfterAllKeys,
    #[error(
        "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. \
         Try 'resetchannels' to start with an empty list of channels"
    )]
    AfterAllChannels,
    #[error("The password you are trying to remove from the user does not exist")]
    NoSuchPassword,
    #[error(
        "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
    )]
    BadHash,
    #[error("Allowing first-arg of a subcommand is not supported")]
    FirstArgOfSubcommand,
}

/// A rule about commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandRule {
    /// `+get`, `-config|set`
    Named { allowed: bool, target: CommandTarget },
    /// `+@read`, `-@dangerous`
    Category { allowed: bool, category: Category },
    /// `+echo|hello`: only with this first argument, in lower case.
    FirstArg { command: usize, arg: Vec<u8> },
}

impl CommandRule {
    /// Parses a rule that begins with `+` or `-`, except rules about all commands.
    pub(super) fn parse(rule: &[u8]) -> Result<Self, AclRuleError> {
        let (sign, name) = rule.split_first().ok_or(AclRuleError::Syntax)?;
        let allowed = *sign == b'+';
        if let [b'@', category @ ..] = name {
            let category = Category::find(category).ok_or(AclRuleError::Unknown)?;
            return Ok(Self::Category { allowed, category });
        }
        if let Some(target) = CommandTarget::find(name) {
            return Ok(Self::Named { allowed, target });
        }
        let mut parts = name.splitn(2, |byte| *byte == b'|');
        let (command, arg) = (parts.next().unwrap_or_default(), parts.next());
        match (CommandTarget::find(command), arg) {
            (Some(_), Some(b"")) => Err(AclRuleError::Syntax),
            (Some(CommandTarget { command, .. }), Some(arg)) if allowed => Self::first_arg(command, arg),
            _ => Err(AclRuleError::Unknown),
        }
    }

    fn first_arg(command: usize, arg: &[u8]) -> Result<Self, AclRuleError> {
        let target = CommandTarget::whole(command);
        let begin = arg.split(|byte| *byte == b'|').next().unwrap_or_default();
        if target.has_subcommand(begin) {
            return Err(AclRuleError::FirstArgOfSubcommand);
        }
        if target.has_subcommands() || begin.len() < arg.len() {
            return Err(AclRuleError::Unknown);
        }
        if !is_word(arg) {
            return Err(AclRuleError::Syntax);
        }
        Ok(Self::FirstArg { command, arg: arg.to_ascii_lowercase() })
    }

    /// Returns whether an earlier rule has no effect any more after this one.
    pub(super) fn replaces(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Named { target, .. }, Self::Named { target: other, .. }) => {
                target == other || *target == CommandTarget::whole(other.command)
            }
            (Self::Named { target, .. }, Self::FirstArg { command, .. }) => target.command == *command,
            (Self::Category { category, .. }, Self::Category { category: other, .. }) => category == other,
            (Self::Category { category, .. }, Self::FirstArg { command, .. }) => {
                CommandTarget::whole(*command).categories().has(*category)
            }
            _ => false,
        }
    }

    /// Returns whether the rule must be kept although it may change nothing: rules about first
    /// arguments are not checked for effect.
    pub(super) fn must_be_kept(&self) -> bool {
        matches!(self, Self::FirstArg { .. })
    }

    /// Appends the rule as it is written.
    pub(super) fn print(&self, out: &mut Vec<u8>) {
        let sign = |allowed: bool| if allowed { b'+' } else { b'-' };
        match self {
            Self::Named { allowed, target } => {
                out.push(sign(*allowed));
                out.extend_from_slice(target.name().as_bytes());
            }
            Self::Category { allowed, category } => {
                out.push(sign(*allowed));
                out.extend_from_slice(category.to_string().as_bytes());
            }
            Self::FirstArg { command, arg } => {
                out.push(b'+');
                out.extend_from_slice(CommandTarget::whole(*command).name().as_bytes());
                out.push(b'|');
                out.extend_from_slice(arg);
            }
        }
    }
}
