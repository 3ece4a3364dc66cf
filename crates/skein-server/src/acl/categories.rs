//! The categories of commands, with Redis's names. They follow from the flags of a command and from
//! its group, unless its row names others.

use std::fmt;

use crate::command_table::{Command, CommandFlags, Flag, Group, Subcommand};

/// Every category that a rule may name, in Redis's order. Some have no command in this server.
pub(crate) const NAMES: [&str; 21] = [
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

/// A category: an index into [`NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Category(u8);

impl Category {
    /// Returns the category of this name, in any case.
    pub(crate) fn find(name: &[u8]) -> Option<Self> {
        let at = NAMES.iter().position(|known| name.eq_ignore_ascii_case(known.as_bytes()))?;
        Some(Self(at as u8))
    }

    pub(crate) fn name(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.name())
    }
}

/// The categories of a command or a subcommand.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Categories(u32);

impl Categories {
    pub(crate) fn has(self, category: Category) -> bool {
        self.0 >> category.0 & 1 == 1
    }

    /// Returns the categories in Redis's order.
    pub(crate) fn iter(self) -> impl Iterator<Item = Category> {
        (0..NAMES.len() as u8).map(Category).filter(move |category| self.has(*category))
    }

    /// Returns the categories of these names, which spaces separate.
    pub(super) fn named(names: &str) -> Self {
        let found = names.split_ascii_whitespace().filter_map(|name| Category::find(name.as_bytes()));
        Self(found.fold(0, |bits, Category(at)| bits | 1 << at))
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the categories of a command itself. As in Redis, one with subcommands has those of
    /// its row alone.
    pub(super) fn of_command(command: &Command) -> Self {
        if command.subcommands.is_empty() {
            Self::of(command, command.flags)
        } else {
            Self::of_flags(CommandFlags::NONE).and(Self::named(command.categories.unwrap_or_default()))
        }
    }

    /// Returns the categories of a subcommand.
    pub(super) fn of_subcommand(command: &Command, subcommand: &Subcommand) -> Self {
        Self::of(command, subcommand.flags)
    }

    fn of(command: &Command, flags: CommandFlags) -> Self {
        let beside = Self::named(command.categories.unwrap_or(command.group.category()));
        // As in Redis, scripts that only read are not in the category.
        let reads = flags.has(Flag::ReadOnly) && command.group != Group::Scripting;
        Self::of_flags(flags).and(beside).and(Self::named(if reads { "read" } else { "" }))
    }

    fn of_flags(flags: CommandFlags) -> Self {
        let implied = [
            (Flag::Write, "write"),
            (Flag::Admin, "admin dangerous"),
            (Flag::PubSub, "pubsub"),
            (Flag::Blocking, "blocking"),
        ];
        let speed = Self::named(if flags.has(Flag::Fast) { "fast" } else { "slow" });
        let implied = implied.iter().filter(|(flag, _)| flags.has(*flag));
        implied.fold(speed, |all, (_, names)| all.and(Self::named(names)))
    }
}
