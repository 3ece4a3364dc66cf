//! Numbers for commands and subcommands, and sets of these numbers.
//!
//! ```text
//!   get  set  ...  client  client|id  client|getname  ...  config  config|get
//!   0    1         60      61         62                   80      81
//! ```

use std::sync::LazyLock;

use super::categories::{self, Categories, Category};
use crate::command_table::{COMMANDS, CommandSpec, find, subcommands};
use crate::resp::RequestArgs;

/// A command or a subcommand, as rules name it.
#[derive(Debug)]
struct CommandIdEntry {
    name: String,
    categories: Categories,
}

#[derive(Debug)]
struct CommandIds {
    /// The number of each command, by index in the table. The numbers of its subcommands follow it.
    first: Vec<usize>,
    entries: Vec<CommandIdEntry>,
}

static IDS: LazyLock<CommandIds> = LazyLock::new(|| {
    let mut ids = CommandIds { first: Vec::with_capacity(COMMANDS.len()), entries: Vec::new() };
    for command in &COMMANDS {
        ids.first.push(ids.entries.len());
        let categories = categories::of_command(command);
        ids.entries.push(CommandIdEntry { name: command.name.to_owned(), categories });
        for (name, _) in command.subcommands {
            let categories = categories::of_subcommand(command, name);
            ids.entries.push(CommandIdEntry { name: format!("{}|{name}", command.name), categories });
        }
    }
    ids
});

/// A command with all of its subcommands, or one subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommandTarget {
    /// The command's index in the table.
    pub command: usize,
    /// The index of the subcommand.
    pub subcommand: Option<usize>,
}

impl CommandTarget {
    /// Returns the target of this name, `command` or `command|subcommand`, in any case.
    pub(crate) fn find(name: &[u8]) -> Option<Self> {
        let (command, subcommand) = match name.iter().position(|byte| *byte == b'|') {
            None => (name, None),
            Some(at) => (&name[..at], Some(&name[at + 1..])),
        };
        let command = find(command)?;
        let subcommand = match subcommand {
            None => None,
            Some(name) => Some(subcommands::place(COMMANDS[command].subcommands, name)?),
        };
        Some(Self { command, subcommand })
    }

    /// Returns the command at this index of the table, with all of its subcommands.
    pub(crate) fn whole(command: usize) -> Self {
        Self { command, subcommand: None }
    }

    /// Returns the target of a request, whose command is at this index of the table.
    pub(crate) fn of(command: usize, args: &RequestArgs<'_>) -> Self {
        let known = COMMANDS[command].subcommands;
        let named = !known.is_empty() && args.len() > 1;
        Self { command, subcommand: if named { subcommands::place(known, args.get(1)) } else { None } }
    }

    pub(crate) fn row(self) -> &'static CommandSpec {
        &COMMANDS[self.command]
    }

    pub(crate) fn name(self) -> &'static str {
        &IDS.entries[self.id()].name
    }

    pub(crate) fn categories(self) -> Categories {
        IDS.entries[self.id()].categories
    }

    fn id(self) -> usize {
        IDS.first[self.command] + self.subcommand.map_or(0, |at| at + 1)
    }

    /// Returns the numbers that a rule about this target changes. For a command they include its
    /// subcommands.
    fn ids(self) -> std::ops::Range<usize> {
        let first = self.id();
        let more = if self.subcommand.is_some() { 0 } else { self.row().subcommands.len() };
        first..first + 1 + more
    }
}

/// Returns the names of all commands and subcommands in a category, in the order of the table.
pub(crate) fn names_in(category: Category) -> Vec<&'static str> {
    IDS.entries.iter().filter(|entry| entry.categories.has(category)).map(|entry| &*entry.name).collect()
}

/// A set of commands and subcommands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandSet(Vec<u64>);

impl CommandSet {
    pub(crate) fn none() -> Self {
        Self(vec![0; IDS.entries.len().div_ceil(64)])
    }

    pub(crate) fn all() -> Self {
        let mut set = Self::none();
        (0..IDS.entries.len()).for_each(|id| set.put(id, true));
        set
    }

    pub(crate) fn is_all(&self) -> bool {
        (0..IDS.entries.len()).all(|id| self.at(id))
    }

    fn at(&self, id: usize) -> bool {
        self.0[id / 64] >> (id % 64) & 1 == 1
    }

    fn put(&mut self, id: usize, allowed: bool) {
        let bit = 1 << (id % 64);
        if allowed {
            self.0[id / 64] |= bit;
        } else {
            self.0[id / 64] &= !bit;
        }
    }

    #[inline]
    pub(crate) fn has(&self, target: CommandTarget) -> bool {
        self.at(target.id())
    }

    pub(crate) fn set(&mut self, target: CommandTarget, allowed: bool) {
        target.ids().for_each(|id| self.put(id, allowed));
    }

    pub(crate) fn set_category(&mut self, category: Category, allowed: bool) {
        for (id, entry) in IDS.entries.iter().enumerate() {
            if entry.categories.has(category) {
                self.put(id, allowed);
            }
        }
    }
}

/// Returns whether a category has no command in this server.
pub(crate) fn is_empty(category: Category) -> bool {
    !IDS.entries.iter().any(|entry| entry.categories.has(category))
}
