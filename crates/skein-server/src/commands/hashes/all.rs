//! HGETALL, HKEYS, HVALS: all columns of a key, at once if there are few, otherwise in slices. As
//! in Redis, the reply shows a single moment.

use super::{answer_of, write_each};
use crate::commands::task::{AT_ONCE, LongReply, ReplyEnd, SLICE_KEYS, SlicedView, ViewTask, write_short};
use crate::commands::{CommandResult, Replied};
use crate::resp::Reply;
use skein_data::{ColumnsReader, MembersView, RowView};

/// The parts of each column in the reply.
#[derive(Clone, Copy)]
pub(super) enum ColumnParts {
    Both,
    Names,
    Values,
}

impl ColumnParts {
    fn head(self, count: usize, reply: &mut Reply) {
        match self {
            Self::Both => reply.map(count),
            Self::Names | Self::Values => reply.array(count),
        }
    }

    #[inline]
    fn column(self, name: &[u8], value: &[u8], reply: &mut Reply) {
        if !matches!(self, Self::Values) {
            reply.bulk(name);
        }
        if !matches!(self, Self::Names) {
            reply.bulk(value);
        }
    }
}

/// Replies with columns that are few or in a row.
pub(super) fn answer(
    row: Option<RowView>,
    reply: &mut Reply,
    part: ColumnParts,
    long: &mut LongReply,
) -> Replied {
    answer_of(row, reply, |columns, reply| {
        let start = reply.position();
        match columns {
            None => part.head(0, reply),
            Some(columns) if columns.in_row() => {
                part.head(columns.len(), reply);
                write_each(columns, reply, start, |name, value, reply| part.column(name, value, reply));
            }
            Some(columns) => {
                let is_written = write_short(columns.len() as u64, reply, |count, end, reply| {
                    part.head(count, reply);
                    columns.walk(None, |name, value| {
                        part.column(name, value, reply);
                        end.check(reply)
                    });
                });
                if !is_written {
                    let task = || columns.view().map(|view| ViewTask::new(ColumnsReply { view, part }));
                    long.begin(reply, task);
                }
            }
        }
        Ok(())
    })
}

/// The reply of HGETALL and its relatives with many columns; also inside a range of keys.
pub(crate) struct ColumnsReply {
    view: MembersView,
    part: ColumnParts,
}

impl ColumnsReply {
    /// Returns a task that writes all columns as a map, or `None` if there are few.
    pub(crate) fn all(columns: &ColumnsReader) -> Option<ViewTask<Self>> {
        if columns.len() <= AT_ONCE {
            return None;
        }
        Some(ViewTask::new(Self { view: columns.view()?, part: ColumnParts::Both }))
    }
}

impl SlicedView for ColumnsReply {
    const WAY_OUT: &'static str = "ask for single columns, or use HSCAN";

    fn left(&self) -> u64 {
        self.view.left()
    }

    fn head(&self, count: usize, reply: &mut Reply) {
        self.part.head(count, reply);
    }

    fn some(&mut self, end: ReplyEnd, reply: &mut Reply) -> CommandResult<bool> {
        Ok(self.view.step(SLICE_KEYS, |name, value| {
            self.part.column(name, value, reply);
            end.check(reply)
        })?)
    }
}
