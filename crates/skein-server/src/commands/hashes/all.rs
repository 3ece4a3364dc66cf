//! HGETALL, HKEYS, HVALS: all columns of a key, at once if there are few, otherwise in slices. As
//! in Redis, the reply shows a single moment.

use std::ops::ControlFlow;

use super::{answer_of, write_each};
use crate::commands::task::{AT_ONCE, AT_ONCE_BYTES, LongReply, SlicedView, ViewTask};
use crate::commands::{CommandError, Replied, SlicedTask};
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
                if !write_short(columns, reply, part) {
                    let task = || columns.view().map(|view| ViewTask::new(ColumnsReply { view, part }));
                    long.begin(reply, || task().map(SlicedTask::Columns));
                }
            }
        }
        Ok(())
    })
}

/// Writes columns if there are few. Otherwise writes nothing and returns false.
fn write_short(columns: &ColumnsReader, reply: &mut Reply, part: ColumnParts) -> bool {
    if columns.len() > AT_ONCE {
        return false;
    }
    let (start, mut fits) = (reply.position(), true);
    part.head(columns.len(), reply);
    columns.walk(None, |name, value| {
        part.column(name, value, reply);
        fits = reply.position() - start <= AT_ONCE_BYTES;
        if fits { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if !fits {
        reply.truncate(start);
    }
    fits
}

/// The reply of HGETALL and its relatives with many columns; also inside a range of keys.
pub(crate) struct ColumnsReply {
    view: MembersView,
    part: ColumnParts,
}

impl ColumnsReply {
    /// Returns a task that writes all columns as a map, or `None` if there are few.
    pub(in crate::commands) fn all(columns: &ColumnsReader) -> Option<ViewTask<Self>> {
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

    fn some(
        &mut self,
        most: usize,
        full: impl Fn(&Reply) -> ControlFlow<()>,
        reply: &mut Reply,
    ) -> Result<bool, CommandError> {
        Ok(self.view.step(most, |name, value| {
            self.part.column(name, value, reply);
            full(reply)
        })?)
    }
}
