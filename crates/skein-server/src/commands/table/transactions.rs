//! Commands of transactions, and commands that are atomic over several keys, one line each.

use super::super::Handler::{Exclusive, Exec, General};
use super::super::{CommandSpec, multi_key, transactions};
use super::{ALL, ALSO_RUN, NONE, PAIRS, TRANSACTION, TWO, WRITE, WRITE_FAST, WRITE_GROWS, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("discard", 1, TRANSACTION, NONE, "transactions", General(transactions::discard), "Discards the commands queued since MULTI"),
    row("exec", 1, ALSO_RUN, NONE, "transactions", Exec, "Runs the commands queued since MULTI, atomically"),
    row("multi", 1, TRANSACTION, NONE, "transactions", General(transactions::multi), "Starts to queue commands for EXEC"),
    row("unwatch", 1, TRANSACTION, NONE, "transactions", General(transactions::unwatch), "Stops watching all keys"),
    row("copy", -3, WRITE_GROWS, TWO, "generic", Exclusive(multi_key::copy), "Copies a key"),
    row("msetnx", -3, WRITE_GROWS, PAIRS, "string", Exclusive(multi_key::mset_nx), "Sets keys to values if none of the keys exists"),
    row("rename", 3, WRITE, TWO, "generic", Exclusive(multi_key::rename), "Renames a key"),
    row("renamenx", 3, WRITE_FAST, TWO, "generic", Exclusive(multi_key::rename_nx), "Renames a key unless the new name is taken"),
    row("watch", -2, TRANSACTION, ALL, "transactions", General(transactions::watch), "Makes the next EXEC run only if the keys do not change"),
];
