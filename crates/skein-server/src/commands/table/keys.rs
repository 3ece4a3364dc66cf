//! Commands on keys of any kind, a line each.

use super::super::Handler::{General, Read, ReadOneOrMany, WriteOrSlices};
use super::super::{CommandSpec, databases, keys, scan};
use super::{ALL, NONE, ONE, READ, READ_FAST, WRITE, WRITE_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("del", -2, WRITE, ALL, "generic", WriteOrSlices(keys::del, keys::del_in_slices), "Removes keys"),
    row("exists", -2, READ_FAST, ALL, "generic", ReadOneOrMany(keys::exists_one, keys::exists), "How many of the keys are there"),
    row("keys", 2, READ, NONE, "generic", General(keys::keys), "Gets the keys that match a pattern, in order"),
    row("move", 3, WRITE_FAST, ONE, "generic", General(databases::move_key), "An error: there is one database"),
    row("object", -2, &[], (2, 2, 1), "generic", General(keys::object), "How Redis would keep what a key holds").with(keys::OBJECT_SUBCOMMANDS),
    row("randomkey", 1, READ, NONE, "generic", General(keys::random_key), "Gets any key"),
    row("scan", -2, READ, NONE, "generic", General(scan::scan), "Goes through the keys in order, some at a time"),
    row("touch", -2, READ_FAST, ALL, "generic", ReadOneOrMany(keys::exists_one, keys::exists), "How many of the keys are there"),
    row("type", 2, READ_FAST, ONE, "generic", Read(keys::kind), "What a key holds: string, hash or none"),
    row("unlink", -2, WRITE_FAST, ALL, "generic", WriteOrSlices(keys::del, keys::del_in_slices), "Removes keys"),
];
