//! The arguments of commands about replicas, clusters and modules, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("cluster|addslots", "slot:int..."),
    ("cluster|addslotsrange", "start-slot_end-slot(start-slot:int end-slot:int)..."),
    ("cluster|count-failure-reports", "node-id"),
    ("cluster|countkeysinslot", "slot:int"),
    ("cluster|delslots", "slot:int..."),
    ("cluster|delslotsrange", "start-slot_end-slot(start-slot:int end-slot:int)..."),
    ("cluster|failover", "[options(FORCE|TAKEOVER)]"),
    ("cluster|forget", "node-id"),
    ("cluster|getkeysinslot", "slot:int count:int"),
    ("cluster|keyslot", "key"),
    ("cluster|meet", "ip port:int [cluster_bus_port:int]"),
    ("cluster|replicas", "node-id"),
    ("cluster|replicate", "node-id"),
    ("cluster|reset", "[hard_soft(HARD|SOFT)]"),
    ("cluster|set-config-epoch", "config-epoch:int"),
    ("cluster|setslot", "slot:int subcommand(IMPORTING=node-id|MIGRATING=node-id|NODE=node-id|STABLE)"),
    ("cluster|slaves", "node-id"),
    ("failover", "[TO=target(host port:int [FORCE])] [ABORT] [TIMEOUT=milliseconds:int]"),
    ("module|load", "path [arg...]"),
    ("module|loadex", "path [CONFIG=configs(name value)...+] [ARGS=args(arg)...]"),
    ("module|unload", "name"),
    ("replicaof", "args(host-port(host port:int)|no-one(NO ONE))"),
    ("slaveof", "args(host-port(host port:int)|no-one(NO ONE))"),
    ("waitaof", "numlocal:int numreplicas:int timeout:int"),
];
