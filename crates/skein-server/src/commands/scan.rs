//! SCAN: the keys in order, one page at a time; in the engine's own order, if it does not order
//! keys.

use std::cell::Cell;
use std::ops::{Bound, ControlFlow};

use skein_syntax::KeyRange;
use skein_syntax::number::parse_i64;

use super::command_error::{NOT_AN_INTEGER, SYNTAX};
use super::keys::kind_name;
use super::{AfterCommand, CommandContext, CommandError, CommandResult, is};
use crate::redis::glob::{Glob, STEPS_MAX, literal_prefix};
use crate::resp::{Args, Protocol, Reply};
use crate::shared::ServerShared;
use skein_data::RowView;

/// Maximum number of keys that one call visits, whatever COUNT says: COUNT is a hint, and the
/// worker has other clients.
const KEYS_PER_CALL_MAX: usize = 10_000;

/// The options of SCAN and its relatives.
pub(super) struct ScanOptions<'a> {
    pattern: Option<(&'a [u8], Glob)>,
    /// Steps of matching taken so far.
    steps: Cell<usize>,
    kind: Option<&'a [u8]>,
    count: usize,
}

impl<'a> ScanOptions<'a> {
    /// Parses the options from argument `first` on. TYPE is allowed only for a scan of `keys`.
    pub(super) fn parse(args: &Args<'a>, first: usize, keys: bool) -> CommandResult<Self> {
        let mut options = Self { pattern: None, steps: Cell::new(0), kind: None, count: 10 };
        let mut rest = args.from(first);
        while let Some(word) = rest.next() {
            let value = rest.next().ok_or(SYNTAX)?;
            if is(word, "MATCH") {
                options.pattern = Some((value, Glob::new(value)));
            } else if keys && is(word, "TYPE") {
                options.kind = Some(value);
            } else if is(word, "COUNT") {
                let count = parse_i64(value).ok_or(NOT_AN_INTEGER)?;
                if count < 1 {
                    return Err(SYNTAX);
                }
                options.count = usize::try_from(count).unwrap_or(usize::MAX).min(KEYS_PER_CALL_MAX);
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(options)
    }

    fn glob(&self) -> Option<&Glob> {
        self.pattern.as_ref().map(|(_, glob)| glob)
    }

    /// Returns whether the text matches, or there is no pattern.
    fn matches(&self, text: &[u8]) -> bool {
        let Some(glob) = self.glob() else { return true };
        let mut steps = self.steps.get();
        let fits = glob.matches(text, &mut steps);
        self.steps.set(steps);
        fits
    }

    /// Returns whether matching took so long that the page must end, however short it is.
    fn has_matched_long(&self) -> bool {
        self.steps.get() > STEPS_MAX
    }

    /// Returns whether a few hundred matches may take too long for one page.
    fn is_costly(&self) -> bool {
        self.glob().is_some_and(Glob::is_costly)
    }
}

/// The result of one call.
#[derive(Default)]
pub(super) struct ScanPage {
    /// The encoded elements of the reply's list, and their number.
    pub elements: Vec<u8>,
    pub count: usize,
    /// The next call continues after this name; `None` at the end of the scan.
    pub more_after: Option<Vec<u8>>,
}

/// Builds a page of pairs from a hash or a sorted set, or of names from a set.
pub(super) struct ScanPageFiller<'o, 'a> {
    options: &'o ScanOptions<'a>,
    protocol: Protocol,
    /// Maximum number of pairs to visit, and the number visited.
    most: usize,
    seen: usize,
    /// The name of the last visited pair.
    last: Vec<u8>,
    page: ScanPage,
    fault: Option<CommandError>,
    /// Whether the page may end before it is full, because matching took long.
    ends_early: bool,
}

impl<'o, 'a> ScanPageFiller<'o, 'a> {
    fn new(options: &'o ScanOptions<'a>, most: usize, protocol: Protocol) -> Self {
        let (last, page) = (Vec::new(), ScanPage::default());
        Self { options, protocol, most, seen: 0, last, page, fault: None, ends_early: true }
    }

    /// Returns a filler that fills its page with all pairs, however long matching takes.
    fn whole(options: &'o ScanOptions<'a>, protocol: Protocol) -> Self {
        Self { ends_early: false, ..Self::new(options, usize::MAX, protocol) }
    }

    /// Returns whether the page has all entries.
    pub(super) fn is_whole(&self) -> bool {
        !self.ends_early
    }

    /// Adds the next pair if its name matches; `write` writes its second half. Breaks at the first
    /// pair of the next page.
    pub(super) fn take(&mut self, name: &[u8], write: impl FnOnce(&mut Reply)) -> ControlFlow<()> {
        self.take_some(name, 2, write)
    }

    /// Does the same with a name alone.
    pub(super) fn take_name(&mut self, name: &[u8]) -> ControlFlow<()> {
        self.take_some(name, 1, |_| {})
    }

    /// Does the same with a number of elements. The first element is the name.
    fn take_some(&mut self, name: &[u8], elements: usize, write: impl FnOnce(&mut Reply)) -> ControlFlow<()> {
        let matched_long = self.ends_early && self.seen > 0 && self.options.has_matched_long();
        if self.seen == self.most || matched_long {
            self.page.more_after = Some(std::mem::take(&mut self.last));
            return ControlFlow::Break(());
        }
        if self.options.glob().is_some_and(|glob| glob.is_too_long_for(name.len())) {
            self.fault = Some(too_long(name.len()));
            return ControlFlow::Break(());
        }
        self.seen += 1;
        self.last.clear();
        self.last.extend_from_slice(name);
        if self.options.matches(name) {
            self.page.count += elements;
            let mut list = Reply::new(&mut self.page.elements, self.protocol);
            list.bulk(name);
            write(&mut list);
        }
        ControlFlow::Continue(())
    }

    /// Returns the page.
    ///
    /// # Errors
    /// If a name is too long for the pattern.
    pub(super) fn finish(self) -> CommandResult<ScanPage> {
        self.fault.map_or(Ok(self.page), Err)
    }
}

fn too_long(len: usize) -> CommandError {
    CommandError::owned(format!(
        "ERR MATCH would take too long on a name of {len} bytes; use a pattern with fewer bytes between its stars"
    ))
}

fn parse_cursor(text: &[u8]) -> CommandResult<u64> {
    cursor_of(text).ok_or(CommandError::text("ERR invalid cursor"))
}

/// Parses a cursor like Redis, which uses C's `strtoul`. A zero byte ends it, an empty text is 0, a
/// sign and leading zeros are allowed, and negative numbers wrap around.
fn cursor_of(text: &[u8]) -> Option<u64> {
    let text = text.split(|byte| *byte == 0).next()?;
    let (negative, digits) = match text {
        [] => return Some(0),
        [sign @ (b'+' | b'-'), digits @ ..] => (*sign == b'-', digits),
        digits => (false, digits),
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if negative { number.wrapping_neg() } else { number })
}

/// Returns the name after which a cursor continues, or `None` for cursor 0, which starts a scan.
/// Errors if the cursor is unknown.
fn after_cursor(shared: &ServerShared, cursor: u64) -> Result<Option<Vec<u8>>, CommandError> {
    match cursor {
        0 => Ok(None),
        _ => shared.data.cursors.resume(cursor).map(Some).ok_or_else(|| unknown_cursor(cursor, shared)),
    }
}

/// A scan of the entries of one key, with options that are not parsed yet.
pub(super) struct EntryScan<'s, 'a, 'o> {
    shared: &'s ServerShared,
    cursor: u64,
    args: &'s Args<'a>,
    options: &'o mut Option<ScanOptions<'a>>,
    protocol: Protocol,
}

impl<'a, 'o> EntryScan<'_, 'a, 'o> {
    /// Parses the options. Returns a page, and the name after which it begins. If there are `few`
    /// entries, the page has all of them, whatever COUNT says, like Redis's small types; unless
    /// matching them takes long.
    pub(super) fn page(self, few: bool) -> CommandResult<(ScanPageFiller<'o, 'a>, Option<Vec<u8>>)> {
        let options = self.options.insert(ScanOptions::parse(self.args, 3, false)?);
        if few && !options.is_costly() {
            return Ok((ScanPageFiller::whole(options, self.protocol), None));
        }
        let after = after_cursor(self.shared, self.cursor)?;
        Ok((ScanPageFiller::new(options, options.count, self.protocol), after))
    }
}

/// Runs HSCAN, SSCAN or ZSCAN: `fill` fills a page from the row of the key. As in Redis, the
/// options are not checked if the key does not exist.
pub(super) fn scan_entries(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    fill: impl FnOnce(RowView, EntryScan<'_, '_, '_>) -> CommandResult<ScanPage>,
) -> CommandResult {
    let cursor = parse_cursor(args.get(2))?;
    let (shared, protocol, mut options) = (context.shared, reply.protocol(), None);
    let scan = EntryScan { shared, cursor, args, options: &mut options, protocol };
    let page = context.look_up(args.get(1), |row| match row? {
        None => Ok(ScanPage::default()),
        Some(row) => fill(row, scan),
    })?;
    write_page(shared, cursor, &page, reply);
    Ok(AfterCommand::Done)
}

/// Replies with a page, and with the cursor that continues after it.
fn write_page(shared: &ServerShared, cursor: u64, page: &ScanPage, reply: &mut Reply) {
    let next = page.more_after.as_ref().map_or(0, |last| shared.data.cursors.put(last, cursor));
    reply.array(2);
    reply.bulk_number(next);
    reply.array(page.count);
    reply.raw(&page.elements);
}

pub(super) fn scan(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let cursor = parse_cursor(args.get(1))?;
    let options = ScanOptions::parse(args, 2, true)?;
    let after = after_cursor(context.shared, cursor)?;
    let range = within(context, options.pattern.as_ref().map(|(pattern, _)| *pattern));
    let rest = match after {
        None => Some(range),
        Some(after) => range.after(after),
    };
    let page = match rest {
        None => ScanPage::default(),
        Some(rest) => gather(context, &rest, &options, reply)?,
    };
    write_page(context.shared, cursor, &page, reply);
    Ok(AfterCommand::Done)
}

/// Returns the range of keys that can match a pattern: all keys, if the engine does not order them.
pub(super) fn within(context: &CommandContext, pattern: Option<&[u8]>) -> KeyRange {
    pattern.filter(|_| context.session.is_ordered()).map_or(KeyRange::ALL, range_of)
}

/// Returns the range of keys that can match a pattern.
fn range_of(pattern: &[u8]) -> KeyRange {
    let (prefix, whole) = literal_prefix(pattern);
    let upper = whole.then(|| Bound::Included(prefix.clone()));
    let range = KeyRange::with_prefix(&prefix);
    KeyRange { upper: upper.unwrap_or(range.upper), ..range }
}

/// Collects the matching keys of the range, within the limits of one call.
fn gather(
    context: &mut CommandContext,
    range: &KeyRange,
    options: &ScanOptions<'_>,
    reply: &Reply,
) -> CommandResult<ScanPage> {
    let (mut page, mut looked_at) = (ScanPage::default(), 0);
    let mut last = Vec::new();
    let mut more = false;
    let mut list = Reply::new(&mut page.elements, reply.protocol());
    let most = options.count.saturating_add(1);
    context.session.walk(context.client.keyspace(), range.bounds(), most, |key, row| {
        let full = list.position() > context.shared.settings.output_bytes_max.get();
        if looked_at == options.count || full || (looked_at > 0 && options.has_matched_long()) {
            more = true;
            return ControlFlow::Break(());
        }
        looked_at += 1;
        last.clear();
        last.extend_from_slice(key);
        if options.matches(key) && options.kind.is_none_or(|kind| is(kind, kind_name(Some(row)))) {
            page.count += 1;
            list.bulk(key);
        }
        ControlFlow::Continue(())
    })?;
    page.more_after = more.then_some(last);
    Ok(page)
}

fn unknown_cursor(cursor: u64, shared: &ServerShared) -> CommandError {
    CommandError::owned(format!(
        "ERR unknown cursor {cursor}: it is from before a restart, or newer cursors replaced it \
         (at most {} are kept); start again with 0",
        shared.options.scan_cursors_max
    ))
}
