//! Commands of scripts, one line each.

use super::{CommandSpec, NONE, SCRIPT, SCRIPT_RO, row, subcommands};

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("eval", -3, SCRIPT, NONE, "scripting", "Runs a script").counting_keys_at(2),
    row("evalsha", -3, SCRIPT, NONE, "scripting", "Runs a script by its digest").counting_keys_at(2),
    row("eval_ro", -3, SCRIPT_RO, NONE, "scripting", "Runs a script that only reads").counting_keys_at(2),
    row("evalsha_ro", -3, SCRIPT_RO, NONE, "scripting", "Runs a script that only reads, by its digest").counting_keys_at(2),
    row("fcall", -3, SCRIPT, NONE, "scripting", "Runs a function").counting_keys_at(2),
    row("fcall_ro", -3, SCRIPT_RO, NONE, "scripting", "Runs a function that only reads").counting_keys_at(2),
    row("function", -2, &[], NONE, "scripting", "Keeps, lists, copies and removes libraries of functions").with(subcommands::FUNCTION),
    row("script", -2, &[], NONE, "scripting", "Keeps, lists, forgets and stops scripts").with(subcommands::SCRIPT),
];
