//! The functions that the server calls for the module's commands.
#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "the server's crate calls them so"
)]

use std::ops::Bound;

use skein_index::ScanDirection;
use skein_syntax::{KeyRange, RangeMoment, RangeOptions, RangeProjection};
use valkey_module::{Context, ValkeyError, ValkeyResult, ValkeyString, ValkeyValue};

use crate::answer::{CollectedReply, ReplyPart};
use crate::api::Ctx;
use crate::database;
use crate::job;
use crate::options;
use crate::work::{CountWork, FirstKeyWork, RangeWork, RemoveWork, Requester, SlicedWork};

pub fn error(text: impl Into<String>) -> ValkeyError {
    ValkeyError::String(text.into())
}

/// Checks the number of arguments and that the order is complete. Returns the context and the
/// arguments after the command's name, or the error for the client.
pub fn begin<'c>(
    context: &'c Context,
    args: &'c [ValkeyString],
    least: usize,
    most: usize,
) -> Result<(Ctx<'c>, Vec<&'c [u8]>), ValkeyError> {
    let given = args.len() - 1;
    if given < least || given > most {
        let name = args[0].to_string_lossy().to_ascii_lowercase();
        return Err(error(format!("ERR wrong number of arguments for '{name}' command")));
    }
    if let Some(filling) = database::with(|state| state.filling) {
        let percent = (filling.met * 100).checked_div(filling.of).unwrap_or(100).min(99);
        return Err(error(format!("LOADING the order of the keys is being built: {percent}% done")));
    }
    // SAFETY: the server's own context, for the duration of this call.
    let ctx = unsafe { Ctx::new(context.ctx) };
    Ok((ctx, args[1..].iter().map(ValkeyString::as_slice).collect()))
}

fn run(ctx: Ctx<'_>, work: impl SlicedWork + 'static) -> ValkeyResult {
    job::run(ctx, Box::new(work));
    Ok(ValkeyValue::NoReply)
}

fn give(ctx: Ctx<'_>, part: ReplyPart<&[u8]>) -> ValkeyResult {
    let mut answer = CollectedReply::default();
    answer.push(part);
    answer.give(ctx);
    Ok(ValkeyValue::NoReply)
}

/// Converts a mistake in the request to an error reply.
pub fn mistake(mistake: skein_syntax::SyntaxError) -> ValkeyError {
    error(mistake.to_string())
}

fn over(ctx: Ctx<'_>, command: &str, range: Option<KeyRange>, words: &[&[u8]]) -> ValkeyResult {
    let wanted = range_options(words)?;
    let Some(range) = range.filter(|_| wanted.limit > 0) else { return give(ctx, ReplyPart::Array(0)) };
    run(ctx, range_work(ctx, command, range, wanted))
}

/// Parses the options that follow the bounds of a range. Returns an error for a snapshot and for
/// versions, which the module does not have.
pub fn range_options(words: &[&[u8]]) -> Result<RangeOptions, ValkeyError> {
    let wanted = RangeOptions::parse(words.iter().copied()).map_err(mistake)?;
    if wanted.moment != RangeMoment::Present {
        return no_snapshot();
    }
    if wanted.shown == RangeProjection::Details {
        return Err(error(
            "ERR there are no versions here: the data are the server's own; leave DETAILS out",
        ));
    }
    Ok(wanted)
}

/// Returns the work of a range for the requesting client.
pub fn range_work(ctx: Ctx<'_>, command: &str, range: KeyRange, wanted: RangeOptions) -> RangeWork {
    let direction = if wanted.reverse { ScanDirection::Backward } else { ScanDirection::Forward };
    let (asker, left, shown) = (Requester::of(ctx, command), wanted.limit, wanted.shown);
    RangeWork { asker, range, direction, left, shown, limit: options::max_reply(), elements: 0 }
}

pub fn range(context: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    let (ctx, args) = begin(context, &args, 2, usize::MAX)?;
    over(ctx, "sk.range", KeyRange::parse(args[0], args[1]).map_err(mistake)?, &args[2..])
}

pub fn prefix(context: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    let (ctx, args) = begin(context, &args, 1, usize::MAX)?;
    over(ctx, "sk.prefix", Some(KeyRange::with_prefix(args[0])), &args[1..])
}

pub fn count(context: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    let (ctx, args) = begin(context, &args, 2, 2)?;
    match KeyRange::parse(args[0], args[1]).map_err(mistake)? {
        None => give(ctx, ReplyPart::Integer(0)),
        Some(range) => run(ctx, CountWork { asker: Requester::of(ctx, "sk.count"), range, count: 0 }),
    }
}

pub fn del_range(context: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    let (ctx, args) = begin(context, &args, 2, 2)?;
    match KeyRange::parse(args[0], args[1]).map_err(mistake)? {
        None => give(ctx, ReplyPart::Integer(0)),
        Some(range) => run(ctx, RemoveWork { asker: Requester::of(ctx, "sk.delrange"), range, removed: 0 }),
    }
}

fn one(ctx: Ctx<'_>, command: &str, range: KeyRange, direction: ScanDirection) -> ValkeyResult {
    run(ctx, FirstKeyWork { asker: Requester::of(ctx, command), range, direction })
}

pub fn first(context: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    one(begin(context, &args, 0, 0)?.0, "sk.first", KeyRange::ALL, ScanDirection::Forward)
}

pub fn last(context: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    one(begin(context, &args, 0, 0)?.0, "sk.last", KeyRange::ALL, ScanDirection::Backward)
}

pub fn next(context: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    let (ctx, args) = begin(context, &args, 1, 1)?;
    one(
        ctx,
        "sk.next",
        KeyRange { lower: Bound::Excluded(args[0].to_vec()), ..KeyRange::ALL },
        ScanDirection::Forward,
    )
}

pub fn prev(context: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    let (ctx, args) = begin(context, &args, 1, 1)?;
    one(
        ctx,
        "sk.prev",
        KeyRange { upper: Bound::Excluded(args[0].to_vec()), ..KeyRange::ALL },
        ScanDirection::Backward,
    )
}

/// Replies with the memory figures of the selected database, as a map by name.
pub fn memory(context: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    // SAFETY: the server's own context, for the duration of this call.
    let ctx = unsafe { Ctx::new(context.ctx) };
    if args.len() > 1 {
        return Err(error("ERR wrong number of arguments for 'sk.memory' command"));
    }
    let number = ctx.database();
    let (keys, usage) =
        database::with(|state| state.names(number).map(|names| (names.len(), names.memory())))
            .unwrap_or_default();
    let numbers = [
        ("keys", keys),
        ("live_bytes", usage.live()),
        ("index_bytes", usage.live()),
        ("node_bytes", usage.nodes),
        ("key_bytes", usage.keys),
        ("unreclaimed_bytes", usage.unreclaimed),
        ("used_bytes", usage.live() + usage.unreclaimed),
        ("reserved_bytes", usage.reserved),
        ("live_bytes_per_key", usage.live().checked_div(keys).unwrap_or(0)),
    ];
    let mut answer = CollectedReply::default();
    answer.push(ReplyPart::Map(numbers.len()));
    for (name, number) in numbers {
        answer.push(ReplyPart::Bulk(name.as_bytes()));
        answer.push(ReplyPart::Integer(i64::try_from(number).unwrap_or(i64::MAX)));
    }
    while answer.give(ctx) {}
    Ok(ValkeyValue::NoReply)
}

/// Answers a request for a snapshot, which the module does not have.
fn no_snapshot<T>() -> Result<T, ValkeyError> {
    Err(error("ERR there are no snapshots here: the data are the server's own; leave SNAPSHOT and HELD out"))
}

pub fn no_snapshots(_: &Context, _: Vec<ValkeyString>) -> ValkeyResult {
    no_snapshot()
}

pub fn no_versions(_: &Context, _: Vec<ValkeyString>) -> ValkeyResult {
    Err(error(
        "ERR keys have no versions in the module, so SK.GETV and SK.CAS do not exist; compare and set with WATCH and MULTI, or with a script",
    ))
}
