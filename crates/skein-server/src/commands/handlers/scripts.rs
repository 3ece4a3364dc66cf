//! Commands of scripts, one line each.

use super::super::Handler::{General, Script};
use super::super::scripts::{function, script};
use super::super::{ScriptKind, ScriptSource};
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("eval", Script(ScriptKind { source: ScriptSource::Text, read_only: false })),
    row("evalsha", Script(ScriptKind { source: ScriptSource::Digest, read_only: false })),
    row("eval_ro", Script(ScriptKind { source: ScriptSource::Text, read_only: true })),
    row("evalsha_ro", Script(ScriptKind { source: ScriptSource::Digest, read_only: true })),
    row("fcall", Script(ScriptKind { source: ScriptSource::Function, read_only: false })),
    row("fcall_ro", Script(ScriptKind { source: ScriptSource::Function, read_only: true })),
    row("function", General(function)),
    row("script", General(script)),
];
