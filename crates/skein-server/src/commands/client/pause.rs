//! CLIENT PAUSE and UNPAUSE; and UNBLOCK, which has nothing to do.

use std::time::Duration;

use skein_syntax::number::parse_i64;

use super::{Answer, is};
use crate::commands::fault::NOT_AN_INTEGER;
use crate::commands::subcommands::unknown_or_wrong;
use crate::commands::{Fault, Next};
use crate::pause::{Held, LONGEST};
use crate::resp::{Args, Reply};
use crate::shared::Shared;

/// Answers when no worker runs anything any more that is held back.
pub(super) fn begin(shared: &Shared, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    let held = match args.len() {
        3 => Held::All,
        4 if is(args.get(3), "WRITE") => Held::Writes,
        4 if is(args.get(3), "ALL") => Held::All,
        4 => return Err(Fault::text("ERR CLIENT PAUSE mode must be WRITE or ALL")),
        _ => return Err(unknown_or_wrong("client", args)),
    };
    shared.pause.begin(held, parse_time(args.get(2))?);
    reply.ok();
    Ok(Next::Fence)
}

fn parse_time(text: &[u8]) -> Result<Duration, Fault> {
    let millis = parse_i64(text).ok_or(Fault::text("ERR timeout is not an integer or out of range"))?;
    let millis = u64::try_from(millis).map_err(|_| Fault::text("ERR timeout is negative"))?;
    let time = Duration::from_millis(millis);
    if time > LONGEST {
        let most = LONGEST.as_millis();
        return Err(Fault::owned(format!(
            "ERR timeout is out of range: a pause has at most {most} milliseconds"
        )));
    }
    Ok(time)
}

pub(super) fn end(shared: &Shared, reply: &mut Reply<'_>) {
    shared.pause.end();
    shared.wake_workers();
    reply.ok();
}

/// No client waits for what another does, so there is none to be let go.
pub(super) fn unblock(args: &Args<'_>, reply: &mut Reply<'_>) -> Result<(), Fault> {
    match args.len() {
        3 => {}
        4 if is(args.get(3), "TIMEOUT") || is(args.get(3), "ERROR") => {}
        4 => return Err(Fault::text("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
        _ => return Err(unknown_or_wrong("client", args)),
    }
    parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    reply.int(0);
    Ok(())
}
