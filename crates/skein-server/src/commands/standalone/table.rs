//! The commands about replicas, clusters and modules. This server has no such things, and the
//! answers are those of a standalone Redis.

use super::{NO_CLUSTER, role};
use crate::command_table::{Command, Group, HELP, Subcommand, command, family, subcommand};
use crate::commands::Handler::General;

#[rustfmt::skip]
const CLUSTER: &[Subcommand] = &[
    subcommand("addslots", -3, "admin stale no_async_loading")
        .docs("Gives slots to a node; there is no cluster", "slot:int..."),
    subcommand("addslotsrange", -4, "admin stale no_async_loading")
        .docs("Gives ranges of slots to a node; there is no cluster",
              "start-slot_end-slot(start-slot:int end-slot:int)..."),
    subcommand("bumpepoch", 2, "admin stale no_async_loading").tips("nondeterministic_output")
        .docs("Raises the epoch of the configuration; there is no cluster", ""),
    subcommand("count-failure-reports", 3, "admin stale").tips("nondeterministic_output")
        .docs("Counts the reports against a node; there is no cluster", "node-id"),
    subcommand("countkeysinslot", 3, "stale")
        .docs("Counts the keys of a slot; there is no cluster", "slot:int"),
    subcommand("delslots", -3, "admin stale no_async_loading")
        .docs("Takes slots from a node; there is no cluster", "slot:int..."),
    subcommand("delslotsrange", -4, "admin stale no_async_loading")
        .docs("Takes ranges of slots from a node; there is no cluster",
              "start-slot_end-slot(start-slot:int end-slot:int)..."),
    subcommand("failover", -2, "admin stale no_async_loading")
        .docs("Makes a replica the primary; there is no cluster", "[options(FORCE|TAKEOVER)]"),
    subcommand("flushslots", 2, "admin stale no_async_loading")
        .docs("Takes all slots from a node; there is no cluster", ""),
    subcommand("forget", 3, "admin stale no_async_loading")
        .docs("Removes a node; there is no cluster", "node-id"),
    subcommand("getkeysinslot", 4, "stale").tips("nondeterministic_output")
        .docs("Returns keys of a slot; there is no cluster", "slot:int count:int"),
    subcommand("info", 2, "stale").tips("nondeterministic_output")
        .docs("Describes the state of the cluster; there is none", ""),
    subcommand("keyslot", 3, "stale").docs("Returns the slot of a key; there is no cluster", "key"),
    subcommand("links", 2, "stale").tips("nondeterministic_output")
        .docs("Describes the connections between nodes; there is no cluster", ""),
    subcommand("meet", -4, "admin stale no_async_loading")
        .docs("Joins two nodes; there is no cluster", "ip port:int [cluster_bus_port:int]"),
    subcommand("myid", 2, "stale").docs("Returns the name of the node; there is no cluster", ""),
    subcommand("nodes", 2, "stale").tips("nondeterministic_output")
        .docs("Describes the nodes; there is no cluster", ""),
    subcommand("replicas", 3, "admin stale").tips("nondeterministic_output")
        .docs("Describes the replicas of a node; there is no cluster", "node-id"),
    subcommand("replicate", 3, "admin stale no_async_loading")
        .docs("Makes the node a replica; there is no cluster", "node-id"),
    subcommand("reset", -2, "admin noscript stale")
        .docs("Makes the node forget the cluster; there is none", "[hard_soft(HARD|SOFT)]"),
    subcommand("saveconfig", 2, "admin stale no_async_loading")
        .docs("Saves the configuration of the node; there is no cluster", ""),
    subcommand("set-config-epoch", 3, "admin stale no_async_loading")
        .docs("Sets the epoch of a new node; there is no cluster", "config-epoch:int"),
    subcommand("setslot", -4, "admin stale no_async_loading")
        .docs("Says which node has a slot; there is no cluster",
              "slot:int subcommand(IMPORTING=node-id|MIGRATING=node-id|NODE=node-id|STABLE)"),
    subcommand("shards", 2, "stale").tips("nondeterministic_output")
        .docs("Describes the shards; there is no cluster", ""),
    subcommand("slaves", 3, "admin stale").tips("nondeterministic_output")
        .docs("The same as CLUSTER REPLICAS", "node-id"),
    subcommand("slots", 2, "stale").tips("nondeterministic_output")
        .docs("Says which nodes have which slots; there is no cluster", ""),
    HELP,
];

#[rustfmt::skip]
const MODULE: &[Subcommand] = &[
    subcommand("list", 2, "admin noscript").tips("nondeterministic_output_order")
        .docs("Lists the modules; there are none", ""),
    subcommand("load", -3, "admin noscript no_async_loading")
        .docs("Loads a module; SkeinDB loads none", "path [arg...]"),
    subcommand("loadex", -3, "admin noscript no_async_loading")
        .docs("Loads a module with its configuration; SkeinDB loads none",
              "path [CONFIG=configs(name value)...+] [ARGS=args(arg)...]"),
    subcommand("unload", 3, "admin noscript no_async_loading")
        .docs("Unloads a module; there is none", "name"),
    HELP,
];

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Cluster, [
    command("asking", 1, "fast", General(|_, _, _| Err(NO_CLUSTER))).categories("connection")
        .docs("Prepares a request for a key that moves; there is no cluster", ""),
    command("cluster", -2, "", General(|_, _, _| Err(NO_CLUSTER))).subcommands(CLUSTER)
        .docs("Manages a cluster; there is none", ""),
    command("failover", -1, "admin noscript stale", General(super::failover)).group(Group::Server)
        .docs("Hands over to a replica; there is none",
              "[TO=target(host port:int [FORCE])] [ABORT] [TIMEOUT=milliseconds:int]"),
    command("module", -2, "", General(super::module)).group(Group::Server).subcommands(MODULE)
        .docs("Lists the modules; there are none", ""),
    command("readonly", 1, "loading stale fast", General(|_, _, _| Err(NO_CLUSTER)))
        .while_loading(|_, _, _| Err(NO_CLUSTER))
        .categories("connection").docs("Allows reads from a replica of a cluster; there is none", ""),
    command("readwrite", 1, "loading stale fast", General(|_, _, _| Err(NO_CLUSTER)))
        .while_loading(|_, _, _| Err(NO_CLUSTER))
        .categories("connection").docs("Ends READONLY; there is no cluster", ""),
    command("replicaof", 3, "admin noscript stale no_async_loading", General(super::replica_of))
        .group(Group::Server).docs("Ends replication, which there is not, with NO ONE",
              "args(host-port(host port:int)|no-one(NO ONE))"),
    command("role", 1, "noscript loading stale fast", General(|_, _, reply| role(reply))).group(Group::Server)
        .while_loading(|_, _, reply| role(reply)).categories("admin dangerous")
        .docs("Returns the role of the server: master, without replicas", ""),
    command("slaveof", 3, "admin noscript stale no_async_loading", General(super::replica_of))
        .group(Group::Server).docs("The same as REPLICAOF", "args(host-port(host port:int)|no-one(NO ONE))"),
    command("waitaof", 4, "noscript blocking", General(super::wait_aof)).group(Group::Generic)
        .categories("connection").tips("request_policy:all_shards response_policy:agg_min")
        .docs("Makes earlier writes durable, and says on how many servers they are",
              "numlocal:int numreplicas:int timeout:int"),
]);
