//! DEL and UNLINK: at once together with other writes, or in slices for many keys. The removal is
//! not atomic: other clients may see some of the keys removed and others not.

use crate::commands::task::{SLICE_KEYS, SliceResult, SlicedTask, TaskProgress, TaskSlice};
use crate::commands::{AfterCommand, CommandContext, CommandResult, Replied};
use crate::resp::{Args, Reply};
use skein_data::EngineWriter;

/// Number of keys that are looked up ahead of their removal, so that the memory reads overlap.
const AHEAD: usize = 32;

/// Removes keys. Returns how many existed.
fn remove<'k>(
    writer: &mut EngineWriter,
    mut keys: impl ExactSizeIterator<Item = &'k [u8]>,
) -> CommandResult<usize> {
    let mut count = 0;
    if keys.len() == 1 {
        return Ok(keys.next().map_or(Ok(false), |key| writer.remove(key))?.into());
    }
    while keys.len() > 0 {
        let some: Vec<&[u8]> = keys.by_ref().take(AHEAD).collect();
        writer.prefetch(&some);
        for key in some {
            count += usize::from(writer.remove(key)?);
        }
    }
    Ok(count)
}

pub(super) fn del(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    reply.count(remove(writer, args.from(1))?);
    Ok(())
}

pub(super) fn del_in_slices(_: &mut CommandContext, args: &Args, _: &mut Reply) -> CommandResult {
    let mut task =
        RemoveKeysTask { keys: Vec::new(), ends: Vec::with_capacity(args.len()), done: 0, count: 0 };
    for key in args.from(1) {
        task.keys.extend_from_slice(key);
        task.ends.push(task.keys.len());
    }
    Ok(AfterCommand::slices(task))
}

/// The removal of many keys in slices.
pub(crate) struct RemoveKeysTask {
    /// The keys, concatenated, and the end of each one.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// Number of keys processed, and how many of them existed.
    done: usize,
    count: usize,
}

impl RemoveKeysTask {
    fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start..self.ends[at]]
    }
}

impl SlicedTask for RemoveKeysTask {
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        let some = self.done..self.ends.len().min(self.done + SLICE_KEYS);
        let keys = || some.clone().map(|at| self.key(at));
        let watch = slice.changes.begin_removal(slice.session, keys());
        let (removed, ticket) = slice.session.write(|writer| remove(writer, keys()));
        slice.changes.end(watch, slice.session, removed.is_ok());
        slice.ticket = slice.ticket.max(ticket);
        self.count += removed??;
        self.done = some.end;
        if self.done < self.ends.len() {
            return Ok(TaskProgress::More);
        }
        reply.count(self.count);
        Ok(TaskProgress::Done)
    }

    fn held(&self) -> usize {
        self.keys.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    fn writes(&self) -> bool {
        true
    }
}
