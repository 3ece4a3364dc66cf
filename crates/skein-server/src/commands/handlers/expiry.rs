//! Commands about expiry, one line each.

use super::super::Handler::{General, Peek, Write};
use super::super::expiry;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("expire", Write(expiry::expire)),
    row("expireat", Write(expiry::expire_at)),
    row("expiretime", Peek(expiry::expire_time)),
    row("getex", Write(expiry::get_ex)),
    row("persist", Write(expiry::persist)),
    row("pexpire", Write(expiry::pexpire)),
    row("pexpireat", Write(expiry::pexpire_at)),
    row("pexpiretime", Peek(expiry::pexpire_time)),
    row("psetex", Write(expiry::pset_ex)),
    row("pttl", General(expiry::pttl)),
    row("setex", Write(expiry::set_ex)),
    row("ttl", General(expiry::ttl)),
];
