//! SCAN: the keys in order, some at a time.

use std::ops::{Bound, ControlFlow};

use super::fault::{NOT_AN_INTEGER, SYNTAX};
use super::keys::kind_name;
use super::{Context, Fault, Next, glob, is};
use crate::engine::Direction;
use crate::resp::number::{parse_i64, parse_u64};
use crate::resp::{Args, Reply};

/// Keys that one call looks at, whatever COUNT says: COUNT is a hint, and a worker has other clients too.
const KEYS_PER_CALL_MAX: usize = 10_000;

struct ScanOptions<'a> {
    pattern: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
    count: usize,
}

impl<'a> ScanOptions<'a> {
    fn parse(args: &Args<'a>) -> Result<Self, Fault> {
        let mut options = Self { pattern: None, kind: None, count: 10 };
        let mut rest = args.from(2);
        while let Some(word) = rest.next() {
            let value = rest.next().ok_or(SYNTAX)?;
            if is(word, "MATCH") {
                options.pattern = Some(value);
            } else if is(word, "TYPE") {
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
}

pub(super) fn scan(context: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Result<Next, Fault> {
    let cursor = parse_u64(args.get(1)).ok_or(Fault::text("ERR invalid cursor"))?;
    let options = ScanOptions::parse(args)?;
    let after = match cursor {
        0 => None,
        _ => Some(context.shared.cursors.resume(cursor).ok_or_else(|| unknown_cursor(cursor, context))?),
    };
    // A pattern that begins with plain bytes is a range.
    let prefix = options.pattern.map(glob::literal_prefix).unwrap_or_default();
    let end = skein_store::successor(&prefix);
    let lower = match &after {
        Some(after) if *after >= prefix => Bound::Excluded(&after[..]),
        _ => Bound::Included(&prefix[..]),
    };
    let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);

    let (mut found, mut looked_at) = (0, 0);
    let mut last = Vec::new();
    let mut more = false;
    let mut keys = Vec::new();
    let mut list = Reply::new(&mut keys, reply.protocol());
    let most = options.count.saturating_add(1);
    context.session.scan((lower, upper), Direction::Forward, most, |key, row| {
        if looked_at == options.count || list.position() > context.shared.options.output_bytes_max {
            more = true;
            return ControlFlow::Break(());
        }
        looked_at += 1;
        last.clear();
        last.extend_from_slice(key);
        let wanted = options.pattern.is_none_or(|pattern| glob::matches(pattern, key))
            && options.kind.is_none_or(|kind| is(kind, kind_name(Some(row))));
        if wanted {
            found += 1;
            list.bulk(key);
        }
        ControlFlow::Continue(())
    })?;
    let next = if more { context.shared.cursors.put(&last, cursor) } else { 0 };
    reply.array(2);
    reply.bulk_number(next);
    reply.array(found);
    reply.raw(&keys);
    Ok(Next::Done)
}

fn unknown_cursor(cursor: u64, context: &Context<'_>) -> Fault {
    Fault::owned(format!(
        "ERR unknown cursor {cursor}: of another run of the server, or pushed out by newer ones \
         (at most {} are kept); begin again with 0",
        context.shared.options.scan_cursors_max
    ))
}
