//! A selector: one set of rights to commands and keys. A user has at least one. A request is
//! allowed if one selector allows all of it.

use std::collections::BTreeSet;

use skein_syntax::KeyRange;

use super::command_ids::{CommandSet, CommandTarget};
use super::patterns::{self, AllKeys, KeyAccess, KeyPattern, is_word};
use super::required_access::{AccessedKeys, accessed_keys};
use super::rules::{AclRuleError, CommandRule};
use crate::command_table::{ChannelArgs, Flag};
use crate::redis::glob::Glob;
use crate::resp::Args;

/// The reason why a request is denied. A greater one is more specific: if one selector denies the
/// command and another denies only the key, the key is reported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Denial {
    /// The command, by its full name.
    Command(&'static str),
    /// A key: its index among the keys, and the key itself.
    Key(usize, Vec<u8>),
    /// A channel, or a pattern of channels.
    Channel(usize, Vec<u8>),
}

/// The channels of a new user, and of a new selector, until a rule names others: Redis's
/// `acl-pubsub-default`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultChannels {
    /// No channel.
    #[default]
    None,
    /// Every channel.
    All,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AclSelector {
    commands: AllowedCommands,
    /// Whether the rules start from all commands, or from none.
    from_all: bool,
    /// The rules about commands since then, one for each command, category or argument named.
    rules: Vec<CommandRule>,
    all_keys: bool,
    keys: Vec<KeyPattern>,
    all_channels: bool,
    channels: Vec<Vec<u8>>,
}

impl AclSelector {
    /// Returns a selector that allows no command and no key.
    pub(crate) fn new(channels: DefaultChannels) -> Self {
        Self {
            commands: AllowedCommands::none(),
            from_all: false,
            rules: Vec::new(),
            all_keys: false,
            keys: Vec::new(),
            all_channels: channels == DefaultChannels::All,
            channels: Vec::new(),
        }
    }

    /// Returns a selector that allows everything.
    pub(crate) fn all() -> Self {
        let mut selector = Self::new(DefaultChannels::All);
        selector.set_all_commands(true);
        selector.all_keys = true;
        selector
    }

    /// Returns whether the selector allows every request.
    pub(super) fn allows_all(&self) -> bool {
        self.allows_all_keys(KeyAccess::BOTH) && self.all_channels && self.commands.set.is_all()
    }

    /// Returns whether the selector allows this access to every key.
    pub(super) fn allows_all_keys(&self, access: KeyAccess) -> bool {
        self.all_keys || self.keys.iter().any(|pattern| pattern.allows_all(access))
    }

    fn set_all_commands(&mut self, allowed: bool) {
        self.commands = if allowed { AllowedCommands::all() } else { AllowedCommands::none() };
        self.from_all = allowed;
        self.rules.clear();
    }

    /// Applies a rule.
    pub(super) fn apply(&mut self, rule: &[u8]) -> Result<(), AclRuleError> {
        let is = |word: &str| rule.eq_ignore_ascii_case(word.as_bytes());
        if is("allkeys") || rule == b"~*" {
            self.set_all_keys();
        } else if is("resetkeys") {
            (self.all_keys, self.keys) = (false, Vec::new());
        } else if is("allchannels") || rule == b"&*" {
            (self.all_channels, self.channels) = (true, Vec::new());
        } else if is("resetchannels") {
            (self.all_channels, self.channels) = (false, Vec::new());
        } else if is("allcommands") || is("+@all") {
            self.set_all_commands(true);
        } else if is("nocommands") || is("-@all") {
            self.set_all_commands(false);
        } else {
            match rule.first() {
                Some(b'~' | b'%') => self.add_keys(rule)?,
                Some(b'&') => self.add_channel(&rule[1..])?,
                Some(b'+' | b'-') => self.add_commands(CommandRule::parse(rule)?),
                _ => return Err(AclRuleError::Syntax),
            }
        }
        Ok(())
    }

    fn set_all_keys(&mut self) {
        (self.all_keys, self.keys) = (true, Vec::new());
    }

    fn add_keys(&mut self, rule: &[u8]) -> Result<(), AclRuleError> {
        if self.all_keys {
            return Err(AclRuleError::AfterAllKeys);
        }
        patterns::add(&mut self.keys, KeyPattern::parse(rule).ok_or(AclRuleError::Syntax)?);
        Ok(())
    }

    fn add_channel(&mut self, pattern: &[u8]) -> Result<(), AclRuleError> {
        if self.all_channels {
            return Err(AclRuleError::AfterAllChannels);
        }
        if !is_word(pattern) {
            return Err(AclRuleError::Syntax);
        }
        if !self.channels.iter().any(|known| known == pattern) {
            self.channels.push(pattern.to_vec());
        }
        Ok(())
    }

    fn add_commands(&mut self, rule: CommandRule) {
        if !self.commands.change(&rule) {
            return;
        }
        self.rules.retain(|earlier| !rule.replaces(earlier));
        self.rules.push(rule);
    }

    /// Removes rules about commands that have no effect.
    pub(super) fn drop_ineffective_rules(&mut self) {
        let mut at = 0;
        while at < self.rules.len() {
            let rule = self.rules.remove(at);
            if rule.must_be_kept() || self.allowed_by_rules() != self.commands {
                self.rules.insert(at, rule);
                at += 1;
            }
        }
    }

    /// Returns the allowed commands that result from the rules.
    fn allowed_by_rules(&self) -> AllowedCommands {
        let mut commands = if self.from_all { AllowedCommands::all() } else { AllowedCommands::none() };
        for rule in &self.rules {
            commands.change(rule);
        }
        commands
    }

    /// Checks whether a request may run.
    ///
    /// # Errors
    /// The reason if it may not.
    pub(super) fn check(&self, target: CommandTarget, args: &Args) -> Result<(), Denial> {
        if !target.row().has(Flag::NoAuth) && !self.commands.allow(target, args) {
            return Err(Denial::Command(target.name()));
        }
        self.check_channels(target, args)?;
        if self.allows_all_keys(KeyAccess::BOTH) {
            return Ok(());
        }
        match accessed_keys(target.command, args) {
            AccessedKeys::Keys(keys) => {
                let allowed = |key: &[u8], access: KeyAccess| {
                    self.keys.iter().any(|pattern| pattern.allows(key, access))
                };
                match keys.iter().position(|(key, access)| !allowed(key, *access)) {
                    Some(at) => Err(Denial::Key(at, keys[at].0.to_vec())),
                    None => Ok(()),
                }
            }
            AccessedKeys::Range(range, name, access) if !self.allows_range(&range, access) => {
                Err(Denial::Key(0, name.to_vec()))
            }
            AccessedKeys::Range(..) => Ok(()),
        }
    }

    /// Checks the channels of a request.
    fn check_channels(&self, target: CommandTarget, args: &Args) -> Result<(), Denial> {
        if self.all_channels {
            return Ok(());
        }
        let (most, literally) = match target.row().channels {
            ChannelArgs::None => return Ok(()),
            ChannelArgs::One => (1, false),
            ChannelArgs::All => (usize::MAX, false),
            ChannelArgs::Patterns => (usize::MAX, true),
        };
        match args.from(1).take(most).position(|name| !self.allows_channel(name, literally)) {
            Some(at) => Err(Denial::Channel(at, args.get(1 + at).to_vec())),
            None => Ok(()),
        }
    }

    /// Returns whether a channel is allowed. A pattern is, if it is one of the allowed patterns
    /// `literally`.
    pub(super) fn allows_channel(&self, name: &[u8], literally: bool) -> bool {
        self.all_channels
            || self.channels.iter().any(|pattern| {
                if literally { pattern == name } else { Glob::new(pattern).matches(name, &mut 0) }
            })
    }

    fn allows_range(&self, range: &KeyRange, access: KeyAccess) -> bool {
        self.keys.iter().any(|pattern| pattern.allows_range(range, access))
    }

    /// Returns the rules about commands as they are written.
    pub(crate) fn print_commands(&self) -> Vec<u8> {
        let mut out = if self.from_all { b"+@all".to_vec() } else { b"-@all".to_vec() };
        for rule in &self.rules {
            out.push(b' ');
            rule.print(&mut out);
        }
        out
    }

    /// Returns the patterns of keys as they are written.
    pub(crate) fn print_keys(&self, all_keys: AllKeys) -> Vec<u8> {
        if self.all_keys {
            return b"~*".to_vec();
        }
        let print = |pattern: &KeyPattern| {
            let mut out = Vec::new();
            pattern.print(all_keys, &mut out);
            out
        };
        self.keys.iter().map(print).collect::<Vec<_>>().join(&b' ')
    }

    /// Returns the patterns of channels as they are written.
    pub(crate) fn print_channels(&self) -> Vec<u8> {
        if self.all_channels {
            return b"&*".to_vec();
        }
        let print = |pattern: &Vec<u8>| [b"&", &**pattern].concat();
        self.channels.iter().map(print).collect::<Vec<_>>().join(&b' ')
    }

    /// Returns rules that create this selector from an empty one.
    pub(crate) fn print(&self, all_keys: AllKeys) -> Vec<u8> {
        let mut parts = vec![self.print_keys(all_keys)];
        if !self.all_channels {
            parts.push(b"resetchannels".to_vec());
        }
        parts.extend([self.print_channels(), self.print_commands()]);
        parts.retain(|part| !part.is_empty());
        parts.join(&b' ')
    }
}

/// The allowed commands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedCommands {
    set: CommandSet,
    /// Commands that are allowed only with certain first arguments: the index in the table and the
    /// argument, as in `+echo|hello`.
    first_args: BTreeSet<(usize, Vec<u8>)>,
}

impl AllowedCommands {
    fn none() -> Self {
        Self { set: CommandSet::none(), first_args: BTreeSet::new() }
    }

    fn all() -> Self {
        Self { set: CommandSet::all(), first_args: BTreeSet::new() }
    }

    /// Applies the rule. Returns whether it must be remembered.
    fn change(&mut self, rule: &CommandRule) -> bool {
        match rule {
            CommandRule::Named { allowed, target } => {
                self.set.set(*target, *allowed);
                self.first_args.retain(|(command, _)| *command != target.command);
            }
            CommandRule::Category { allowed, category } => {
                self.set.set_category(*category, *allowed);
                self.first_args
                    .retain(|(command, _)| !CommandTarget::whole(*command).categories().has(*category));
            }
            CommandRule::FirstArg { command, arg } => {
                return !self.set.has(CommandTarget::whole(*command))
                    && self.first_args.insert((*command, arg.clone()));
            }
        }
        true
    }

    fn allow(&self, target: CommandTarget, args: &Args) -> bool {
        let named = |(command, arg): &(usize, Vec<u8>)| {
            *command == target.command && args.len() > 1 && args.get(1).eq_ignore_ascii_case(arg)
        };
        self.set.has(target) || self.first_args.iter().any(named)
    }
}
