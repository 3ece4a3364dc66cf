//! Events of streams that the states of keys do not show: entries that XADD has trimmed, and consumers
//! that a read or a claim has made.
//!
//! ```text
//!   XADD s MAXLEN 2 *      entries before + 1 > entries after     ─► xtrim
//!   XREADGROUP GROUP g c   the group has c after, and not before  ─► xgroup-createconsumer
//! ```

use super::EventClass;
use super::changes::ChangeLog;
use super::watch::{KeyStates, WatchedKey};
use crate::command_table::{CommandSpec, is};
use crate::resp::RequestArgs;

/// The parts of a stream that a command may change besides the state of its key.
#[derive(Debug, Clone, Copy)]
enum StreamPart<'a> {
    /// The number of entries, of which the command adds one.
    Entries,
    /// The consumer of a group.
    Consumer { group: &'a [u8], consumer: &'a [u8] },
}

impl<'a> StreamPart<'a> {
    /// Returns the part that a request may change without its own event.
    fn of(command: &CommandSpec, args: &RequestArgs<'a>) -> Option<Self> {
        match command.name {
            "xadd" => {
                let trims = args.from(2).any(|word| is(word, "MAXLEN") || is(word, "MINID"));
                trims.then_some(Self::Entries)
            }
            "xreadgroup" => {
                // The values of the options before it are numbers.
                let mut rest = args.from(1).skip_while(|word| !is(word, "GROUP")).skip(1);
                Some(Self::Consumer { group: rest.next()?, consumer: rest.next()? })
            }
            "xclaim" | "xautoclaim" => Some(Self::Consumer { group: args.get(2), consumer: args.get(3) }),
            _ => None,
        }
    }

    /// Counts it in the stream of a key.
    fn count(self, keys: &mut impl KeyStates, key: &[u8]) -> u64 {
        match self {
            Self::Entries => keys.stream_len(key),
            Self::Consumer { group, consumer } => keys.has_consumer(key, group, consumer).into(),
        }
    }

    /// Returns the event of a change of the count.
    fn event(self, before: u64, after: u64) -> Option<&'static str> {
        match self {
            Self::Entries => (before + 1 > after).then_some("xtrim"),
            Self::Consumer { .. } => (before < after).then_some("xgroup-createconsumer"),
        }
    }
}

/// The parts of the streams of a request before it runs.
pub(super) struct StreamWatch<'a> {
    part: StreamPart<'a>,
    /// The counts, by key.
    before: Vec<u64>,
}

impl<'a> StreamWatch<'a> {
    pub(super) fn begin(
        command: &CommandSpec,
        args: &RequestArgs<'a>,
        keys: &mut impl KeyStates,
        watched: &[WatchedKey<'_>],
    ) -> Option<Self> {
        let part = StreamPart::of(command, args)?;
        Some(Self { part, before: watched.iter().map(|watched| part.count(keys, watched.key)).collect() })
    }

    /// Notes the events of keys that have changed.
    pub(super) fn end(self, keys: &mut impl KeyStates, watched: &[WatchedKey<'_>], log: &mut ChangeLog) {
        for (watched, before) in watched.iter().zip(self.before) {
            if watched.has_changed()
                && let Some(event) = self.part.event(before, self.part.count(keys, watched.key))
            {
                log.event(EventClass::Stream, event, watched.key);
            }
        }
    }
}
