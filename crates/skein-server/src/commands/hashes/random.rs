//! HRANDFIELD: random columns of a key.
//!
//! Columns have no rank. Of a short hash, positions are drawn uniformly and one walk finds them
//! all. Of a long hash, a few columns are drawn one by one once the hash is prepared for it.
//! Otherwise a walk over all columns runs in slices (`commands::random_entries`), and prepares the
//! hash.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::{COLUMN_OVERHEAD, answer_of};
use crate::commands::random_entries::{DrawSource, RandomEntryKind, RandomQuery, RandomTask, draw};
use crate::commands::task::{AT_ONCE, LongReply};
use crate::commands::{CommandError, CommandResult, Replied};
use crate::redis::random::CommandRng;
use crate::resp::{Args, Reply};
use skein_data::{ColumnsReader, RowView, VALUE_BYTES_MAX};

/// The name and the value of a column.
type NameAndValue = (Vec<u8>, Vec<u8>);

/// Returns the approximate bytes of a column in the reply.
fn bytes_of(asked: &RandomQuery, (name, value): &NameAndValue) -> usize {
    COLUMN_OVERHEAD + name.len() + if asked.values { value.len() } else { 0 }
}

pub(super) fn hrand_field(
    row: Option<RowView>,
    args: &Args,
    reply: &mut Reply,
    long: &mut LongReply,
) -> Replied {
    let asked = RandomQuery::parse(RandomEntryKind::Columns, args)?;
    answer_of(row, reply, |columns, reply| draw(columns, asked, reply, long))
}

impl DrawSource for ColumnsReader<'_> {
    fn is_quick(&self, asked: &RandomQuery) -> bool {
        if is_short(self) {
            return asked.distinct || asked.count <= AT_ONCE;
        }
        asked.is_few_of(self.len()) && self.prepare_draws(AT_ONCE)
    }

    fn write_some(&self, asked: &RandomQuery, reply: &mut Reply) -> Replied {
        if is_short(self) { write_some(self, asked, reply) } else { write_drawn(self, asked, reply) }
    }

    fn task(&self, asked: RandomQuery) -> Option<RandomTask> {
        Some(match self.view() {
            Some(view) => RandomTask::new(view, asked),
            None => RandomTask::of_few(&self.to_vec(), asked),
        })
    }
}

fn is_short(columns: &ColumnsReader) -> bool {
    columns.in_row() || columns.len() <= AT_ONCE
}

/// Writes columns that are drawn one by one; distinct ones in order. REQUIRES: they are few of the
/// columns, which are prepared.
fn write_drawn(columns: &ColumnsReader, asked: &RandomQuery, reply: &mut Reply) -> Replied {
    let (mut random, mut picked, mut distinct) = (CommandRng::new(), Vec::new(), BTreeMap::new());
    while picked.len() + distinct.len() < asked.count {
        let drawn = columns.draw(&mut |end| random.below(end), |name, value| {
            let value = if asked.values { value.to_vec() } else { Vec::new() };
            if asked.distinct {
                distinct.insert(name.to_vec(), value);
            } else {
                picked.push((name.to_vec(), value));
            }
        });
        if !drawn {
            break;
        }
    }
    picked.extend(distinct);
    let bytes = picked.iter().map(|column| bytes_of(asked, column)).sum();
    check_len(bytes, || format!("{} columns with {bytes} bytes in total are", picked.len()))?;
    asked.head(picked.len(), reply);
    for (name, value) in &picked {
        asked.entry(name, value, reply);
    }
    Ok(())
}

/// Returns the columns at these ascending positions, found in one walk.
fn pick(columns: &ColumnsReader, places: &[usize]) -> Vec<NameAndValue> {
    let mut picked = Vec::with_capacity(places.len());
    let (mut places, mut at) = (places.iter().peekable(), 0);
    columns.walk(None, |name, value| {
        if places.next_if_eq(&&at).is_some() {
            picked.push((name.to_vec(), value.to_vec()));
        }
        at += 1;
        if places.peek().is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    picked
}

fn write_some(columns: &ColumnsReader, asked: &RandomQuery, reply: &mut Reply) -> Replied {
    let (mut random, len) = (CommandRng::new(), columns.len());
    if asked.distinct {
        let picked = pick(columns, &random.choose(asked.count.min(len), len));
        // The columns of one row are never longer than this.
        let bytes: usize = picked.iter().map(|column| bytes_of(asked, column) - COLUMN_OVERHEAD).sum();
        check_len(bytes, || format!("{} columns with {bytes} bytes in total are", picked.len()))?;
        asked.head(picked.len(), reply);
        for (name, value) in &picked {
            asked.entry(name, value, reply);
        }
        return Ok(());
    }
    // Keeps at most as many columns in memory as exist, or as are requested.
    let mut places: Vec<usize> = if asked.count < len {
        (0..asked.count).map(|_| random.below(len)).collect()
    } else {
        (0..len).collect()
    };
    let drawn = places.clone();
    places.sort_unstable();
    places.dedup();
    let picked = pick(columns, &places);
    let longest = picked.iter().map(|column| bytes_of(asked, column)).max().unwrap_or(0);
    check_len(longest.saturating_mul(asked.count), || {
        format!("{} columns of up to {longest} bytes each may be", asked.count)
    })?;
    let mut draw = |at: usize| if asked.count < len { drawn[at] } else { random.below(len) };
    asked.head(asked.count, reply);
    let chosen = (0..asked.count).filter_map(|at| picked.get(places.binary_search(&draw(at)).ok()?));
    for (name, value) in chosen {
        asked.entry(name, value, reply);
    }
    Ok(())
}

fn check_len(bytes: usize, what: impl FnOnce() -> String) -> CommandResult<()> {
    if bytes <= VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(CommandError::owned(format!(
        "ERR {} more than the limit of {VALUE_BYTES_MAX} bytes; ask for fewer",
        what()
    )))
}
