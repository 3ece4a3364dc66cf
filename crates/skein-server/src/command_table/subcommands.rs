//! The row of a subcommand. It stands in the table of its command.

use super::flags::CommandFlags;
use super::key_specs::{KeyBegin, KeyFind, KeySpec, KeySpecs};
use super::{Command, is};
use crate::commands::while_busy::BusyHandler;

/// All facts about a subcommand.
#[derive(Clone, Copy)]
pub(crate) struct Subcommand {
    /// In lower case.
    pub name: &'static str,
    /// The command's number of arguments, including itself and the subcommand. If negative, the
    /// minimum.
    pub arity: i32,
    pub flags: CommandFlags,
    pub summary: &'static str,
    /// The arguments, in the notation of `notation`.
    pub syntax: &'static str,
    /// Redis's tips for clients and proxies: words.
    pub tips: &'static str,
    pub key_specs: KeySpecs,
    /// Replies while a script keeps the server busy.
    pub while_busy: Option<BusyHandler>,
}

/// Returns the row of a subcommand.
pub(crate) const fn subcommand(name: &'static str, arity: i32, flags: &str) -> Subcommand {
    Subcommand {
        name,
        arity,
        flags: CommandFlags::named(flags),
        summary: "",
        syntax: "",
        tips: "",
        key_specs: KeySpecs::NONE,
        while_busy: None,
    }
}

/// The subcommand HELP, which is the same for all commands.
pub(crate) const HELP: Subcommand = subcommand("help", 2, "loading stale").docs("Prints a help text", "");

impl Subcommand {
    pub(crate) const fn docs(self, summary: &'static str, syntax: &'static str) -> Self {
        Self { summary, syntax, ..self }
    }

    /// Adds properties that only this server has: see [`Flag`](super::Flag).
    pub(crate) const fn also(self, flags: &str) -> Self {
        Self { flags: self.flags.and(CommandFlags::named(flags)), ..self }
    }

    pub(crate) const fn tips(self, tips: &'static str) -> Self {
        Self { tips, ..self }
    }

    /// Says that this argument is a key.
    pub(crate) const fn key(self, at: i32, flags: &'static str) -> Self {
        let find = KeyFind::Range { last: 0, step: 1, limit: 0 };
        let spec = KeySpec { flags, begin: KeyBegin::Index(at), find };
        Self { key_specs: self.key_specs.with(spec), ..self }
    }

    pub(crate) const fn while_busy(self, handler: BusyHandler) -> Self {
        Self { while_busy: Some(handler), ..self }
    }

    /// Returns the name with that of its command, as in `config|get`.
    pub(crate) fn full_name(&self, command: &Command) -> String {
        format!("{}|{}", command.name, self.name)
    }
}

/// Returns the subcommand with this name. Ignores the case.
pub(crate) fn find(known: &'static [Subcommand], name: &[u8]) -> Option<&'static Subcommand> {
    place(known, name).map(|at| &known[at])
}

/// Returns the index of the subcommand with this name. Ignores the case.
pub(crate) fn place(known: &[Subcommand], name: &[u8]) -> Option<usize> {
    known.iter().position(|known| is(name, known.name))
}
