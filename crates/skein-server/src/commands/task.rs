//! Commands that take long, done in slices.
//!
//! ```text
//!   turn 1: ... SK.RANGE - +  ├ slice ┤  other clients  turn 2: ├ slice ┤  other clients  turn 3: ├ slice ┤ reply
//! ```
//!
//! A worker serves many clients, so nothing it does may take long. A task goes on from the key where its last
//! slice ended; the connection's later requests wait for it, other connections do not. The memory of the
//! store that a scan pins is let go between slices. A range of a snapshot keeps that until its last key; then slices follow that let go what
//! was kept for it, since others may have written much meanwhile.

use std::ops::{Bound, ControlFlow};

use super::Fault;
use super::hashes::write_named;
use super::skein::bounds::Range;
use super::skein::write_held;
use crate::engine::{Direction, Release, RowRef, Session, Snapshot, Ticket};
use crate::resp::{Protocol, Reply};

/// Keys of a slice that writes what they hold.
const SLICE_KEYS: usize = 256;
/// Keys of a slice that only counts.
const SLICE_KEYS_COUNTED: usize = 4096;
/// What a slice lets go that was kept for a snapshot.
const SLICE_VERSIONS: usize = 1024;
/// A slice also ends when it has written this much.
const SLICE_BYTES: usize = 256 << 10;

/// What is written of each key.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    /// The key and what it holds.
    Entries,
    /// The key alone.
    Keys,
    /// The key and these columns, null where there is none.
    Columns(Vec<Vec<u8>>),
}

/// A command that is being done in slices.
pub(crate) enum Task {
    Range(RangeTask),
    Count(CountTask),
    Remove(RemoveTask),
}

/// How a slice ended.
pub(crate) enum Progress {
    /// There is more to do.
    More,
    /// The reply is written.
    Done,
    /// The open array is complete with so many elements.
    DoneArray(usize),
}

/// What a slice has at hand.
pub(crate) struct Slice<'s> {
    pub session: &'s mut Session,
    /// Until when the reply must be held back.
    pub ticket: Ticket,
    /// Bytes that the reply may have in all.
    pub reply_bytes_max: usize,
    /// Where the reply began.
    pub start: usize,
}

impl Task {
    /// Whether the reply is an array whose length is known at the end.
    pub(crate) fn writes_open_array(&self) -> bool {
        matches!(self, Self::Range(_))
    }

    pub(crate) fn step(&mut self, slice: &mut Slice<'_>, reply: &mut Reply<'_>) -> Result<Progress, Fault> {
        match self {
            Self::Range(task) => task.step(slice, reply),
            Self::Count(task) => task.step(slice, reply),
            Self::Remove(task) => task.step(slice, reply),
        }
    }
}

/// `SK.RANGE`, `SK.PREFIX`
pub(crate) struct RangeTask {
    range: Range,
    direction: Direction,
    /// Keys still wanted.
    left: usize,
    shape: Shape,
    elements: usize,
    /// All slices are of this moment; without it each is of its own time.
    snapshot: Option<Snapshot>,
    /// How the range ended, while what was kept for its snapshot is let go.
    ended: Option<(Result<Progress, Fault>, Release)>,
}

impl RangeTask {
    pub(crate) fn new(
        range: Range,
        direction: Direction,
        limit: usize,
        shape: Shape,
        snapshot: Option<Snapshot>,
    ) -> Self {
        Self { range, direction, left: limit, shape, elements: 0, snapshot, ended: None }
    }

    fn step(&mut self, slice: &mut Slice<'_>, reply: &mut Reply<'_>) -> Result<Progress, Fault> {
        if self.ended.is_none() {
            let progress = self.write_slice(slice, reply);
            let ended = !matches!(progress, Ok(Progress::More));
            match self.snapshot.take_if(|_| ended) {
                Some(snapshot) => self.ended = Some((progress, snapshot.release())),
                None => return progress,
            }
        }
        let done = self.ended.take_if(|(_, kept)| !kept.step(SLICE_VERSIONS));
        done.map_or(Ok(Progress::More), |(end, _)| end)
    }

    fn write_slice(&mut self, slice: &mut Slice<'_>, reply: &mut Reply<'_>) -> Result<Progress, Fault> {
        let Self { range, direction, left, shape, elements, snapshot, .. } = self;
        let begin = reply.position();
        let (mut keys, most) = (0, (*left).min(SLICE_KEYS));
        let (mut last, mut fault) = (None, None);
        let write = |key: &[u8], row: RowRef<'_>| {
            match write_entry(key, row, shape, reply) {
                Ok(count) => *elements += count,
                Err(error) => {
                    fault = Some(error);
                    return ControlFlow::Break(());
                }
            }
            keys += 1;
            *left -= 1;
            let full = keys == SLICE_KEYS || reply.position() - begin > SLICE_BYTES;
            if *left == 0 || full {
                last = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        match snapshot {
            Some(snapshot) => snapshot.scan(range.bounds(), *direction, write),
            None => slice.session.scan(range.bounds(), *direction, most, write)?,
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        if reply.position() - slice.start > slice.reply_bytes_max {
            return Err(too_long(slice.reply_bytes_max));
        }
        match last.filter(|_| *left > 0) {
            None => return Ok(Progress::DoneArray(*elements)),
            Some(last) if *direction == Direction::Forward => range.lower = Bound::Excluded(last),
            Some(last) => range.upper = Bound::Excluded(last),
        }
        Ok(Progress::More)
    }
}

/// Writes one key; how many elements that were.
fn write_entry(key: &[u8], row: RowRef<'_>, shape: &Shape, reply: &mut Reply<'_>) -> Result<usize, Fault> {
    if let Shape::Keys = shape {
        reply.bulk(key);
        return Ok(1);
    }
    // As ZRANGE WITHSCORES does: pairs of their own in RESP3, all in one row in RESP2.
    let pairs = reply.protocol() == Protocol::Resp3;
    if pairs {
        reply.array(2);
    }
    reply.bulk(key);
    match shape {
        Shape::Columns(names) => write_named(Some(row), names.iter().map(Vec::as_slice), reply)?,
        _ => write_held(row, reply),
    }
    Ok(if pairs { 1 } else { 2 })
}

fn too_long(limit: usize) -> Fault {
    Fault::owned(format!(
        "ERR the reply would be longer than the limit of {limit} bytes; use LIMIT and go on after the last key"
    ))
}

/// `SK.COUNT`
pub(crate) struct CountTask {
    range: Range,
    count: usize,
}

impl CountTask {
    pub(crate) fn new(range: Range) -> Self {
        Self { range, count: 0 }
    }

    fn step(&mut self, slice: &mut Slice<'_>, reply: &mut Reply<'_>) -> Result<Progress, Fault> {
        let (count, last) = slice.session.step_over(self.range.bounds(), SLICE_KEYS_COUNTED)?;
        self.count += count;
        if let Some(last) = last {
            self.range.lower = Bound::Excluded(last);
            return Ok(Progress::More);
        }
        reply.count(self.count);
        Ok(Progress::Done)
    }
}

/// `SK.DELRANGE`, `FLUSHALL`
pub(crate) struct RemoveTask {
    range: Range,
    count: usize,
    /// Answer with how many keys were removed, and not with OK.
    counts: bool,
}

impl RemoveTask {
    pub(crate) fn new(range: Range, counts: bool) -> Self {
        Self { range, count: 0, counts }
    }

    fn step(&mut self, slice: &mut Slice<'_>, reply: &mut Reply<'_>) -> Result<Progress, Fault> {
        let removed = slice.session.remove_some(self.range.bounds())?;
        slice.ticket = slice.ticket.max(removed.ticket);
        self.count += removed.count;
        if let Some(rest) = removed.rest {
            self.range.lower = rest;
            return Ok(Progress::More);
        }
        if self.counts {
            reply.count(self.count);
        } else {
            reply.ok();
        }
        Ok(Progress::Done)
    }
}
