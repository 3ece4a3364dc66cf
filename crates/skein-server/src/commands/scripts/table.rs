//! The commands of scripts and functions.

use super::{function_stats, kill};
use crate::command_table::{Command, Group, HELP, Subcommand, command, family, subcommand};
use crate::commands::Handler::{self, General};
use crate::commands::ScriptKind;
use crate::commands::ScriptSource::{self, Digest, Function, Text};
use crate::scripting::ScriptSort;

const fn runs(source: ScriptSource) -> Handler {
    Handler::Script(ScriptKind { source, read_only: false })
}

const fn only_reads(source: ScriptSource) -> Handler {
    Handler::Script(ScriptKind { source, read_only: true })
}

#[rustfmt::skip]
const FUNCTION: &[Subcommand] = &[
    subcommand("delete", 3, "write noscript")
        .tips("request_policy:all_shards response_policy:all_succeeded")
        .docs("Removes a library", "library-name"),
    subcommand("dump", 2, "noscript").docs("Returns all libraries as one payload", ""),
    subcommand("flush", -2, "write noscript")
        .tips("request_policy:all_shards response_policy:all_succeeded")
        .docs("Removes all libraries", "[async(ASYNC|SYNC)]"),
    subcommand("kill", 2, "noscript allow_busy")
        .while_busy(|busy, _, reply| kill(busy.server, ScriptSort::Function, reply))
        .tips("request_policy:all_shards response_policy:one_succeeded")
        .docs("Stops the running function", ""),
    subcommand("list", -2, "noscript").tips("nondeterministic_output_order")
        .docs("Describes the libraries", "[LIBRARYNAME=library-name-pattern] [WITHCODE]"),
    subcommand("load", -3, "write denyoom noscript")
        .tips("request_policy:all_shards response_policy:all_succeeded")
        .docs("Makes or replaces a library", "[REPLACE] function-code"),
    subcommand("restore", -3, "write denyoom noscript")
        .tips("request_policy:all_shards response_policy:all_succeeded")
        .docs("Makes the libraries of a payload", "serialized-value [policy(FLUSH|APPEND|REPLACE)]"),
    subcommand("stats", 2, "noscript allow_busy")
        .while_busy(|busy, _, reply| function_stats(busy.server, reply))
        .tips("nondeterministic_output request_policy:all_shards response_policy:special")
        .docs("Describes the running function and the engine", ""),
    HELP,
];

#[rustfmt::skip]
const SCRIPT: &[Subcommand] = &[
    subcommand("debug", 3, "noscript").docs("Sets the mode of the debugger", "mode(YES|SYNC|NO)"),
    subcommand("exists", -3, "noscript").tips("request_policy:all_shards response_policy:agg_logical_and")
        .docs("Tells which scripts are kept", "sha1..."),
    subcommand("flush", -2, "noscript").tips("request_policy:all_nodes response_policy:all_succeeded")
        .docs("Forgets all scripts", "[async(ASYNC|SYNC)]"),
    subcommand("kill", 2, "noscript allow_busy")
        .while_busy(|busy, _, reply| kill(busy.server, ScriptSort::Script, reply))
        .tips("request_policy:all_shards response_policy:one_succeeded")
        .docs("Stops the running script", ""),
    subcommand("load", 3, "noscript stale").tips("request_policy:all_nodes response_policy:all_succeeded")
        .docs("Keeps a script", "script"),
    HELP,
];

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Scripting, [
    command("eval", -3, "noscript stale skip_monitor no_mandatory_keys", runs(Text))
        .counted_keys(2, "RW access update").docs("Runs a script", "script numkeys:int [key@0...] [arg...]"),
    command("evalsha", -3, "noscript stale skip_monitor no_mandatory_keys", runs(Digest))
        .counted_keys(2, "RW access update")
        .docs("Runs a script by its digest", "sha1 numkeys:int [key@0...] [arg...]"),
    command("eval_ro", -3, "readonly noscript stale skip_monitor no_mandatory_keys", only_reads(Text))
        .counted_keys(2, "RO access")
        .docs("Runs a script that only reads", "script numkeys:int [key@0...] [arg...]"),
    command("evalsha_ro", -3, "readonly noscript stale skip_monitor no_mandatory_keys", only_reads(Digest))
        .counted_keys(2, "RO access")
        .docs("Runs a script that only reads, by its digest", "sha1 numkeys:int [key@0...] [arg...]"),
    command("fcall", -3, "noscript stale skip_monitor no_mandatory_keys", runs(Function))
        .counted_keys(2, "RW access update")
        .docs("Runs a function", "function numkeys:int [key@0...] [arg...]"),
    command("fcall_ro", -3, "readonly noscript stale skip_monitor no_mandatory_keys", only_reads(Function))
        .counted_keys(2, "RO access")
        .docs("Runs a function that only reads", "function numkeys:int [key@0...] [arg...]"),
    command("function", -2, "", General(super::function)).subcommands(FUNCTION)
        .docs("Keeps, lists, copies and removes libraries of functions", ""),
    command("script", -2, "", General(super::script)).subcommands(SCRIPT)
        .docs("Keeps, lists, forgets and stops scripts", ""),
]);
