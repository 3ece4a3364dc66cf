//! SUNION, SINTER, SDIFF, SINTERCARD, and their forms that store the result. As for sorted sets,
//! all are exclusive, and those that only read continue in slices if the sets are large.

use crate::commands::command_error::SYNTAX;
use crate::commands::multi_pop::parse_positive;
use crate::commands::sorted_sets::{
    MemberFormat, SetOperation, SetOperationQuery, count_with, parse_limit, put_found, reply_with,
};
use crate::commands::{CommandContext, CommandError, CommandResult, is};
use crate::resp::{Args, Reply};
use skein_data::CollectionKind;

pub(super) fn answer(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    operation: SetOperation,
) -> CommandResult {
    let wanted = SetOperationQuery::of_plain_sets(context, operation, args.from(1))?;
    reply_with(context, wanted, MemberFormat::Set, reply)
}

pub(super) fn store(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    operation: SetOperation,
) -> CommandResult {
    let wanted = SetOperationQuery::of_plain_sets(context, operation, args.from(2))?;
    let found = wanted.find(&mut context.session)?;
    put_found(context, CollectionKind::Set, args.get(1), &found, reply)
}

pub(super) fn sinter_card(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let count = parse_positive(args.get(1), "ERR numkeys should be greater than 0")?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > args.len() - 2 {
        return Err(CommandError::text("ERR Number of keys can't be greater than number of args"));
    }
    let (mut rest, mut limit) = (args.from(2 + count), 0);
    while let Some(word) = rest.next() {
        let (true, Some(number)) = (is(word, "LIMIT"), rest.next()) else { return Err(SYNTAX) };
        limit = parse_limit(number)?;
    }
    let keys = args.from(2).take(count);
    let wanted = SetOperationQuery::of_plain_sets(context, SetOperation::Intersection, keys)?;
    count_with(context, wanted, limit, reply)
}
