//! ZSCAN: the members of a set, one page at a time.

use crate::commands::keys::is_list;
use crate::commands::scan::scan_entries;
use crate::commands::{CommandContext, CommandError, CommandResult};
use crate::resp::double::write_double;
use crate::resp::{Args, Reply};
use skein_data::ScanDirection;

/// Sets of up to this number of members are returned at once and in score order, like Redis's small
/// sets.
const AT_ONCE: u64 = 128;

/// Runs ZSCAN. The pages of a larger set are ordered by the members' bytes, which changes of scores
/// do not disturb.
pub(super) fn zscan(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let limits = context.shared.settings.encodings.limits();
    scan_entries(context, args, reply, |row, scan| {
        row.sorted_set(|set| {
            let (mut page, after) = scan.page(set.len() <= AT_ONCE)?;
            if page.is_whole() {
                let write = if is_list(set, &limits) { write_listed_score } else { write_score };
                set.walk(0, ScanDirection::Forward, |score, member| {
                    page.take(&member.to_vec(), |list| write(list, score))
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

/// The greatest score that Redis stores as an integer in a list, and that ZSCAN then returns
/// without an exponent.
const LISTED_INTEGER_MAX: f64 = 4_611_686_018_427_387_904.0;

/// Writes a score of a set that Redis would keep as a list.
fn write_listed_score(list: &mut Reply, score: f64) {
    if score.fract() == 0.0 && score.abs() <= LISTED_INTEGER_MAX {
        list.bulk((score as i64).to_string().as_bytes());
    } else {
        write_score(list, score);
    }
}

/// Writes a score as a bulk string, in both versions of the protocol.
fn write_score(list: &mut Reply, score: f64) {
    let mut text = Vec::new();
    write_double(&mut text, score);
    list.bulk(&text);
}
