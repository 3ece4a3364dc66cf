//! Numbers for commands and subcommands, and sets of these numbers.
//!
//! ```text
//!   get  set  ...  client  client|id  client|getname  ...  config  config|get │ psync  replconf  sync
//!   0    1         60      61         62                   80      81         │ 300    301       302
//!                                                            in this server ──┴── in Redis 7.0 only
//! ```
//!
//! Rules may name commands of Redis that this server does not have (`OF_REPLICAS`), so that the
//! users of a Redis can be loaded. Such a command has a number after all others, and no row in the
//! table.

use std::sync::LazyLock;

use super::categories::{Categories, Category};
use crate::command_table::{COMMANDS, Command, OF_REPLICAS, find, subcommands};
use crate::resp::Args;

/// A command or a subcommand, as rules name it.
#[derive(Debug)]
struct CommandIdEntry {
    name: String,
    categories: Categories,
}

#[derive(Debug)]
struct CommandIds {
    /// The number of each command: those of the table by their index, then those of Redis only. The
    /// numbers of its subcommands follow it.
    first: Vec<usize>,
    entries: Vec<CommandIdEntry>,
}

impl CommandIds {
    fn add(&mut self, name: String, categories: Categories) {
        self.entries.push(CommandIdEntry { name, categories });
    }

    /// Returns the number after that of the last subcommand of a command.
    fn end(&self, command: usize) -> usize {
        self.first.get(command + 1).copied().unwrap_or(self.entries.len())
    }

    /// Returns the command of this name, which only Redis has.
    fn find_absent(&self, name: &[u8]) -> Option<usize> {
        (COMMANDS.len()..self.first.len())
            .find(|command| self.entries[self.first[*command]].name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Returns the index of a subcommand.
    fn subcommand(&self, command: usize, name: &[u8]) -> Option<usize> {
        let first = self.first[command] + 1;
        self.entries[first..self.end(command)].iter().position(|entry| {
            let own = entry.name.split_once('|').map_or("", |(_, own)| own);
            own.as_bytes().eq_ignore_ascii_case(name)
        })
    }
}

static IDS: LazyLock<CommandIds> = LazyLock::new(|| {
    let mut ids = CommandIds { first: Vec::with_capacity(COMMANDS.len()), entries: Vec::new() };
    for command in &COMMANDS {
        ids.first.push(ids.entries.len());
        ids.add(command.name.to_owned(), Categories::of_command(command));
        for subcommand in command.subcommands {
            ids.add(subcommand.full_name(command), Categories::of_subcommand(command, subcommand));
        }
    }
    for name in OF_REPLICAS {
        ids.first.push(ids.entries.len());
        ids.add(name.to_owned(), Categories::named("admin dangerous slow"));
    }
    ids
});

/// A command with all of its subcommands, or one subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommandTarget {
    /// The command's index in the table. Greater for a command that only Redis has.
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
        let command = find(command).or_else(|| IDS.find_absent(command))?;
        let subcommand = match subcommand {
            None => None,
            Some(name) => Some(IDS.subcommand(command, name)?),
        };
        Some(Self { command, subcommand })
    }

    /// Returns the target of this name if this server has it.
    pub(crate) fn find_present(name: &[u8]) -> Option<Self> {
        Self::find(name).filter(|target| target.command < COMMANDS.len())
    }

    /// Returns all commands and subcommands of this server, each command before its subcommands.
    pub(crate) fn all_present() -> impl Iterator<Item = Self> {
        (0..COMMANDS.len()).flat_map(|command| {
            let parts = (0..COMMANDS[command].subcommands.len()).map(Some);
            std::iter::once(None).chain(parts).map(move |subcommand| Self { command, subcommand })
        })
    }

    /// Returns whether the command has subcommands.
    pub(crate) fn has_subcommands(self) -> bool {
        IDS.end(self.command) > IDS.first[self.command] + 1
    }

    /// Returns whether the command has this subcommand.
    pub(crate) fn has_subcommand(self, name: &[u8]) -> bool {
        IDS.subcommand(self.command, name).is_some()
    }

    /// Returns the command at this index of the table, with all of its subcommands.
    pub(crate) fn whole(command: usize) -> Self {
        Self { command, subcommand: None }
    }

    /// Returns the target of a request for the command at this index of the table.
    pub(crate) fn of(command: usize, args: &Args) -> Self {
        let known = COMMANDS[command].subcommands;
        let named = !known.is_empty() && args.len() > 1;
        Self { command, subcommand: if named { subcommands::place(known, args.get(1)) } else { None } }
    }

    /// Returns the row of the command. REQUIRES: the server has it.
    pub(crate) fn row(self) -> &'static Command {
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
        if self.subcommand.is_some() { first..first + 1 } else { first..IDS.end(self.command) }
    }
}

/// Returns the names of all commands and subcommands of this server in a category, in the order of
/// the table.
pub(crate) fn names_in(category: Category) -> Vec<&'static str> {
    let present = &IDS.entries[..IDS.first.get(COMMANDS.len()).copied().unwrap_or(IDS.entries.len())];
    present.iter().filter(|entry| entry.categories.has(category)).map(|entry| &*entry.name).collect()
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
