//! The kinds of requests that are counted separately: each command, and each subcommand.
//!
//! ```text
//!   get  set  …  client  config  …  │ client|getname  client|id  …  config|get  …
//!   0    1       index in the table   subcommands, in the order of their commands
//! ```

use std::borrow::Cow;

use crate::command_table::{COMMANDS, Command, ResolvedTag, subcommands};
use crate::resp::Args;

/// The number of each command's first subcommand.
static FIRST_SUBCOMMAND: [u16; COMMANDS.len()] = {
    let mut first = [0; COMMANDS.len()];
    let (mut at, mut next) = (0, COMMANDS.len() as u16);
    while at < COMMANDS.len() {
        first[at] = next;
        next += COMMANDS[at].subcommands.len() as u16;
        at += 1;
    }
    first
};

/// The number of kinds.
pub(crate) const KINDS: usize = {
    let last = COMMANDS.len() - 1;
    FIRST_SUBCOMMAND[last] as usize + COMMANDS[last].subcommands.len()
};

/// A command, or a subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CommandKind(u16);

impl CommandKind {
    /// Returns the command of a tag. `REQUIRES:` the command has no subcommands, or the request
    /// names none.
    #[inline]
    pub(crate) fn plain(tag: u16) -> Self {
        Self(tag)
    }

    /// Returns the kind of a request for the command at this index of the table.
    #[inline]
    pub(crate) fn of(place: u16, args: &Args) -> Self {
        let command = &COMMANDS[place as usize];
        if command.subcommands.is_empty() || args.len() < 2 {
            Self(place)
        } else {
            Self::of_subcommand(place, args)
        }
    }

    /// Returns the kind of a request with this tag, also of one that its tag refuses. Returns
    /// `None` for an unknown command.
    pub(crate) fn of_tagged(tag: u16, args: &Args) -> Option<Self> {
        match ResolvedTag::of(tag) {
            ResolvedTag::Unknown => None,
            ResolvedTag::Command(command)
            | ResolvedTag::WrongArity(command)
            | ResolvedTag::ReservedKey(command) => Some(Self::of(command.number, args)),
        }
    }

    #[cold]
    fn of_subcommand(place: u16, args: &Args) -> Self {
        let found = subcommands::place(COMMANDS[place as usize].subcommands, args.get(1));
        Self(found.map_or(place, |at| FIRST_SUBCOMMAND[place as usize] + at as u16))
    }

    /// Returns all kinds.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..KINDS as u16).map(Self)
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the command, and the subcommand if this is one.
    fn parts(self) -> (&'static Command, Option<&'static str>) {
        if let Some(command) = COMMANDS.get(self.index()) {
            return (command, None);
        }
        // A command without subcommands begins where the next one does, so the last one that begins
        // there is right.
        let place = FIRST_SUBCOMMAND.partition_point(|first| *first <= self.0) - 1;
        let at = (self.0 - FIRST_SUBCOMMAND[place]) as usize;
        let command = &COMMANDS[place];
        (command, command.subcommands.get(at).map(|subcommand| subcommand.name))
    }

    pub(crate) fn command(self) -> &'static Command {
        self.parts().0
    }

    /// Returns the name, as in `get` and `config|set`.
    pub(crate) fn name(self) -> Cow<'static, str> {
        match self.parts() {
            (command, None) => command.name.into(),
            (command, Some(subcommand)) => format!("{}|{subcommand}", command.name).into(),
        }
    }

    /// Returns the kinds of this name. For a command with subcommands these are all of them.
    pub(crate) fn named(name: &str) -> Vec<Self> {
        let is_it = |kind: &Self| {
            let own = kind.name();
            own.eq_ignore_ascii_case(name) || kind.command().name.eq_ignore_ascii_case(name)
        };
        Self::all().filter(is_it).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_name() {
        let mut names: Vec<_> = CommandKind::all().map(CommandKind::name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for name in ["get", "config", "config|set", "client|list", "slowlog|get"] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
        let subcommands: usize = COMMANDS.iter().map(|command| command.subcommands.len()).sum();
        assert_eq!(count, COMMANDS.len() + subcommands);
    }

    #[test]
    fn a_command_stands_for_its_subcommands() {
        let names = |name| {
            CommandKind::named(name).into_iter().map(|kind| kind.name().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names("GET"), ["get"]);
        assert_eq!(names("Config|Get"), ["config|get"]);
        assert!(names("config").len() > 4);
        assert!(names("nope").is_empty());
    }
}
