//! HSCAN: columns in order, one page at a time.

use crate::commands::scan::{ScanPage, scan_entries};
use crate::commands::{CommandContext, CommandResult};
use crate::resp::{Args, Reply};

use super::columns_of;

/// Up to this number of columns are returned at once, like Redis's small hashes.
const AT_ONCE: usize = 512;

/// Runs HSCAN.
pub(super) fn hscan(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    scan_entries(context, args, reply, |row, scan| {
        columns_of(Some(row), |columns| {
            let Some(columns) = columns else { return Ok(ScanPage::default()) };
            let (mut page, after) = scan.page(columns.len() <= AT_ONCE)?;
            columns.walk(after.as_deref(), |name, value| page.take(name, |list| list.bulk(value)));
            page.finish()
        })
    })
}
