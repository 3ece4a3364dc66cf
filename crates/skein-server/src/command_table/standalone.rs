//! Commands about replicas, clusters and modules, one line each. There are none of these: the answers
//! are those of a Redis that stands alone.

use super::{CommandSpec, NONE, row, subcommands};

const REPLICATION: &[&str] = &["admin", "noscript", "stale", "no_async_loading"];
const ROLE: &[&str] = &["noscript", "loading", "stale", "fast"];
const FAILOVER: &[&str] = &["admin", "noscript", "stale"];
const WAITAOF: &[&str] = &["noscript", "blocking"];

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("asking", 1, &["fast"], NONE, "cluster", "Prepares a request for a key that moves; there is no cluster"),
    row("cluster", -2, &[], NONE, "cluster", "Manages a cluster; there is none").with(subcommands::CLUSTER),
    row("failover", -1, FAILOVER, NONE, "server", "Hands over to a replica; there is none"),
    row("module", -2, &[], NONE, "server", "Lists the modules; there are none").with(subcommands::MODULE),
    row("readonly", 1, super::ANY_TIME, NONE, "cluster", "Allows reads from a replica of a cluster; there is none"),
    row("readwrite", 1, super::ANY_TIME, NONE, "cluster", "Ends READONLY; there is no cluster"),
    row("replicaof", 3, REPLICATION, NONE, "server", "Ends replication, which there is not, with NO ONE"),
    row("role", 1, ROLE, NONE, "server", "Returns the role of the server: master, without replicas"),
    row("slaveof", 3, REPLICATION, NONE, "server", "The same as REPLICAOF"),
    row("waitaof", 4, WAITAOF, NONE, "generic", "Makes earlier writes durable, and says on how many servers they are"),
];
