//! Commands about expiry, one line each.

use super::{CommandSpec, ONE, READ_FAST, WRITE_FAST, WRITE_GROWS, row};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("expire", -3, WRITE_FAST, ONE, "generic", "Sets the time to live of a key in seconds").removing_waited_keys(),
    row("expireat", -3, WRITE_FAST, ONE, "generic", "Sets the expiry time of a key in seconds since 1970").removing_waited_keys(),
    row("expiretime", 2, READ_FAST, ONE, "generic", "Returns the expiry time of a key in seconds since 1970"),
    row("getex", -2, WRITE_FAST, ONE, "string", "Returns the value of a key and sets its expiry time"),
    row("persist", 2, WRITE_FAST, ONE, "generic", "Removes the expiry time of a key"),
    row("pexpire", -3, WRITE_FAST, ONE, "generic", "Sets the time to live of a key in milliseconds").removing_waited_keys(),
    row("pexpireat", -3, WRITE_FAST, ONE, "generic", "Sets the expiry time of a key in milliseconds since 1970").removing_waited_keys(),
    row("pexpiretime", 2, READ_FAST, ONE, "generic", "Returns the expiry time of a key in milliseconds since 1970"),
    row("psetex", 4, WRITE_GROWS, ONE, "string", "Sets a key to a value with a time to live in milliseconds"),
    row("pttl", 2, READ_FAST, ONE, "generic", "Returns the time to live of a key in milliseconds").timed_together(),
    row("setex", 4, WRITE_GROWS, ONE, "string", "Sets a key to a value with a time to live in seconds"),
    row("ttl", 2, READ_FAST, ONE, "generic", "Returns the time to live of a key in seconds").timed_together(),
];
