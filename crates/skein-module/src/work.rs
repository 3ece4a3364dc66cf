//! The work of the ordered commands, in slices.

use std::ffi::c_int;
use std::ops::{Bound, ControlFlow};

use skein_index::ScanDirection;
use skein_syntax::slots::{SlotSet, slot_of_key};
use skein_syntax::{KeyRange, RangeProjection};

use crate::answer::{CollectedReply, ReplyPart};
use crate::api::{CLUSTER, Ctx, OpenKey, REPLICA, RESP3, ServerString, TO_DELETE, TO_READ};
use crate::names::ExpiryKnowledge;
use crate::rights::CommandRights;
use crate::slots::NodeSlots;
use crate::{database, sweep, value};

/// The greatest number of names in a slice. Other clients of the server wait for its end.
pub const SLICE_NAMES: usize = 1_000;
/// The growth factor of the pages of a slice, while all names so far are hidden.
const PAGE_GROWTH: usize = 8;
/// A slice also ends after it has written so many bytes.
const SLICE_BYTES: usize = 256 << 10;

/// Says whether work remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkProgress {
    More,
    Done,
}

/// The requesting client and its command.
pub struct Requester {
    database: usize,
    /// Without a user, everything is allowed.
    user: Option<ServerString>,
    command: ServerString,
    /// Whether the client uses RESP3.
    pub newer: bool,
}

impl Requester {
    /// Returns the client of this context, which calls this command.
    pub fn of(ctx: Ctx<'_>, command: &str) -> Self {
        let command = ServerString::new(command.as_bytes());
        Self { database: ctx.database(), user: ctx.user_name(), command, newer: ctx.has(RESP3) }
    }

    /// Calls `each` with the next keys that exist and that the user may access, until `each`
    /// breaks. Drops names without keys. Returns the last name that was checked, and whether there
    /// are more.
    ///
    /// In a cluster, skips names in slots that the node does not own: no client can read them here.
    ///
    /// Opens a key if the caller needs its value. Also opens a key if the server may not report its
    /// end in time. This holds for a key that may expire. It also holds for all keys in a cluster,
    /// where Redis 7.0 removes a slot's keys silently.
    fn visible(
        &self,
        ctx: Ctx<'_>,
        query: NameQuery<'_>,
        access: NameAccess,
        each: impl FnMut(&[u8], Option<&OpenKey<'_>>) -> ControlFlow<()>,
    ) -> (Option<Vec<u8>>, WorkProgress) {
        let slots = NodeSlots::lately(ctx);
        self.visible_in(slots.as_ref().map(|slots| &slots.owned), ctx, query, access, each)
    }

    /// Does the same as `visible` for the names in these slots, or for all names.
    fn visible_in(
        &self,
        slots: Option<&SlotSet>,
        ctx: Ctx<'_>,
        query: NameQuery<'_>,
        access: NameAccess,
        mut each: impl FnMut(&[u8], Option<&OpenKey<'_>>) -> ControlFlow<()>,
    ) -> (Option<Vec<u8>>, WorkProgress) {
        ctx.select(self.database);
        let NameQuery { range, direction, most: few } = query;
        // The rights are read anew for each slice: an administrator may revoke rights meanwhile.
        let rights = self.user.as_ref().map(|user| CommandRights::of(user, &self.command));
        let rights = rights.filter(|rights| !rights.has_all_keys());
        let told = slots.is_none() && access.opened == KeysToOpen::IfUnsure;
        // If the first names are hidden, the slice continues with further pages. To wait a
        // millisecond for each few names would take long.
        let (mut range, mut last, mut most, mut left) = (range.clone(), None, few, SLICE_NAMES.max(few));
        loop {
            let page = database::with(|state| {
                state.names(self.database).map(|names| names.page(range.bounds(), direction, most))
            });
            let Some(page) = page else { return (last, WorkProgress::Done) };
            for (name, standing) in page.iter() {
                if slots.is_some_and(|slots| !slots.contains(slot_of_key(name))) {
                    continue;
                }
                let is_sure = told && standing == ExpiryKnowledge::Lasting;
                // A string of the server costs an allocation.
                let string = (rights.is_some() || !is_sure).then(|| ServerString::new(name));
                if let (Some(rights), Some(string)) = (&rights, &string)
                    && !rights.allow(access.right, string)
                {
                    continue;
                }
                let key = if is_sure {
                    None
                } else {
                    let Some(key) = string.as_ref().and_then(|string| ctx.open(string)) else {
                        sweep::drop_stale(ctx, self.database, name);
                        continue;
                    };
                    if standing == ExpiryKnowledge::Unsure && !key.expires() {
                        database::with(|state| {
                            state.names_or_new(self.database).note(name, ExpiryKnowledge::Lasting);
                        });
                    }
                    Some(key)
                };
                if each(name, key.as_ref()).is_break() {
                    return (Some(name.to_vec()), WorkProgress::More);
                }
            }
            let is_end = page.len() < most;
            last = page.last().map(<[u8]>::to_vec).or(last);
            left -= page.len();
            if is_end || left == 0 {
                return (last, if is_end { WorkProgress::Done } else { WorkProgress::More });
            }
            rest(&mut range, direction, last.clone());
            most = (most * PAGE_GROWTH).min(left);
        }
    }
}

/// The names to check: the first `most` names of a range, in a direction.
#[derive(Clone, Copy)]
struct NameQuery<'r> {
    range: &'r KeyRange,
    direction: ScanDirection,
    most: usize,
}

/// The right that the user needs, and the keys to open.
#[derive(Clone, Copy)]
struct NameAccess {
    right: c_int,
    opened: KeysToOpen,
}

/// Says which keys are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeysToOpen {
    All,
    /// Keys that may end without a notification.
    IfUnsure,
}

/// A command's work, in slices.
pub trait SlicedWork {
    /// Returns whether the work changes keys.
    fn writes(&self) -> bool {
        false
    }

    /// Runs one slice. Returns whether work remains.
    ///
    /// # Errors
    /// Returns the error that replaces the reply.
    fn step(&mut self, ctx: Ctx<'_>, answer: &mut CollectedReply) -> Result<WorkProgress, String>;
}

/// Shrinks a range to the names after `last`, in this direction.
fn rest(range: &mut KeyRange, direction: ScanDirection, last: Option<Vec<u8>>) {
    let Some(last) = last else { return };
    match direction {
        ScanDirection::Forward => range.lower = Bound::Excluded(last),
        ScanDirection::Backward => range.upper = Bound::Excluded(last),
    }
}

/// The work of `SK.RANGE` and `SK.PREFIX`.
pub struct RangeWork {
    pub asker: Requester,
    pub range: KeyRange,
    pub direction: ScanDirection,
    /// The number of keys that the client still wants.
    pub left: usize,
    pub shown: RangeProjection,
    /// The greatest allowed size of the reply in bytes.
    pub limit: usize,
    /// The number of elements in the reply's array.
    pub elements: usize,
}

impl RangeWork {
    /// Writes the entries of one slice, limited to these slots if there are any. Returns the last
    /// name that was checked, and whether there are more.
    ///
    /// # Errors
    /// Returns an error if the reply exceeds the limit.
    pub fn slice(
        &mut self,
        slots: Option<&SlotSet>,
        ctx: Ctx<'_>,
        answer: &mut CollectedReply,
    ) -> Result<(Option<Vec<u8>>, WorkProgress), String> {
        let Self { asker, range, direction, left, shown, limit, elements } = self;
        let (begin, most) = (answer.len(), (*left).min(SLICE_NAMES));
        let opened = if *shown == RangeProjection::Keys { KeysToOpen::IfUnsure } else { KeysToOpen::All };
        let query = NameQuery { range, direction: *direction, most };
        let (last, progress) =
            asker.visible_in(slots, ctx, query, NameAccess { right: TO_READ, opened }, |name, key| {
                *elements += write_entry(name, key, shown, asker.newer, answer);
                *left -= 1;
                let full = answer.len() - begin > SLICE_BYTES || answer.len() > *limit;
                if full || *left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        if answer.len() > *limit {
            return Err(format!(
                "ERR the reply would be longer than the limit of {limit} bytes (skein.max-reply); use LIMIT and continue from (last-key"
            ));
        }
        Ok((last, progress))
    }
}

impl SlicedWork for RangeWork {
    fn step(&mut self, ctx: Ctx<'_>, answer: &mut CollectedReply) -> Result<WorkProgress, String> {
        let slots = NodeSlots::lately(ctx);
        let (last, progress) = self.slice(slots.as_ref().map(|slots| &slots.owned), ctx, answer)?;
        rest(&mut self.range, self.direction, last);
        if self.left > 0 && progress == WorkProgress::More {
            return Ok(WorkProgress::More);
        }
        answer.push_front(ReplyPart::Array(self.elements));
        Ok(WorkProgress::Done)
    }
}

/// Writes a key in the requested form. Returns how many elements of the outer array it wrote.
fn write_entry(
    name: &[u8],
    key: Option<&OpenKey<'_>>,
    shown: &RangeProjection,
    newer: bool,
    answer: &mut CollectedReply,
) -> usize {
    let Some(key) = key.filter(|_| *shown != RangeProjection::Keys) else {
        answer.push(ReplyPart::Bulk(name));
        return 1;
    };
    if newer {
        answer.push(ReplyPart::Array(2));
    }
    answer.push(ReplyPart::Bulk(name));
    match shown {
        RangeProjection::Columns(columns) => value::write_columns(key, columns, answer),
        _ => value::write(key, answer),
    }
    if newer { 1 } else { 2 }
}

/// The work of `SK.COUNT`.
pub struct CountWork {
    pub asker: Requester,
    pub range: KeyRange,
    pub count: i64,
}

impl SlicedWork for CountWork {
    fn step(&mut self, ctx: Ctx<'_>, answer: &mut CollectedReply) -> Result<WorkProgress, String> {
        let Self { asker, range, count } = self;
        let (last, progress) = asker.visible(
            ctx,
            NameQuery { range, direction: ScanDirection::Forward, most: SLICE_NAMES },
            NameAccess { right: TO_READ, opened: KeysToOpen::IfUnsure },
            |_, _| {
                *count += 1;
                ControlFlow::Continue(())
            },
        );
        rest(range, ScanDirection::Forward, last);
        if progress == WorkProgress::Done {
            answer.push(ReplyPart::Integer(*count));
        }
        Ok(progress)
    }
}

/// The number of names on the first page of [`FirstKeyWork`]. The first name usually suffices; a
/// longer page would copy the others for nothing.
const FEW: usize = 8;

/// The work of `SK.FIRST` and its like: finds the first key from a bound on.
pub struct FirstKeyWork {
    pub asker: Requester,
    pub range: KeyRange,
    pub direction: ScanDirection,
}

impl SlicedWork for FirstKeyWork {
    fn step(&mut self, ctx: Ctx<'_>, answer: &mut CollectedReply) -> Result<WorkProgress, String> {
        let Self { asker, range, direction } = self;
        let mut found = false;
        let (last, progress) = asker.visible(
            ctx,
            NameQuery { range, direction: *direction, most: FEW },
            NameAccess { right: TO_READ, opened: KeysToOpen::All },
            |name, key| {
                found = true;
                answer.push(ReplyPart::Array(2));
                answer.push(ReplyPart::Bulk(name));
                if let Some(key) = key {
                    value::write(key, answer);
                }
                ControlFlow::Break(())
            },
        );
        if found {
            return Ok(WorkProgress::Done);
        }
        rest(range, *direction, last);
        if progress == WorkProgress::Done {
            answer.push(ReplyPart::NullArray);
        }
        Ok(progress)
    }
}

/// The work of `SK.DELRANGE`.
pub struct RemoveWork {
    pub asker: Requester,
    pub range: KeyRange,
    pub removed: i64,
}

impl SlicedWork for RemoveWork {
    fn writes(&self) -> bool {
        true
    }

    fn step(&mut self, ctx: Ctx<'_>, answer: &mut CollectedReply) -> Result<WorkProgress, String> {
        let Self { asker, range, removed } = self;
        if ctx.has(REPLICA) {
            return Err(format!("READONLY the server became a replica; {removed} keys were removed before"));
        }
        let mut names = Vec::new();
        let (last, progress) = asker.visible(
            ctx,
            NameQuery { range, direction: ScanDirection::Forward, most: SLICE_NAMES },
            NameAccess { right: TO_DELETE, opened: KeysToOpen::IfUnsure },
            |name, _| {
                names.push(ServerString::new(name));
                ControlFlow::Continue(())
            },
        );
        // In a cluster, all keys of a command must be in one slot, and neighbours in order seldom
        // are.
        let at_once = if ctx.has(CLUSTER) { 1 } else { SLICE_NAMES };
        *removed += names.chunks(at_once).filter_map(|some| ctx.write(c"UNLINK", some)).sum::<i64>();
        rest(range, ScanDirection::Forward, last);
        if progress == WorkProgress::Done {
            answer.push(ReplyPart::Integer(*removed));
        }
        Ok(progress)
    }
}
