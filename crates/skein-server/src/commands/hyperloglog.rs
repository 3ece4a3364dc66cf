//! Commands on HyperLogLogs. `crate::redis::hyperloglog` has their format and their arithmetic.
//!
//! ```text
//!   PFADD    Handler::Write         a copy of the value ─► registers raised ─► stored
//!   PFCOUNT  one key: Handler::Read if the header has the count; otherwise the count is stored
//!            several: the union of their registers, as of one moment
//!   PFMERGE  Handler::Exclusive     the union of all ─► raises registers of the first key
//! ```
//!
//! As in Redis, PFCOUNT and PFDEBUG may change the bytes of a value: the kept count, the encoding.

pub(crate) mod table;

use std::fmt::Write as _;

use super::command_error::{CommandError, Replied};
use super::reply_limit::check_reply_bytes;
use super::strings::{changed, value_of};
use super::task::{SliceResult, TaskProgress, TaskSlice};
use super::{AfterCommand, CommandContext, CommandResult, QUOTED_BYTES_MAX, SlicedTask, is, quoted};
use crate::redis::hyperloglog::{
    CorruptRuns, Encoding, HyperLogLog, REGISTERS, RegisterUnion, SelfTest, runs,
};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, RowChange, RowView, RowWriter as _};

const OTHER_VALUE: CommandError =
    CommandError::text("WRONGTYPE Key is not a valid HyperLogLog string value.");

impl From<CorruptRuns> for CommandError {
    fn from(_: CorruptRuns) -> Self {
        Self::text("INVALIDOBJ Corrupted HLL object detected")
    }
}

/// Returns a value as a HyperLogLog.
fn of(value: &[u8]) -> CommandResult<HyperLogLog<&[u8]>> {
    HyperLogLog::of(value).ok_or(OTHER_VALUE)
}

/// Returns the HyperLogLog of a row, if there is a row.
fn of_row(row: Option<RowView<'_>>) -> Result<Option<HyperLogLog<&[u8]>>, CommandError> {
    value_of(row.map(RowView::row))?.map(of).transpose()
}

pub(super) fn pf_add(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let updated = writer.update(args.get(1), |row, rows| {
        let (mut value, mut changes) = match value_of(row)? {
            Some(value) => (of(value)?.to_owned(), false),
            None => (HyperLogLog::new(), true),
        };
        for element in args.from(2) {
            changes |= value.add(element)?;
        }
        if !changes {
            return Ok::<_, CommandError>(RowChange::Keep);
        }
        value.forget_count();
        changed(rows, row, &[value.bytes()])
    })?;
    reply.int(updated.changed.into());
    Ok(())
}

/// Replies with the count of one key, if its header has it. Otherwise defers the reply.
pub(super) fn pf_count_cached(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    if args.len() > 2 {
        return reply.put_off();
    }
    match of_row(row) {
        Err(fault) => fault.write(reply),
        Ok(None) => reply.int(0),
        Ok(Some(value)) => match value.cached_count() {
            Some(count) => reply.int(count.cast_signed()),
            None => reply.put_off(),
        },
    }
}

pub(super) fn pf_count(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let count = if args.len() > 2 { count_union(context, args)? } else { count_one(context, args.get(1))? };
    reply.int(count.cast_signed());
    Ok(AfterCommand::Done)
}

/// Returns the count of one key, and keeps it in the value.
fn count_one(context: &mut CommandContext, key: &[u8]) -> CommandResult<u64> {
    let (mut count, mut found) = (0, false);
    let counted = context.write(|writer| {
        writer.update(key, |row, rows| {
            (count, found) = (0, row.is_some());
            let Some(value) = value_of(row)? else { return Ok(RowChange::Keep) };
            let value = of(value)?;
            if let Some(cached) = value.cached_count() {
                count = cached;
                return Ok(RowChange::Keep);
            }
            count = value.count()?;
            let mut value = value.to_owned();
            value.cache_count(count);
            changed(rows, row, &[value.bytes()])
        })
    });
    context.client.lookups.note(found);
    counted?;
    Ok(count)
}

/// Returns the count of the union of all keys.
fn count_union(context: &mut CommandContext, args: &Args) -> CommandResult<u64> {
    let keys: Vec<&[u8]> = args.from(1).collect();
    let bytes_max = context.shared.settings.reply_bytes_max.get();
    let (mut union, mut added) = (RegisterUnion::new(), Ok(()));
    let lookups = &mut context.client.lookups;
    context.session.get_many_atomic(&keys, bytes_max, |_, row| {
        lookups.note(row.is_some());
        if added.is_ok() {
            added = add_row(&mut union, row).map(drop);
        }
    })?;
    added.map(|()| union.count())
}

/// Adds the HyperLogLog of a row to a union, and returns its encoding.
fn add_row(union: &mut RegisterUnion, row: Option<RowView>) -> CommandResult<Option<Encoding>> {
    let Some(value) = of_row(row)? else { return Ok(None) };
    union.add(&value)?;
    Ok(Some(value.encoding()))
}

pub(super) fn pf_merge(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let (mut union, mut dense) = (RegisterUnion::new(), false);
    for key in args.from(1) {
        let encoding = context.look_up(key, |row| add_row(&mut union, row?))?;
        dense |= encoding == Some(Encoding::Dense);
    }
    context.write(|writer| {
        writer.update(args.get(1), |row, rows| {
            let mut value = match value_of(row)? {
                Some(value) => of(value)?.to_owned(),
                None => HyperLogLog::new(),
            };
            if dense {
                value.make_dense()?;
            }
            union.set().try_for_each(|(register, to)| value.raise(register, to).map(drop))?;
            value.forget_count();
            changed(rows, row, &[value.bytes()])
        })
    })?;
    reply.ok();
    Ok(AfterCommand::Done)
}

pub(super) fn pf_debug(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let bytes_max = context.shared.settings.reply_bytes_max.get();
    let start = reply.position();
    context.write(|writer| {
        writer.update(args.get(2), |row, rows| {
            reply.truncate(start);
            let value = value_of(row)?.ok_or(CommandError::text("ERR The specified key does not exist"))?;
            match show(args.get(1), &of(value)?, bytes_max, reply)? {
                Some(dense) => changed(rows, row, &[dense.bytes()]),
                None => Ok::<_, CommandError>(RowChange::Keep),
            }
        })
    })?;
    Ok(AfterCommand::Done)
}

/// Replies to a subcommand of PFDEBUG. Returns the value in its new encoding, if it gets one.
fn show(
    subcommand: &[u8],
    value: &HyperLogLog<&[u8]>,
    bytes_max: usize,
    reply: &mut Reply,
) -> Result<Option<HyperLogLog<Vec<u8>>>, CommandError> {
    let is_sparse = value.encoding() == Encoding::Sparse;
    let dense = || {
        let mut dense = value.to_owned();
        dense.make_dense().map(|()| Some(dense).filter(|_| is_sparse))
    };
    if is(subcommand, "GETREG") {
        let mut registers = RegisterUnion::new();
        registers.add(value)?;
        reply.array(REGISTERS);
        registers.values().iter().for_each(|value| reply.int((*value).into()));
        Ok(dense()?)
    } else if is(subcommand, "TODENSE") {
        let dense = dense()?;
        reply.int(is_sparse.into());
        Ok(dense)
    } else if is(subcommand, "ENCODING") {
        reply.simple(if is_sparse { "sparse" } else { "dense" });
        Ok(None)
    } else if is(subcommand, "DECODE") {
        if !is_sparse {
            return Err(CommandError::text("ERR HLL encoding is not sparse"));
        }
        reply.bulk(decoded(value, bytes_max)?.as_bytes());
        Ok(None)
    } else {
        let name = quoted(subcommand, QUOTED_BYTES_MAX);
        Err(CommandError::owned([b"ERR Unknown PFDEBUG subcommand '", name, b"'"].concat()))
    }
}

/// Returns the runs of a sparse value as a text.
fn decoded(value: &HyperLogLog<&[u8]>, bytes_max: usize) -> CommandResult<String> {
    let mut text = String::new();
    for (run, has_two_bytes) in runs(value.registers()) {
        if !text.is_empty() {
            text.push(' ');
        }
        // Writing to a string does not fail.
        let _ = match run.value {
            0 if has_two_bytes => write!(text, "Z:{}", run.len),
            0 => write!(text, "z:{}", run.len),
            value => write!(text, "v:{value},{}", run.len),
        };
        check_reply_bytes(text.len(), bytes_max, "GET returns the bytes themselves")?;
    }
    Ok(text)
}

pub(super) fn pf_self_test(_: &mut CommandContext, _: &Args, _: &mut Reply) -> CommandResult {
    Ok(AfterCommand::slices(SelfTestTask(SelfTest::new())))
}

/// PFSELFTEST, which takes about a second.
pub(crate) struct SelfTestTask(SelfTest);

impl SlicedTask for SelfTestTask {
    fn step(&mut self, _: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        match self.0.step() {
            Ok(false) => Ok(TaskProgress::More),
            Ok(true) => {
                reply.ok();
                Ok(TaskProgress::Done)
            }
            Err(failure) => Err(CommandError::owned(format!("ERR TESTFAILED {failure}"))),
        }
    }

    fn held(&self) -> usize {
        self.0.memory()
    }
}
