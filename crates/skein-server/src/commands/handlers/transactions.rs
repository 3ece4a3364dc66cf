//! Commands of transactions, and commands that are atomic over several keys, one line each.

use super::super::Handler::{Exclusive, Exec, General};
use super::super::{multi_key, sort, transactions};
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("discard", General(transactions::discard)),
    row("exec", Exec),
    row("multi", General(transactions::multi)),
    row("unwatch", General(transactions::unwatch)),
    row("copy", Exclusive(multi_key::copy)),
    row("msetnx", Exclusive(multi_key::mset_nx)),
    row("rename", Exclusive(multi_key::rename)),
    row("renamenx", Exclusive(multi_key::rename_nx)),
    row("sort", Exclusive(sort::sort)),
    row("sort_ro", Exclusive(sort::sort_ro)),
    row("watch", General(transactions::watch)),
];
