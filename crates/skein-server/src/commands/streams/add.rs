//! XADD and XTRIM.

use super::ids::{GivenId, parse_given, parse_id};
use super::replies::write_id;
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::{CommandError, CommandResult, Replied, RequestRun, is};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, FieldsBuilder, NewId, StreamId, StreamWriter, TrimRule, Trimming};
use skein_syntax::number::parse_i64;

const TWO_RULES: CommandError =
    CommandError::text("ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
const NO_RULE: CommandError =
    CommandError::text("ERR syntax error, XTRIM must be called with a trimming strategy");
const LIMIT_WITHOUT_RULE: CommandError =
    CommandError::text("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
const LIMIT_OF_EXACT: CommandError =
    CommandError::text("ERR syntax error, LIMIT cannot be used without the special ~ option");
const NEGATIVE_LENGTH: CommandError = CommandError::text("ERR The MAXLEN argument must be >= 0.");
const NEGATIVE_LIMIT: CommandError = CommandError::text("ERR The LIMIT argument must be >= 0.");
const LEAST_ID: CommandError = CommandError::text("ERR The ID specified in XADD must be greater than 0-0");
const NO_MORE_IDS: CommandError =
    CommandError::text("ERR The stream has exhausted the last possible ID, unable to add more items");
const NOT_GREATER: CommandError =
    CommandError::text("ERR The ID specified in XADD is equal or smaller than the target stream top item");

/// A trimming with `~` removes whole groups of this number of entries, as Redis removes whole nodes
/// of its default size.
pub(crate) const GROUP: u64 = 100;
/// The most entries that a trimming with `~` removes, unless LIMIT says otherwise.
const MOST: u64 = 100 * GROUP;

/// The options that XADD and XTRIM share.
#[derive(Default)]
struct TrimQuery {
    rule: Option<TrimRule>,
    is_approximate: bool,
    limit: Option<u64>,
}

impl TrimQuery {
    /// Reads an option at `at`. Returns the position behind it, or `None` if no option of trimming
    /// is there.
    fn read(&mut self, args: &Args, at: usize) -> CommandResult<Option<usize>> {
        let (word, more) = (args.get(at), args.len() - 1 - at);
        let by_length = is(word, "MAXLEN");
        if more > 0 && (by_length || is(word, "MINID")) {
            return self.read_rule(args, at + 1, by_length).map(Some);
        }
        if more > 0 && is(word, "LIMIT") {
            let limit = parse_i64(args.get(at + 1)).ok_or(NOT_AN_INTEGER)?;
            self.limit = Some(u64::try_from(limit).map_err(|_| NEGATIVE_LIMIT)?);
            return Ok(Some(at + 2));
        }
        Ok(None)
    }

    fn read_rule(&mut self, args: &Args, mut at: usize, by_length: bool) -> CommandResult<usize> {
        if self.rule.is_some() {
            return Err(TWO_RULES);
        }
        self.is_approximate = false;
        if at + 1 < args.len() && matches!(args.get(at), b"~" | b"=") {
            self.is_approximate = args.get(at) == b"~";
            at += 1;
        }
        self.rule = Some(if by_length {
            let len = parse_i64(args.get(at)).ok_or(NOT_AN_INTEGER)?;
            TrimRule::Length(u64::try_from(len).map_err(|_| NEGATIVE_LENGTH)?)
        } else {
            TrimRule::From(parse_id(args.get(at))?)
        });
        Ok(at + 1)
    }

    fn trimming(&self, must_have_rule: bool) -> CommandResult<Option<Trimming>> {
        match self.rule {
            None if self.limit.is_some_and(|limit| limit > 0) => Err(LIMIT_WITHOUT_RULE),
            None if must_have_rule => Err(NO_RULE),
            _ if self.limit.is_some() && !self.is_approximate => Err(LIMIT_OF_EXACT),
            None => Ok(None),
            Some(rule) if self.is_approximate => {
                let most = Some(self.limit.unwrap_or(MOST)).filter(|most| *most > 0);
                Ok(Some(Trimming { rule, group: GROUP, most }))
            }
            Some(rule) => Ok(Some(Trimming { rule, group: 1, most: None })),
        }
    }
}

/// A request of XADD.
struct AddQuery {
    trimming: Option<Trimming>,
    makes: bool,
    /// `None` leaves the id to the server.
    id: Option<GivenId>,
    fields: FieldsBuilder,
}

impl AddQuery {
    fn parse(args: &Args) -> CommandResult<Self> {
        let (mut trim, mut makes, mut id, mut at) = (TrimQuery::default(), true, None, 2);
        while at < args.len() {
            let word = args.get(at);
            if word == b"*" {
                break;
            }
            if let Some(next) = trim.read(args, at)? {
                at = next;
            } else if is(word, "NOMKSTREAM") {
                makes = false;
                at += 1;
            } else {
                id = Some(parse_given(word)?);
                break;
            }
        }
        let trimming = trim.trimming(false)?;
        let fields = at + 1;
        let count = args.len().saturating_sub(fields);
        if count < 2 || count % 2 == 1 {
            return Err(CommandError::wrong_arity("xadd"));
        }
        if id == Some(GivenId::Exact(StreamId::MIN)) {
            return Err(LEAST_ID);
        }
        Ok(Self { trimming, makes, id, fields: FieldsBuilder::of(args.from(fields)) })
    }

    fn new_id(&self, now: u64) -> NewId {
        match self.id {
            None => NewId::At(now),
            Some(GivenId::Within(ms)) => NewId::Within(ms),
            Some(GivenId::Exact(id)) => NewId::Exact(id),
        }
    }

    fn add_to(&self, stream: &mut StreamWriter, now: u64) -> CommandResult<StreamId> {
        if stream.head().last_id == StreamId::MAX {
            return Err(NO_MORE_IDS);
        }
        let id = stream.add(self.new_id(now), &self.fields)?.ok_or(NOT_GREATER)?;
        if let Some(trimming) = &self.trimming {
            stream.trim(trimming)?;
        }
        Ok(id)
    }
}

pub(super) fn xadd(writer: &mut EngineWriter, run: &RequestRun, reply: &mut Reply) -> CommandResult<usize> {
    let now = writer.now();
    let mut queries = run.requests.iter().map(AddQuery::parse).collect::<Result<Vec<_>, _>>()?;
    let makes = queries[0].makes;
    queries.truncate(queries.iter().take_while(|query| query.makes == makes).count());
    let added = writer.change_stream(run.key, makes, |stream| {
        let add = |query: &AddQuery| query.add_to(stream, now);
        queries.iter().map(add).collect::<Result<Vec<_>, CommandError>>()
    })?;
    match added {
        Some(ids) => ids.into_iter().for_each(|id| write_id(id, reply)),
        None => queries.iter().for_each(|_| reply.null()),
    }
    Ok(queries.len())
}

pub(super) fn xtrim(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let (mut trim, mut at) = (TrimQuery::default(), 2);
    while at < args.len() {
        at = trim.read(args, at)?.ok_or(SYNTAX)?;
    }
    let trimming = trim.trimming(true)?.ok_or(NO_RULE)?;
    let removed =
        writer.change_stream(args.get(1), false, |stream| Ok::<_, CommandError>(stream.trim(&trimming)?))?;
    reply.places(removed.unwrap_or(0));
    Ok(())
}
