//! Subcommands: their names and their numbers of arguments.

use super::is;

/// Names in lower case with the command's number of arguments, including itself and the subcommand.
/// If negative, the minimum.
pub(crate) type Subcommands = &'static [(&'static str, i32)];

/// Returns the subcommand with this name. Ignores the case.
pub(crate) fn find(known: Subcommands, name: &[u8]) -> Option<(&'static str, i32)> {
    place(known, name).map(|at| known[at])
}

/// Returns the index of the subcommand with this name. Ignores the case.
pub(crate) fn place(known: Subcommands, name: &[u8]) -> Option<usize> {
    known.iter().position(|(known, _)| is(name, known))
}

pub(crate) const ACL: Subcommands = &[
    ("cat", -2),
    ("deluser", -3),
    ("dryrun", -4),
    ("genpass", -2),
    ("getuser", 3),
    ("list", 2),
    ("load", 2),
    ("log", -2),
    ("save", 2),
    ("setuser", -3),
    ("users", 2),
    ("whoami", 2),
    ("help", 2),
];

pub(crate) const CLIENT: Subcommands = &[
    ("id", 2),
    ("caching", 3),
    ("getredir", 2),
    ("pause", -3),
    ("tracking", -3),
    ("trackinginfo", 2),
    ("unblock", -3),
    ("unpause", 2),
    ("getname", 2),
    ("setname", 3),
    ("setinfo", 4),
    ("info", 2),
    ("list", -2),
    ("kill", -3),
    ("no-evict", 3),
    ("reply", 3),
    ("help", 2),
];

#[rustfmt::skip]
pub(crate) const CLUSTER: Subcommands = &[
    ("addslots", -3), ("addslotsrange", -4), ("bumpepoch", 2), ("count-failure-reports", 3),
    ("countkeysinslot", 3), ("delslots", -3), ("delslotsrange", -4), ("failover", -2), ("flushslots", 2),
    ("forget", 3), ("getkeysinslot", 4), ("info", 2), ("keyslot", 3), ("links", 2), ("meet", -4), ("myid", 2),
    ("nodes", 2), ("replicas", 3), ("replicate", 3), ("reset", -2), ("saveconfig", 2),
    ("set-config-epoch", 3), ("setslot", -4), ("shards", 2), ("slaves", 3), ("slots", 2), ("help", 2),
];

pub(crate) const COMMAND: Subcommands = &[
    ("count", 2),
    ("docs", -2),
    ("getkeys", -4),
    ("getkeysandflags", -4),
    ("info", -2),
    ("list", -2),
    ("help", 2),
];

pub(crate) const CONFIG: Subcommands =
    &[("get", -3), ("set", -4), ("resetstat", 2), ("rewrite", 2), ("help", 2)];

pub(crate) const FUNCTION: Subcommands = &[
    ("delete", 3),
    ("dump", 2),
    ("flush", -2),
    ("kill", 2),
    ("list", -2),
    ("load", -3),
    ("restore", -3),
    ("stats", 2),
    ("help", 2),
];

pub(crate) const LATENCY: Subcommands = &[
    ("doctor", 2),
    ("graph", 3),
    ("help", 2),
    ("histogram", -2),
    ("history", 3),
    ("latest", 2),
    ("reset", -2),
];

pub(crate) const MEMORY: Subcommands =
    &[("doctor", 2), ("malloc-stats", 2), ("purge", 2), ("stats", 2), ("usage", -3), ("help", 2)];

pub(crate) const MODULE: Subcommands =
    &[("list", 2), ("load", -3), ("loadex", -3), ("unload", 3), ("help", 2)];

pub(crate) const OBJECT: Subcommands =
    &[("encoding", 3), ("freq", 3), ("idletime", 3), ("refcount", 3), ("help", 2)];

pub(crate) const SCRIPT: Subcommands =
    &[("debug", 3), ("exists", -3), ("flush", -2), ("kill", 2), ("load", 3), ("help", 2)];

pub(crate) const SLOWLOG: Subcommands = &[("get", -2), ("len", 2), ("reset", 2), ("help", 2)];

pub(crate) const PUBSUB: Subcommands = &[
    ("channels", -2),
    ("numpat", 2),
    ("numsub", -2),
    ("shardchannels", -2),
    ("shardnumsub", -2),
    ("help", 2),
];

pub(crate) const XGROUP: Subcommands =
    &[("create", -5), ("createconsumer", 5), ("delconsumer", 5), ("destroy", 4), ("setid", -5), ("help", 2)];

pub(crate) const XINFO: Subcommands = &[("consumers", 4), ("groups", 3), ("stream", -3), ("help", 2)];
