//! Commands about the server, one line each.

use super::super::Handler::{Exclusive, General};
use super::super::{
    access, configuration, databases, debug, introspection, latency, memory, monitor, server, slowlog,
    while_loading,
};
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("acl", General(access::acl)),
    row("bgsave", General(server::bgsave)),
    row("bgrewriteaof", General(server::bgrewriteaof)),
    row("command", General(introspection::command)).early(while_loading::command),
    row("config", General(configuration::config)),
    row("dbsize", General(server::dbsize)),
    row("debug", General(debug::debug)),
    row("flushall", General(server::flushall)),
    row("flushdb", General(server::flushdb)),
    row("info", General(server::info)).early(while_loading::info),
    row("lastsave", General(server::last_save)),
    row("latency", General(latency::latency)),
    row("lolwut", General(server::lolwut)),
    row("memory", General(memory::memory)),
    row("monitor", General(monitor::monitor)),
    row("save", General(server::save)),
    row("shutdown", General(server::shutdown)).early(while_loading::shutdown),
    row("slowlog", General(slowlog::slowlog)),
    row("swapdb", Exclusive(databases::swap)),
    row("time", General(server::time)).early(while_loading::time),
    row("wait", General(server::wait)),
];
