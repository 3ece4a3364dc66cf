//! The categories of commands, with Redis's names, and the commands in each.

use std::fmt;

use crate::command_table::CommandSpec;

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
        let each = names.split_ascii_whitespace().map(|name| (name, true));
        Self::of(&each.collect::<Vec<_>>())
    }

    fn of(names: &[(&str, bool)]) -> Self {
        let chosen = names.iter().filter(|(_, of_it)| *of_it);
        Self(
            chosen
                .filter_map(|(name, _)| Category::find(name.as_bytes()))
                .fold(0, |bits, Category(at)| bits | 1 << at),
        )
    }
}

/// Commands whose group is wrong about `@keyspace`: those to add (`KEYSPACE`) and those to remove.
const KEYSPACE: &[&str] = &["dbsize", "flushall", "flushdb", "restore-asking", "swapdb"];
const NO_KEYSPACE: &[&str] = &["object", "sort", "sort_ro", "wait", "waitaof"];
/// Commands on lists, sets and sorted sets.
const SORTS: &[&str] = &["sort", "sort_ro"];
/// Commands that are dangerous without being `@admin`.
const DANGEROUS: &[&str] = &[
    "flushall",
    "flushdb",
    "info",
    "keys",
    "restore",
    "restore-asking",
    "sk.delrange",
    "sort",
    "sort_ro",
    "swapdb",
];
const CONNECTION: &[&str] = &["command", "wait", "waitaof"];
const NO_CONNECTION: &[&str] = &["client"];
/// Subcommands for administrators. A name that ends in `|` means all of its subcommands except
/// HELP.
const ADMIN: &[&str] = &[
    "acl|",
    "client|kill",
    "client|list",
    "client|no-evict",
    "client|pause",
    "client|unblock",
    "client|unpause",
    "config|",
    "latency|",
    "slowlog|",
];
/// Subcommands that write.
const WRITE: &[&str] = &["function|delete", "function|flush", "function|load", "function|restore"];
/// Subcommands of those commands that are open to all users.
const NO_ADMIN: &[&str] = &["acl|cat", "acl|genpass", "acl|whoami"];

/// Returns the categories of a command itself. For commands of Redis, `redis_names` has them instead.
pub(super) fn of_command(command: &CommandSpec) -> Categories {
    let admin = command.has_flag("admin") || command.name == "lastsave";
    let named = |names: &[&str]| names.contains(&command.name);
    let group = |name: &str| command.group == name;
    Categories::of(&[
        ("keyspace", (group("generic") && !named(NO_KEYSPACE)) || named(KEYSPACE)),
        ("read", command.has_flag("readonly") && !group("scripting")),
        ("write", command.has_flag("write")),
        ("set", group("set") || named(SORTS)),
        ("sortedset", group("sorted-set") || named(SORTS)),
        ("list", group("list") || named(SORTS)),
        ("hash", group("hash")),
        ("string", group("string")),
        ("bitmap", group("bitmap")),
        ("hyperloglog", group("hyperloglog")),
        ("geo", group("geo")),
        ("pubsub", group("pubsub")),
        ("admin", admin),
        ("fast", command.has_flag("fast")),
        ("slow", !command.has_flag("fast")),
        ("blocking", command.has_flag("blocking")),
        ("dangerous", admin || named(DANGEROUS)),
        ("connection", (group("connection") && !named(NO_CONNECTION)) || named(CONNECTION)),
        ("transaction", group("transactions")),
        // Redis puts subcommands into the category instead of their commands.
        ("scripting", group("scripting") && command.subcommands.is_empty()),
    ])
}

/// Returns the categories of a subcommand that Redis does not have. As in Redis, all of them are slow.
pub(super) fn of_subcommand(command: &CommandSpec, subcommand: &str) -> Categories {
    let full = format!("{}|{subcommand}", command.name);
    let named = |names: &[&str]| {
        let of_all = |name: &&&str| name.ends_with('|') && full.starts_with(**name) && subcommand != "help";
        names.contains(&&*full) || names.iter().any(|name| of_all(&name))
    };
    let admin = named(ADMIN) && !named(NO_ADMIN);
    let object = command.name == "object";
    let connection = command.group == "connection" || CONNECTION.contains(&command.name);
    Categories::of(&[
        ("keyspace", object),
        ("pubsub", command.group == "pubsub"),
        ("read", (object && subcommand != "help") || full == "memory|usage"),
        ("admin", admin),
        ("slow", true),
        ("dangerous", admin),
        ("connection", connection),
        ("write", named(WRITE)),
        ("scripting", command.group == "scripting"),
    ])
}
