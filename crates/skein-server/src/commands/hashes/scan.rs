//! HSCAN: columns in order, some at a time.

use crate::commands::scan::{Filling, Page, ScanOptions, after_cursor, parse_cursor, write_page};
use crate::commands::{Context, Fault, Next};
use crate::engine::ColumnsReader;
use crate::resp::{Args, Reply};

use super::columns_of;

/// So many columns are given at once, whatever COUNT says, as Redis gives its small hashes.
const AT_ONCE: usize = 512;

/// As in Redis, the options of a key that is not there are not looked at.
pub(in crate::commands) fn hscan(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    let cursor = parse_cursor(args.get(2))?;
    let shared = context.shared;
    let page = context.look_up(args.get(1), |row| {
        let Some(columns) = columns_of(row?).map_err(|()| Fault::wrong_type())? else {
            return Ok::<_, Fault>(Page::default());
        };
        let options = ScanOptions::parse(args, 3, false)?;
        let after = if columns.len() <= AT_ONCE { None } else { after_cursor(shared, cursor)? };
        Ok(gather(&columns, after.as_deref(), &options, reply))
    })?;
    write_page(shared, cursor, &page, reply);
    Ok(Next::Done)
}

/// The columns after the one of this name that match.
fn gather(
    columns: &ColumnsReader<'_>,
    after: Option<&[u8]>,
    options: &ScanOptions<'_>,
    reply: &Reply<'_>,
) -> Page {
    let most = if columns.len() <= AT_ONCE { AT_ONCE } else { options.count };
    let mut page = Filling::new(options, most, reply);
    columns.walk(after, |name, value| page.take(name, |list| list.bulk(value)));
    page.finish()
}
