//! Commands of transactions, and commands that are atomic over several keys, one line each.

use super::sorted_sets::READ_MOVABLE;
use super::{
    ALL, ALSO_RUN, CommandSpec, NONE, ONE, PAIRS, TRANSACTION, TWO, WRITE, WRITE_FAST, WRITE_GROWS, row,
};

const SORTS: &[&str] = &["write", "denyoom", "movablekeys"];

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("discard", 1, TRANSACTION, NONE, "transactions", "Discards the commands queued since MULTI").timed_together(),
    row("exec", 1, ALSO_RUN, NONE, "transactions", "Runs the commands queued since MULTI, atomically"),
    row("multi", 1, TRANSACTION, NONE, "transactions", "Starts to queue commands for EXEC").timed_together(),
    row("unwatch", 1, TRANSACTION, NONE, "transactions", "Stops watching all keys").timed_together(),
    row("copy", -3, WRITE_GROWS, TWO, "generic", "Copies a key").making_waited_keys(),
    row("msetnx", -3, WRITE_GROWS, PAIRS, "string", "Sets keys to values if none of the keys exists"),
    row("rename", 3, WRITE, TWO, "generic", "Renames a key").making_waited_keys(),
    row("renamenx", 3, WRITE_FAST, TWO, "generic", "Renames a key unless the new name is taken").making_waited_keys(),
    row("sort", -2, SORTS, ONE, "generic", "Returns or stores the elements of a key in another order").making_waited_keys(),
    row("sort_ro", -2, READ_MOVABLE, ONE, "generic", "Returns the elements of a key in another order"),
    row("watch", -2, TRANSACTION, ALL, "transactions", "Makes the next EXEC run only if the keys do not change").timed_together(),
];
