//! Commands on keys of any kind, one line each.

use super::super::Handler::{General, Read, ReadOneOrMany, WriteOrSlices};
use super::super::{CommandSpec, databases, keys, scan};
use super::{ALL, NONE, ONE, READ, READ_FAST, WRITE, WRITE_FAST, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("del", -2, WRITE, ALL, "generic", WriteOrSlices(keys::del, keys::del_in_slices), "Removes keys"),
    row("exists", -2, READ_FAST, ALL, "generic", ReadOneOrMany(keys::exists_one, keys::exists), "Returns how many of the keys exist"),
    row("keys", 2, READ, NONE, "generic", General(keys::keys), "Returns the keys that match a pattern, in order"),
    row("move", 3, WRITE_FAST, ONE, "generic", General(databases::move_key), "Always an error, because there is one database"),
    row("object", -2, &[], (2, 2, 1), "generic", General(keys::object), "Returns the encoding that Redis would use for a key").with(keys::OBJECT_SUBCOMMANDS),
    row("randomkey", 1, READ, NONE, "generic", General(keys::random_key), "Returns a random key"),
    row("scan", -2, READ, NONE, "generic", General(scan::scan), "Returns the keys in order, one page at a time"),
    row("touch", -2, READ_FAST, ALL, "generic", ReadOneOrMany(keys::exists_one, keys::exists), "Returns how many of the keys exist"),
    row("type", 2, READ_FAST, ONE, "generic", Read(keys::kind), "Returns the kind of a key: string, hash, zset or none"),
    row("unlink", -2, WRITE_FAST, ALL, "generic", WriteOrSlices(keys::del, keys::del_in_slices), "Removes keys"),
];
