//! Commands on keys of any kind, one line each.

use super::super::Handler::{General, Read, ReadOneOrMany, WriteOrSlices};
use super::super::{databases, keys, scan};
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("del", WriteOrSlices(keys::del, keys::del_in_slices)),
    row("exists", ReadOneOrMany(keys::exists_one, keys::exists)),
    row("keys", General(keys::keys)),
    row("move", General(databases::move_key)),
    row("object", General(keys::object)),
    row("randomkey", General(keys::random_key)),
    row("scan", General(scan::scan)),
    row("touch", ReadOneOrMany(keys::exists_one, keys::exists)),
    row("type", Read(keys::kind)),
    row("unlink", WriteOrSlices(keys::del, keys::del_in_slices)),
];
