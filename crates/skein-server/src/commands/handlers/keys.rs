//! Commands on keys of any kind, one line each.

use super::super::Handler::{Exclusive, General, Migrate, Peek, PeekOneOrMany, ReadOneOrMany, WriteOrSlices};
use super::super::task::read_or_slices;
use super::super::{databases, dump, keys, scan};
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("del", WriteOrSlices(keys::del, keys::del_in_slices)),
    row("dump", read_or_slices::<dump::Dump>()),
    row("exists", PeekOneOrMany(keys::exists_one, keys::exists)),
    row("keys", General(keys::keys)),
    row("migrate", Migrate),
    row("move", Exclusive(databases::move_key)),
    row("object", General(keys::object)),
    row("randomkey", General(keys::random_key)),
    row("restore", Exclusive(dump::restore)),
    row("restore-asking", Exclusive(dump::restore)),
    row("scan", General(scan::scan)),
    row("touch", ReadOneOrMany(keys::exists_one, keys::touch)),
    row("type", Peek(keys::kind)),
    row("unlink", WriteOrSlices(keys::del, keys::del_in_slices)),
];
