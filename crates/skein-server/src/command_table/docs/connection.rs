//! The arguments of commands about the connection, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("auth", "[username] password"),
    ("client|caching", "mode(YES|NO)"),
    ("client|kill",
     "filter(ip:port|new-format([ID=client-id:int]|[TYPE=normal_master_slave_pubsub(NORMAL|MASTER|SLAVE|REPLICA|PUBSUB)]|[USER=username]|[ADDR=ip:port]|[LADDR=ip:port]|[SKIPME=yes/no])...)"),
    ("client|list",
     "[TYPE=normal_master_replica_pubsub(NORMAL|MASTER|REPLICA|PUBSUB)] [ID=id(client-id:int...)]"),
    ("client|no-evict", "enabled(ON|OFF)"),
    ("client|pause", "timeout:int [mode(WRITE|ALL)]"),
    ("client|reply", "on_off_skip(ON|OFF|SKIP)"),
    ("client|setinfo", "attr(LIB-NAME=libname|LIB-VER=libver)"),
    ("client|setname", "connection-name"),
    ("client|tracking",
     "status(ON|OFF) [REDIRECT=client-id:int] [PREFIX=prefix...+] [BCAST] [OPTIN] [OPTOUT] \
      [NOLOOP]"),
    ("client|unblock", "client-id:int [timeout_error(TIMEOUT|ERROR)]"),
    ("echo", "message"),
    ("hello", "[arguments(protover:int [AUTH=username_password(username password)] [SETNAME=clientname])]"),
    ("ping", "[message]"),
    ("select", "index:int"),
];
