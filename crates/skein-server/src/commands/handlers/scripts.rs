//! Commands of scripts, one line each.

use super::super::Handler::{General, Script};
use super::super::ScriptKind;
use super::super::scripts::script;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("eval", Script(ScriptKind { by_digest: false, read_only: false })),
    row("evalsha", Script(ScriptKind { by_digest: true, read_only: false })),
    row("eval_ro", Script(ScriptKind { by_digest: false, read_only: true })),
    row("evalsha_ro", Script(ScriptKind { by_digest: true, read_only: true })),
    row("script", General(script)),
];
