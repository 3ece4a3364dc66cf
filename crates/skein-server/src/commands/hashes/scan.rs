//! HSCAN: columns in order, one page at a time.

use crate::commands::scan::{ScanOptions, ScanPage, ScanPageFiller, after_cursor, parse_cursor, write_page};
use crate::commands::{AfterCommand, CommandContext, CommandError};
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::ColumnsReader;

use super::columns_of;

/// Up to this number of columns are returned at once, whatever COUNT says, like Redis's small
/// hashes; unless matching them takes long.
const AT_ONCE: usize = 512;

/// Runs HSCAN. As in Redis, the options are not checked if the key does not exist.
pub(in crate::commands) fn hscan(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    let cursor = parse_cursor(args.get(2))?;
    let shared = context.shared;
    let page = context.look_up(args.get(1), |row| {
        columns_of(row?, |columns| {
            let Some(columns) = columns else { return Ok(ScanPage::default()) };
            let options = ScanOptions::parse(args, 3, false)?;
            let at_once = columns.len() <= AT_ONCE && !options.is_costly();
            let after = if at_once { None } else { after_cursor(shared, cursor)? };
            let page = if at_once {
                ScanPageFiller::whole(&options, reply)
            } else {
                ScanPageFiller::new(&options, options.count, reply)
            };
            gather(columns, after.as_deref(), page)
        })
    })?;
    write_page(shared, cursor, &page, reply);
    Ok(AfterCommand::Done)
}

/// Fills a page with the columns after the one named `after`.
fn gather(
    columns: &ColumnsReader<'_>,
    after: Option<&[u8]>,
    mut page: ScanPageFiller<'_, '_>,
) -> Result<ScanPage, CommandError> {
    columns.walk(after, |name, value| page.take(name, |list| list.bulk(value)));
    page.finish()
}
