//! Commands about when keys expire, a line each.

use super::super::Handler::{General, Read, Write};
use super::super::{CommandSpec, expiry};
use super::{ONE, READ_FAST, WRITE_FAST, WRITE_GROWS, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("expire", -3, WRITE_FAST, ONE, "generic", Write(expiry::expire), "Lets a key expire in so many seconds"),
    row("expireat", -3, WRITE_FAST, ONE, "generic", Write(expiry::expire_at), "Lets a key expire at a time, in seconds since 1970"),
    row("expiretime", 2, READ_FAST, ONE, "generic", Read(expiry::expire_time), "When a key expires, in seconds since 1970"),
    row("getex", -2, WRITE_FAST, ONE, "string", Write(expiry::get_ex), "Gets the value of a key and says when the key expires"),
    row("persist", 2, WRITE_FAST, ONE, "generic", Write(expiry::persist), "Lets a key not expire"),
    row("pexpire", -3, WRITE_FAST, ONE, "generic", Write(expiry::pexpire), "Lets a key expire in so many milliseconds"),
    row("pexpireat", -3, WRITE_FAST, ONE, "generic", Write(expiry::pexpire_at), "Lets a key expire at a time, in milliseconds since 1970"),
    row("pexpiretime", 2, READ_FAST, ONE, "generic", Read(expiry::pexpire_time), "When a key expires, in milliseconds since 1970"),
    row("psetex", 4, WRITE_GROWS, ONE, "string", Write(expiry::pset_ex), "Sets a key to a value for so many milliseconds"),
    row("pttl", 2, READ_FAST, ONE, "generic", General(expiry::pttl), "How long a key has yet, in milliseconds"),
    row("setex", 4, WRITE_GROWS, ONE, "string", Write(expiry::set_ex), "Sets a key to a value for so many seconds"),
    row("ttl", 2, READ_FAST, ONE, "generic", General(expiry::ttl), "How long a key has yet, in seconds"),
];
