//! Commands on databases, of which there is one, number 0.

use skein_syntax::number::parse_i64;

use super::fault::NOT_AN_INTEGER;
use super::{Context, Fault, Next};
use crate::resp::{Args, Reply};

const NO_SUCH_DATABASE: Fault = Fault::text("ERR DB index is out of range");

type Answer = Result<Next, Fault>;

/// An integer of 32 bits; else the fault that is given for no integer or for one that is too large.
fn parse_index(text: &[u8], no_integer: Fault, too_large: Fault) -> Result<i32, Fault> {
    i32::try_from(parse_i64(text).ok_or(no_integer)?).map_err(|_| too_large)
}

/// The number of a database; an error if it is not the one.
pub(super) fn check_index(text: &[u8]) -> Result<(), Fault> {
    let out_of_range = Fault::out_of_range(i32::MIN.into(), i32::MAX.into());
    match parse_index(text, NOT_AN_INTEGER, out_of_range)? {
        0 => Ok(()),
        _ => Err(NO_SUCH_DATABASE),
    }
}

pub(super) fn select(_: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    select_at(args, reply).map(|()| Next::Done)
}

pub(super) fn select_at(args: &Args<'_>, reply: &mut Reply<'_>) -> Result<(), Fault> {
    check_index(args.get(1))?;
    reply.ok();
    Ok(())
}

pub(super) fn move_key(_: &mut Context<'_>, args: &Args<'_>, _: &mut Reply<'_>) -> Answer {
    check_index(args.get(2))?;
    Err(Fault::text("ERR source and destination objects are the same"))
}

pub(super) fn swap(_: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    let (first, second) =
        (Fault::text("ERR invalid first DB index"), Fault::text("ERR invalid second DB index"));
    let first = parse_index(args.get(1), first.clone(), first)?;
    let second = parse_index(args.get(2), second.clone(), second)?;
    if (first, second) != (0, 0) {
        return Err(NO_SUCH_DATABASE);
    }
    reply.ok();
    Ok(Next::Done)
}
