//! ZADD and ZINCRBY.

use crate::commands::command_error::{NOT_A_FLOAT, SYNTAX};
use crate::commands::{CommandError, CommandResult, Replied, RequestRun, is};
use crate::resp::double::parse_double;
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, RowWriter as _, SetWriter};

const NOT_A_NUMBER: CommandError = CommandError::text("ERR resulting score is not a number (NaN)");

/// The options of ZADD.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct ZaddOptions {
    pub(crate) if_absent: bool,
    pub(crate) if_present: bool,
    if_greater: bool,
    if_less: bool,
    /// Whether the reply counts changed members too.
    pub(crate) changed: bool,
    increment: bool,
}

impl ZaddOptions {
    /// Parses the options. Returns them and the index of the first score.
    fn parse(args: &Args) -> CommandResult<(Self, usize)> {
        let mut options = Self::default();
        let mut first = 2;
        for arg in args.from(2) {
            let known = [
                ("NX", &mut options.if_absent),
                ("XX", &mut options.if_present),
                ("GT", &mut options.if_greater),
                ("LT", &mut options.if_less),
                ("CH", &mut options.changed),
                ("INCR", &mut options.increment),
            ];
            let Some((_, flag)) = known.into_iter().find(|(word, _)| is(arg, word)) else { break };
            *flag = true;
            first += 1;
        }
        let values = args.len() - first;
        if values == 0 || !values.is_multiple_of(2) {
            return Err(SYNTAX);
        }
        options.check(values / 2)?;
        Ok((options, first))
    }

    fn check(self, pairs: usize) -> CommandResult<()> {
        let Self { if_absent, if_present, if_greater, if_less, .. } = self;
        if if_absent && if_present {
            return Err(CommandError::text("ERR XX and NX options at the same time are not compatible"));
        }
        if [if_absent, if_greater, if_less].into_iter().filter(|set| *set).count() > 1 {
            return Err(CommandError::text(
                "ERR GT, LT, and/or NX options at the same time are not compatible",
            ));
        }
        if self.increment && pairs > 1 {
            return Err(CommandError::text("ERR INCR option supports a single increment-element pair"));
        }
        Ok(())
    }

    /// Returns the member's new score, or `None` if the options leave it unchanged.
    fn decide(self, before: Option<f64>, given: f64) -> CommandResult<Option<f64>> {
        let Some(before) = before else { return Ok((!self.if_present).then_some(given)) };
        if self.if_absent {
            return Ok(None);
        }
        let score = if self.increment { before + given } else { given };
        if score.is_nan() {
            return Err(NOT_A_NUMBER);
        }
        let refused = (self.if_less && score >= before) || (self.if_greater && score <= before);
        Ok((!refused).then_some(score))
    }
}

/// The result of ZADD.
#[derive(Clone, Copy, Default)]
struct ZaddOutcome {
    new: usize,
    updated: usize,
    /// The last member's score, or `None` if an option left it unchanged.
    score: Option<f64>,
}

impl ZaddOutcome {
    /// Returns the number of members that the reply counts.
    fn counted(self, options: ZaddOptions) -> usize {
        if options.changed { self.new + self.updated } else { self.new }
    }
}

/// Sets the scores of members.
fn add_pairs(
    set: &mut SetWriter,
    pairs: &[(f64, &[u8])],
    options: ZaddOptions,
) -> CommandResult<ZaddOutcome> {
    let mut added = ZaddOutcome::default();
    for (given, member) in pairs {
        set.update::<CommandError>(member, |before| {
            added.score = options.decide(before, *given)?;
            added.new += usize::from(before.is_none() && added.score.is_some());
            added.updated += usize::from(before.is_some() && added.score.is_some() && added.score != before);
            Ok(added.score)
        })?;
    }
    Ok(added)
}

fn add(
    writer: &mut EngineWriter,
    key: &[u8],
    pairs: &[(f64, &[u8])],
    options: ZaddOptions,
) -> CommandResult<ZaddOutcome> {
    let added = writer.change_set(key, !options.if_present, |set| {
        set.expect(pairs.iter().map(|(_, member)| *member));
        add_pairs(set, pairs, options)
    })?;
    Ok(added.unwrap_or_default())
}

/// Sets the scores of members. Returns the number for the reply.
pub(crate) fn add_scored(
    writer: &mut EngineWriter,
    key: &[u8],
    pairs: &[(f64, &[u8])],
    options: ZaddOptions,
) -> CommandResult<usize> {
    let added = add(writer, key, pairs, options)?;
    Ok(added.counted(options))
}

/// A request of ZADD.
struct ZaddQuery<'r> {
    options: ZaddOptions,
    pairs: Vec<(f64, &'r [u8])>,
}

impl<'r> ZaddQuery<'r> {
    fn parse(request: &Args<'r>) -> CommandResult<Self> {
        let (options, first) = ZaddOptions::parse(request)?;
        let mut rest = request.from(first);
        let mut pairs = Vec::with_capacity(rest.len() / 2);
        while rest.len() > 0 {
            pairs.push(next_pair(&mut rest)?);
        }
        Ok(Self { options, pairs })
    }

    fn reply(&self, added: ZaddOutcome, reply: &mut Reply) {
        if !self.options.increment {
            return reply.count(added.counted(self.options));
        }
        match added.score {
            Some(score) => reply.double(score),
            None => reply.null(),
        }
    }
}

pub(super) fn zadd(writer: &mut EngineWriter, run: &RequestRun, reply: &mut Reply) -> CommandResult<usize> {
    let mut queries = run.requests.iter().map(ZaddQuery::parse).collect::<Result<Vec<_>, _>>()?;
    let makes = !queries[0].options.if_present;
    queries.truncate(queries.iter().take_while(|query| query.options.if_present != makes).count());
    let added = writer.change_set(run.key, makes, |set| {
        set.expect(queries.iter().flat_map(|query| &query.pairs).map(|(_, member)| *member));
        let add = |query: &ZaddQuery<'_>| add_pairs(set, &query.pairs, query.options);
        queries.iter().map(add).collect::<Result<Vec<_>, CommandError>>()
    })?;
    let added = added.unwrap_or_else(|| vec![ZaddOutcome::default(); queries.len()]);
    for (query, added) in queries.iter().zip(added) {
        query.reply(added, reply);
    }
    Ok(queries.len())
}

fn next_pair<'a>(rest: &mut impl Iterator<Item = &'a [u8]>) -> CommandResult<(f64, &'a [u8])> {
    let score = parse_double(rest.next().ok_or(SYNTAX)?).ok_or(NOT_A_FLOAT)?;
    Ok((score, rest.next().ok_or(SYNTAX)?))
}

pub(super) fn zincr_by(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    // As in Redis, an increment that reads like an option of ZADD is taken as one, and too few
    // arguments remain.
    let (options, _) = ZaddOptions::parse(args)?;
    let by = parse_double(args.get(2)).ok_or(NOT_A_FLOAT)?;
    let options = ZaddOptions { increment: true, ..options };
    let added = add(writer, args.get(1), &[(by, args.get(3))], options)?;
    reply.double(added.score.unwrap_or(by));
    Ok(())
}
