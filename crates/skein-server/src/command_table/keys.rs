//! Commands on keys of any kind, one line each.

use super::{
    ALL, ASKING, CommandSpec, NONE, ONE, READ, READ_FAST, WRITE, WRITE_FAST, WRITE_GROWS, WRITE_MOVABLE, row,
    subcommands,
};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("del", -2, WRITE, ALL, "generic", "Removes keys").removing_waited_keys(),
    row("dump", 2, READ, ONE, "generic", "Returns the contents of a key in Redis's format"),
    row("exists", -2, READ_FAST, ALL, "generic", "Returns how many of the keys exist").timed_together(),
    row("keys", 2, READ, NONE, "generic", "Returns the keys that match a pattern, in order"),
    row("migrate", -6, WRITE_MOVABLE, (3, 3, 1), "generic", "Moves keys to another server").removing_waited_keys(),
    row("move", 3, WRITE_FAST, ONE, "generic", "Moves a key to another database").making_waited_keys(),
    row("object", -2, &[], (2, 2, 1), "generic", "Returns the encoding that Redis would use for a key").with(subcommands::OBJECT),
    row("randomkey", 1, READ, NONE, "generic", "Returns a random key"),
    row("restore", -4, WRITE_GROWS, ONE, "generic", "Makes a key from the reply of DUMP").making_waited_keys().outgrowing_arguments(),
    row("restore-asking", -4, ASKING, ONE, "server", "Makes a key from the reply of DUMP, like RESTORE").making_waited_keys(),
    row("scan", -2, READ, NONE, "generic", "Returns the keys in order, one page at a time"),
    row("touch", -2, READ_FAST, ALL, "generic", "Returns how many of the keys exist").timed_together(),
    row("type", 2, READ_FAST, ONE, "generic", "Returns the kind of a key: string, hash, zset or none"),
    row("unlink", -2, WRITE_FAST, ALL, "generic", "Removes keys").removing_waited_keys(),
];
