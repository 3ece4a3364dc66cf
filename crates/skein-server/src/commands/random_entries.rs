//! Random columns or members of a key: HRANDFIELD, ZRANDMEMBER and SRANDMEMBER. They differ in how
//! they find a few entries ([`DrawSource`]); this module has their common parts.
//!
//! ```text
//!   distinct     view ─► takes or skips each entry ─► reply
//!   repeatable   view ─► entries whose position was drawn ─► picked ─► reply, shuffled
//! ```
//!
//! Few columns of many are drawn without a walk once the hash is prepared for that. The walk of the
//! first request prepares it.
//!
//! In slices, the task walks all entries of a view of one moment, because the view has no ranks.
//! Positions are drawn in ascending order, each when the walk reaches it. So no slice does work
//! that grows with the requested count.

use std::ops::ControlFlow;

use skein_syntax::number::parse_i64;

use super::command_error::{NOT_AN_INTEGER, SYNTAX};
use super::task::{
    AT_ONCE, LongReply, ReplyEnd, SLICE_BYTES, SLICE_KEYS, SliceResult, TaskProgress, TaskSlice,
};
use super::{CommandError, CommandResult, Replied, SlicedTask, is};
use crate::redis::random::{CommandRng, SortedDraws};
use crate::resp::{Args, Protocol, Reply};
use skein_data::MembersView;

/// A walk passes about this number of columns in the time in which one is drawn.
const PASSED_PER_DRAW: usize = 64;

/// The kind of the entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RandomEntryKind {
    Columns,
    /// Members of a sorted set; their values are their scores.
    ScoredMembers,
    /// Members of a set that is not sorted.
    Members,
}

impl RandomEntryKind {
    /// Returns the option that adds the values to the reply.
    fn option(self) -> Option<&'static str> {
        match self {
            Self::Columns => Some("WITHVALUES"),
            Self::ScoredMembers => Some("WITHSCORES"),
            Self::Members => None,
        }
    }
}

/// Entries of a key, as a command finds some of them at once.
pub(super) trait DrawSource {
    /// Returns whether the reply to a query can be written at once. May take a step of the
    /// preparation that makes it so.
    fn is_quick(&self, asked: &RandomQuery) -> bool;

    /// Writes the reply at once.
    fn write_some(&self, asked: &RandomQuery, reply: &mut Reply) -> Replied;

    /// Returns a task that writes the reply in slices.
    fn task(&self, asked: RandomQuery) -> Option<RandomTask>;
}

/// Replies with random entries of a key; `None` if it is absent.
pub(super) fn draw<S: DrawSource>(
    source: Option<&S>,
    asked: RandomQuery,
    reply: &mut Reply,
    long: &mut LongReply,
) -> Replied {
    match source {
        None => asked.nothing(reply),
        Some(source) if source.is_quick(&asked) => return source.write_some(&asked, reply),
        Some(source) => long.begin(reply, || source.task(asked)),
    }
    Ok(())
}

/// The requested number of entries, and their form in the reply.
#[derive(Clone, Copy)]
pub(super) struct RandomQuery {
    pub entries: RandomEntryKind,
    pub count: usize,
    /// No entry is returned twice.
    pub distinct: bool,
    /// The reply includes the values of columns, or the scores.
    pub values: bool,
    /// The reply is one entry instead of an array.
    pub single: bool,
}

impl RandomQuery {
    /// Parses the arguments after the key: nothing, or a count and possibly an option.
    pub(super) fn parse(entries: RandomEntryKind, args: &Args) -> CommandResult<Self> {
        if args.len() == 2 {
            return Ok(Self { entries, count: 1, distinct: true, values: false, single: true });
        }
        // As in Redis, a command without an option counts its arguments first.
        if args.len() > 3 && entries.option().is_none() {
            return Err(SYNTAX);
        }
        let count = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
        if count == i64::MIN {
            return Err(CommandError::out_of_range(-i64::MAX, i64::MAX));
        }
        let values = args.len() == 4 && entries.option().is_some_and(|option| is(args.get(3), option));
        if args.len() > 3 && !values {
            return Err(SYNTAX);
        }
        if values && count.unsigned_abs() > i64::MAX.unsigned_abs() / 2 {
            return Err(CommandError::text("ERR value is out of range"));
        }
        let magnitude = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        Ok(Self { entries, count: magnitude, distinct: count >= 0, values, single: false })
    }

    /// Writes the reply for an absent key.
    pub(super) fn nothing(&self, reply: &mut Reply) {
        if self.single { reply.null() } else { reply.array(0) }
    }

    /// Writes the head of an array of `count` entries.
    pub(super) fn head(&self, count: usize, reply: &mut Reply) {
        let pairs = reply.protocol() == Protocol::Resp3;
        if !self.single {
            reply.array(if self.values && !pairs { count * 2 } else { count });
        }
    }

    /// Writes one entry of the array.
    pub(super) fn entry(&self, name: &[u8], value: &[u8], reply: &mut Reply) {
        if self.values && reply.protocol() == Protocol::Resp3 {
            reply.array(2);
        }
        reply.bulk(name);
        match self.entries {
            _ if !self.values => {}
            RandomEntryKind::Columns | RandomEntryKind::Members => reply.bulk(value),
            RandomEntryKind::ScoredMembers => reply.double(MembersView::score_in(value)),
        }
    }

    /// Returns whether drawing each entry takes less time than a walk over `len` entries.
    pub(super) fn is_few_of(&self, len: usize) -> bool {
        self.count <= AT_ONCE && self.count.saturating_mul(PASSED_PER_DRAW) <= len
    }

    /// Returns the minimum length of a reply with this number of entries: that of as many empty
    /// names.
    fn bytes_min(&self) -> usize {
        self.count.saturating_mul(b"$0\r\n\r\n".len())
    }
}

/// Draws from many entries, or draws many times from few.
pub(crate) enum RandomTask {
    Distinct(DistinctDraw),
    Drawn(RepeatedDraw),
}

impl RandomTask {
    /// Draws from a view.
    pub(super) fn new(view: MembersView, asked: RandomQuery) -> Self {
        let len = left_of(&view);
        if asked.distinct {
            return Self::Distinct(DistinctDraw {
                prepares: asked.is_few_of(len),
                view,
                asked,
                random: CommandRng::new(),
                wanted: asked.count.min(len),
                new: true,
            });
        }
        let draws = (asked.count < len).then(|| DrawnPositions::new(asked.count, len));
        Self::Drawn(RepeatedDraw {
            view: Some(view),
            prepares: asked.is_few_of(len),
            at: 0,
            draws,
            ..RepeatedDraw::of(asked, PickedEntries::default())
        })
    }

    /// Draws from these few entries, with repetition.
    pub(super) fn of_few(entries: &[(Vec<u8>, Vec<u8>)], asked: RandomQuery) -> Self {
        let mut picked = PickedEntries::default();
        for (name, value) in entries {
            picked.push(name, if asked.values { value } else { &[] });
        }
        Self::Drawn(RepeatedDraw::of(asked, picked))
    }

    fn asked(&self) -> &RandomQuery {
        match self {
            Self::Distinct(task) => &task.asked,
            Self::Drawn(task) => &task.asked,
        }
    }
}

impl SlicedTask for RandomTask {
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        let way_out = match self.asked().entries {
            RandomEntryKind::Columns => "ask for fewer columns",
            RandomEntryKind::ScoredMembers | RandomEntryKind::Members => "ask for fewer members",
        };
        let more = match self {
            Self::Distinct(task) => task.step(reply)?,
            Self::Drawn(task) => {
                // Before the first draw, because a request may ask for any number.
                slice.check_bytes(task.asked.bytes_min(), way_out)?;
                slice.check_memory(task.memory(), way_out)?;
                task.step(reply)?
            }
        };
        slice.check_len(reply, way_out)?;
        Ok(if more { TaskProgress::More } else { TaskProgress::Done })
    }

    fn held(&self) -> usize {
        match self {
            Self::Distinct(_) => 0,
            Self::Drawn(task) => task.memory(),
        }
    }
}

fn left_of(view: &MembersView) -> usize {
    usize::try_from(view.left()).unwrap_or(usize::MAX)
}

/// Draws without repetition: takes or skips one entry after another, so that exactly `wanted` are
/// taken in the end.
pub(crate) struct DistinctDraw {
    view: MembersView,
    /// Each step prepares later requests for as many entries as it passes.
    prepares: bool,
    asked: RandomQuery,
    random: CommandRng,
    /// Number of entries still to be taken.
    wanted: usize,
    /// Nothing is written yet.
    new: bool,
}

impl DistinctDraw {
    /// Writes some entries. Returns whether there is more to do.
    fn step(&mut self, reply: &mut Reply) -> CommandResult<bool> {
        let Self { view, asked, random, wanted, new, prepares } = self;
        if std::mem::take(new) {
            asked.head(*wanted, reply);
        }
        if *wanted == 0 {
            return Ok(false);
        }
        if *prepares {
            view.prepare_draws(SLICE_KEYS);
        }
        let (end, mut left) = (ReplyEnd::of_slice(reply), left_of(view));
        let more = view.step(SLICE_KEYS, |name, value| {
            if random.below(left.max(1)) < *wanted {
                asked.entry(name, value, reply);
                *wanted -= 1;
            }
            left = left.saturating_sub(1);
            if *wanted == 0 { ControlFlow::Break(()) } else { end.check(reply) }
        })?;
        Ok(more && *wanted > 0)
    }
}

/// Copies of entries, concatenated.
#[derive(Default)]
struct PickedEntries {
    bytes: Vec<u8>,
    /// For each entry, the end of its name and of its value.
    ends: Vec<(usize, usize)>,
}

impl PickedEntries {
    fn push(&mut self, name: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(name);
        let name_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((name_end, self.bytes.len()));
    }

    fn get(&self, at: usize) -> Option<(&[u8], &[u8])> {
        let (name_end, end) = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        Some((&self.bytes[start..name_end], &self.bytes[name_end..end]))
    }

    fn memory(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<(usize, usize)>()
    }
}

/// Drawn positions, fewer than there are entries.
struct DrawnPositions {
    rising: SortedDraws,
    next: Option<usize>,
    /// Indexes of the picked entries that the reply contains.
    given: Vec<usize>,
}

impl DrawnPositions {
    /// REQUIRES: `count` < `len`.
    fn new(count: usize, len: usize) -> Self {
        let mut rising = SortedDraws::new(count, len);
        Self { next: rising.next(), rising, given: Vec::new() }
    }

    /// Returns whether the entry at this position was drawn. If so, it becomes the picked entry
    /// `index`. REQUIRES: positions rise by one.
    fn is_drawn(&mut self, place: usize, index: usize) -> bool {
        let before = self.given.len();
        while self.next == Some(place) {
            self.given.push(index);
            self.next = self.rising.next();
        }
        self.given.len() > before
    }
}

/// Draws with repetition.
pub(crate) struct RepeatedDraw {
    /// The entries still to be picked from, and the position of the next one.
    view: Option<MembersView>,
    at: usize,
    /// As in [`DistinctDraw`].
    prepares: bool,
    asked: RandomQuery,
    random: CommandRng,
    /// `None` if at least as many entries are requested as exist. Then all are picked, and each
    /// draw takes any of them.
    draws: Option<DrawnPositions>,
    picked: PickedEntries,
    /// Number of entries written; `None` before the first.
    given: Option<usize>,
}

impl RepeatedDraw {
    fn of(asked: RandomQuery, picked: PickedEntries) -> Self {
        Self {
            view: None,
            at: 0,
            prepares: false,
            asked,
            random: CommandRng::new(),
            draws: None,
            picked,
            given: None,
        }
    }

    /// Returns the bytes that are held until they are written.
    fn memory(&self) -> usize {
        self.picked.memory() + self.draws.as_ref().map_or(0, |draws| size_of_val(&draws.given[..]))
    }

    /// Picks or writes some entries. Returns whether there is more to do.
    fn step(&mut self, reply: &mut Reply) -> CommandResult<bool> {
        if let Some(view) = self.view.take() {
            self.pick(view)?;
            return Ok(true);
        }
        Ok(self.give(reply))
    }

    /// Picks some entries of the view, and keeps it if there is more to pick.
    fn pick(&mut self, mut view: MembersView) -> CommandResult<()> {
        let Self { at, draws, picked, asked, prepares, .. } = self;
        if *prepares {
            view.prepare_draws(SLICE_KEYS);
        }
        let held = picked.bytes.len();
        let more = view.step(SLICE_KEYS, |name, value| {
            if draws.as_mut().is_none_or(|draws| draws.is_drawn(*at, picked.ends.len())) {
                picked.push(name, if asked.values { value } else { &[] });
            }
            *at += 1;
            let ends = draws.as_ref().is_some_and(|draws| draws.next.is_none());
            let full = picked.bytes.len() - held > SLICE_BYTES;
            if ends || full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if more && draws.as_ref().is_none_or(|draws| draws.next.is_some()) {
            self.view = Some(view);
        }
        Ok(())
    }

    /// Writes some entries. Returns whether there are more.
    fn give(&mut self, reply: &mut Reply) -> bool {
        let Self { asked, random, draws, picked, given, .. } = self;
        let count = match draws {
            Some(draws) => draws.given.len(),
            None if picked.ends.is_empty() => 0,
            None => asked.count,
        };
        let given = given.get_or_insert_with(|| {
            asked.head(count, reply);
            0
        });
        let (end, most) = (ReplyEnd::of_slice(reply), count.min(*given + SLICE_KEYS));
        while *given < most && end.check(reply).is_continue() {
            let at = match draws {
                // The positions were drawn in ascending order; this swap shuffles them.
                Some(draws) => {
                    let any = *given + random.below(count - *given);
                    draws.given.swap(*given, any);
                    draws.given[*given]
                }
                None => random.below(picked.ends.len()),
            };
            if let Some((name, value)) = picked.get(at) {
                asked.entry(name, value, reply);
            }
            *given += 1;
        }
        *given < count
    }
}
