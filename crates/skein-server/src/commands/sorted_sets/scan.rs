//! ZSCAN: the members of a set, one page at a time.

use crate::commands::scan::scan_entries;
use crate::commands::{AfterCommand, CommandContext, CommandError};
use crate::resp::double::write_double;
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::ScanDirection;

/// Sets of up to this number of members are returned at once and in score order, like Redis's small
/// sets.
const AT_ONCE: u64 = 128;

/// Runs ZSCAN. The pages of a larger set are ordered by the members' bytes, which changes of scores
/// do not disturb.
pub(in crate::commands) fn zscan(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    scan_entries(context, args, reply, |row, scan| {
        row.sorted_set(|set| {
            let (mut page, after) = scan.page(set.len() <= AT_ONCE)?;
            if page.is_whole() {
                set.walk(0, ScanDirection::Forward, |score, member| {
                    page.take(&member.to_vec(), |list| write_score(list, score))
                });
            } else {
                set.members_after(after.as_deref(), |member, score| {
                    page.take(member, |list| write_score(list, score))
                });
            }
            page.finish()
        })?
        .ok_or_else(CommandError::wrong_type)?
    })
}

/// Writes a score as a bulk string, in both versions of the protocol.
fn write_score(list: &mut ReplyWriter<'_>, score: f64) {
    let mut text = Vec::new();
    write_double(&mut text, score);
    list.bulk(&text);
}
