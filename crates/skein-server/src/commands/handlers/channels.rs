//! Commands of publish and subscribe, one line each.

use super::super::Handler::General;
use super::super::channels as c;
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("psubscribe", General(c::psubscribe)),
    row("publish", General(c::publish)),
    row("pubsub", General(c::pubsub)),
    row("punsubscribe", General(c::punsubscribe)),
    row("spublish", General(c::spublish)),
    row("ssubscribe", General(c::ssubscribe)),
    row("subscribe", General(c::subscribe)),
    row("sunsubscribe", General(c::sunsubscribe)),
    row("unsubscribe", General(c::unsubscribe)),
];
