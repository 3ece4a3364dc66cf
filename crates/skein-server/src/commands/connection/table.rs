//! The commands about the connection.

use super::{auth, echo, hello, quit, reset};
use crate::command_table::{Command, Group, HELP, Subcommand, command, family, subcommand};
use crate::commands::Handler::General;
use crate::commands::databases::select;
use crate::commands::{client, while_loading};
use crate::observe::slowlog::SecretArgs;

#[rustfmt::skip]
const CLIENT: &[Subcommand] = &[
    subcommand("id", 2, "noscript loading stale").docs("Returns the number of this connection", ""),
    subcommand("caching", 3, "noscript loading stale")
        .docs("Says whether the keys of the next command are tracked", "mode(YES|NO)"),
    subcommand("getredir", 2, "noscript loading stale")
        .docs("Returns the connection that receives the invalidations", ""),
    subcommand("pause", -3, "admin noscript loading stale")
        .docs("Holds back the requests of all clients for a while", "timeout:int [mode(WRITE|ALL)]"),
    subcommand("tracking", -3, "noscript loading stale")
        .docs("Starts or ends the tracking of the keys that this connection reads",
              "status(ON|OFF) [REDIRECT=client-id:int] [PREFIX=prefix...+] [BCAST] [OPTIN] [OPTOUT] \
               [NOLOOP]"),
    subcommand("trackinginfo", 2, "noscript loading stale")
        .docs("Describes the tracking of this connection", ""),
    subcommand("unblock", -3, "admin noscript loading stale")
        .docs("Ends the wait of a blocked connection", "client-id:int [timeout_error(TIMEOUT|ERROR)]"),
    subcommand("unpause", 2, "admin noscript loading stale").also("ends_pause").docs("Ends a pause", ""),
    subcommand("getname", 2, "noscript loading stale").docs("Returns the name of this connection", ""),
    subcommand("setname", 3, "noscript loading stale").docs("Names this connection", "connection-name"),
    subcommand("setinfo", 4, "noscript loading stale")
        .docs("Sets the name or the version of the client's library",
              "attr(LIB-NAME=libname|LIB-VER=libver)"),
    subcommand("info", 2, "noscript loading stale").tips("nondeterministic_output")
        .docs("Describes this connection", ""),
    subcommand("list", -2, "admin noscript loading stale").tips("nondeterministic_output")
        .docs("Describes all connections, or some",
              "[TYPE=normal_master_replica_pubsub(NORMAL|MASTER|REPLICA|PUBSUB)] \
               [ID=id(client-id:int...)]"),
    subcommand("kill", -3, "admin noscript loading stale").docs("Closes connections",
              "filter(ip:port|new-format([ID=client-id:int]|[TYPE=normal_master_slave_pubsub(NORMAL|MASTER|SLAVE|REPLICA|PUBSUB)]|[USER=username]|[ADDR=ip:port]|[LADDR=ip:port]|[SKIPME=yes/no])...)"),
    subcommand("no-evict", 3, "admin noscript loading stale")
        .docs("Protects this connection from eviction", "enabled(ON|OFF)"),
    subcommand("reply", 3, "noscript loading stale")
        .docs("Says whether the server replies to this connection", "on_off_skip(ON|OFF|SKIP)"),
    HELP,
];

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Connection, [
    command("auth", -2, "noscript loading stale fast no_auth allow_busy",
            General(|context, args, reply| auth(context.client, context.shared, args, reply)))
        .while_loading(|early, args, reply| auth(early.client, early.server, args, reply))
        .while_busy(|busy, args, reply| auth(busy.client, busy.server, args, reply))
        .hides(|_| SecretArgs::From(1)).also("timed_together")
        .docs("Logs in with a password", "[username] password"),
    command("client", -2, "", General(client::client)).also("about_connection")
        .while_loading(while_loading::client).subcommands(CLIENT).docs("Shows and manages connections", ""),
    command("echo", 2, "loading stale fast", General(|_, args, reply| echo(args, reply)))
        .while_loading(|_, args, reply| echo(args, reply)).also("timed_together")
        .docs("Returns its argument", "message"),
    command("hello", -1, "noscript loading stale fast no_auth allow_busy",
            General(|context, args, reply| hello(context.client, context.shared, args, reply)))
        .while_loading(|early, args, reply| hello(early.client, early.server, args, reply))
        .while_busy(|busy, args, reply| hello(busy.client, busy.server, args, reply))
        .hides(SecretArgs::of_hello).also("timed_together").docs("Selects the version of the protocol",
              "[arguments(protover:int [AUTH=username_password(username password)] [SETNAME=clientname])]"),
    command("ping", -1, "fast", General(super::ping)).also("timed_together while_subscribed")
        .tips("request_policy:all_shards response_policy:all_succeeded").docs("Returns PONG", "[message]"),
    command("quit", -1, "noscript loading stale fast no_auth allow_busy", General(|_, _, reply| quit(reply)))
        .while_loading(|_, _, reply| quit(reply)).while_busy(|_, _, reply| quit(reply))
        .also("timed_together at_once_in_multi while_subscribed").docs("Closes the connection", ""),
    command("reset", 1, "noscript loading stale fast no_auth allow_busy",
            General(|context, _, reply| reset(context.client, context.shared, reply)))
        .while_loading(|early, _, reply| reset(early.client, early.server, reply))
        .while_busy(|busy, _, reply| reset(busy.client, busy.server, reply))
        .also("timed_together at_once_in_multi while_subscribed")
        .docs("Restores the connection to its initial state", ""),
    command("select", 2, "loading stale fast",
            General(|context, args, reply| select(context.client, args, reply)))
        .while_loading(|early, args, reply| select(early.client, args, reply)).also("timed_together")
        .docs("Selects a database", "index:int"),
]);
