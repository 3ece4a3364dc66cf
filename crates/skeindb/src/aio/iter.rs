//! Streams over ranges.

use std::collections::VecDeque;
use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::task::JoinHandle;

use super::{no_answer, spawn};
use crate::{Iter, Result};

/// Rows of a chunk, and the bytes that end it.
const CHUNK_ROWS: usize = 512;
const CHUNK_BYTES: usize = 256 << 10;

/// A row with its key, or the reason why it has no value.
type RowRead = Result<(Vec<u8>, Vec<u8>)>;

/// A stream over the rows of a range, in order. A blocking thread reads it in chunks of up to 512
/// rows, one at a time, when the rows before were taken.
///
/// It shows the rows of its [`Iter`]: `AsyncIter::from(snapshot.range(..))` is of one moment.
#[derive(Debug)]
#[must_use = "streams do nothing unless they are polled"]
pub struct AsyncIter {
    rows: VecDeque<RowRead>,
    rest: Rest,
}

/// The rows that are not read yet.
#[derive(Debug)]
enum Rest {
    Unread(Box<Iter<'static>>),
    Reading(JoinHandle<(VecDeque<RowRead>, Option<Iter<'static>>)>),
    Ended,
}

impl From<Iter<'static>> for AsyncIter {
    fn from(rows: Iter<'static>) -> Self {
        Self { rows: VecDeque::new(), rest: Rest::Unread(Box::new(rows)) }
    }
}

/// Reads a chunk. Returns it with the rest, unless the range has ended.
fn read_chunk(mut rows: Iter<'static>) -> (VecDeque<RowRead>, Option<Iter<'static>>) {
    let (mut chunk, mut bytes) = (VecDeque::new(), 0);
    while chunk.len() < CHUNK_ROWS && bytes < CHUNK_BYTES {
        let Some(row) = rows.next() else { return (chunk, None) };
        bytes += row.as_ref().map_or(0, |(key, value)| key.len() + value.len());
        chunk.push_back(row);
    }
    (chunk, Some(rows))
}

impl AsyncIter {
    /// Returns the next row, or `None` at the end. If the future is dropped, no row is lost.
    pub async fn next(&mut self) -> Option<RowRead> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Starts reading the next chunk. Returns an error outside of a runtime.
    fn start(&mut self) -> Result<()> {
        if let Rest::Unread(rows) = std::mem::replace(&mut self.rest, Rest::Ended) {
            self.rest = Rest::Reading(spawn(move || read_chunk(*rows))?);
        }
        Ok(())
    }
}

impl Stream for AsyncIter {
    type Item = RowRead;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<RowRead>> {
        loop {
            if let Some(row) = self.rows.pop_front() {
                return Poll::Ready(Some(row));
            }
            match &mut self.rest {
                Rest::Ended => return Poll::Ready(None),
                Rest::Unread(_) => {
                    if let Err(error) = self.start() {
                        return Poll::Ready(Some(Err(error)));
                    }
                }
                Rest::Reading(task) => match ready!(Pin::new(task).poll(cx)) {
                    Ok((chunk, rest)) => {
                        self.rows = chunk;
                        self.rest = rest.map_or(Rest::Ended, |rows| Rest::Unread(Box::new(rows)));
                    }
                    Err(error) => {
                        self.rest = Rest::Ended;
                        return Poll::Ready(Some(Err(no_answer(error))));
                    }
                },
            }
        }
    }
}
