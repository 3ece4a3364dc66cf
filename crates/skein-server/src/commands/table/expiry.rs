//! Commands about expiry, one line each.

use super::super::Handler::{General, Read, Write};
use super::super::{CommandSpec, expiry};
use super::{ONE, READ_FAST, WRITE_FAST, WRITE_GROWS, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("expire", -3, WRITE_FAST, ONE, "generic", Write(expiry::expire), "Sets the time to live of a key in seconds"),
    row("expireat", -3, WRITE_FAST, ONE, "generic", Write(expiry::expire_at), "Sets the expiry time of a key in seconds since 1970"),
    row("expiretime", 2, READ_FAST, ONE, "generic", Read(expiry::expire_time), "Returns the expiry time of a key in seconds since 1970"),
    row("getex", -2, WRITE_FAST, ONE, "string", Write(expiry::get_ex), "Returns the value of a key and sets its expiry time"),
    row("persist", 2, WRITE_FAST, ONE, "generic", Write(expiry::persist), "Removes the expiry time of a key"),
    row("pexpire", -3, WRITE_FAST, ONE, "generic", Write(expiry::pexpire), "Sets the time to live of a key in milliseconds"),
    row("pexpireat", -3, WRITE_FAST, ONE, "generic", Write(expiry::pexpire_at), "Sets the expiry time of a key in milliseconds since 1970"),
    row("pexpiretime", 2, READ_FAST, ONE, "generic", Read(expiry::pexpire_time), "Returns the expiry time of a key in milliseconds since 1970"),
    row("psetex", 4, WRITE_GROWS, ONE, "string", Write(expiry::pset_ex), "Sets a key to a value with a time to live in milliseconds"),
    row("pttl", 2, READ_FAST, ONE, "generic", General(expiry::pttl), "Returns the time to live of a key in milliseconds"),
    row("setex", 4, WRITE_GROWS, ONE, "string", Write(expiry::set_ex), "Sets a key to a value with a time to live in seconds"),
    row("ttl", 2, READ_FAST, ONE, "generic", General(expiry::ttl), "Returns the time to live of a key in seconds"),
];
