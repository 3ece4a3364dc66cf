//! ZSCAN: the members of a set, one page at a time.

use crate::commands::scan::{ScanOptions, ScanPage, ScanPageFiller, after_cursor, parse_cursor, write_page};
use crate::commands::{AfterCommand, CommandContext, CommandError};
use crate::resp::double::write_double;
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::{ScanDirection, SetReader};

/// Sets of up to this number of members are returned at once and in score order, like Redis's small
/// sets; unless matching them takes long.
const AT_ONCE: u64 = 128;

/// Runs ZSCAN. As in Redis, the options are not checked if the key does not exist.
pub(in crate::commands) fn zscan(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    let cursor = parse_cursor(args.get(2))?;
    let shared = context.shared;
    let page = context.look_up(args.get(1), |row| {
        let Some(row) = row? else { return Ok::<_, CommandError>(ScanPage::default()) };
        row.sorted_set(|set| {
            let options = ScanOptions::parse(args, 3, false)?;
            if set.len() <= AT_ONCE && !options.is_costly() {
                return all(set, &options, reply);
            }
            let after = after_cursor(shared, cursor)?;
            some(set, after.as_deref(), &options, reply)
        })?
        .ok_or_else(CommandError::wrong_type)?
    })?;
    write_page(shared, cursor, &page, reply);
    Ok(AfterCommand::Done)
}

/// Writes a score as a bulk string, in both versions of the protocol.
fn write_score(list: &mut ReplyWriter<'_>, score: f64) {
    let mut text = Vec::new();
    write_double(&mut text, score);
    list.bulk(&text);
}

/// Returns all matching members in score order. REQUIRES: there are few and matching is quick,
/// because no cursor can continue in this order.
fn all(
    set: &SetReader<'_>,
    options: &ScanOptions<'_>,
    reply: &ReplyWriter<'_>,
) -> Result<ScanPage, CommandError> {
    let mut page = ScanPageFiller::whole(options, reply);
    set.walk(0, ScanDirection::Forward, |score, member| {
        page.take(&member.to_vec(), |list| write_score(list, score))
    });
    page.finish()
}

/// Returns a page of matching members after `after`, ordered by their bytes, which changes of
/// scores do not disturb.
fn some(
    set: &SetReader<'_>,
    after: Option<&[u8]>,
    options: &ScanOptions<'_>,
    reply: &ReplyWriter<'_>,
) -> Result<ScanPage, CommandError> {
    let mut page = ScanPageFiller::new(options, options.count, reply);
    set.members_after(after, |member, score| page.take(member, |list| write_score(list, score)));
    page.finish()
}
