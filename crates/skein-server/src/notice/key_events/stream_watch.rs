//! Events of streams that the states of keys do not show: entries that XADD has trimmed, and
//! consumers that a read or a claim has made.
//!
//! ```text
//!   XADD s MAXLEN 2 *      entries before + 1 > entries after     ─► xtrim
//!   XREADGROUP GROUP g c   the group has c after, and not before  ─► xgroup-createconsumer
//! ```

use super::EventClass;
use super::changes::ChangeLog;
use super::watch::{KeyStates, WatchedKey};
use crate::command_table::{Command, is};
use crate::resp::Args;

/// The parts of a stream that a command may change besides the state of its key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StreamPart<'a> {
    /// The number of entries. The command adds one.
    Entries,
    /// The consumer of a group.
    Consumer { group: &'a [u8], consumer: &'a [u8] },
}

/// Returns the part of a request of XADD: it may trim the entries.
pub(crate) fn trimmed_entries<'a>(args: &Args<'a>) -> Option<StreamPart<'a>> {
    let trims = args.from(2).any(|word| is(word, "MAXLEN") || is(word, "MINID"));
    trims.then_some(StreamPart::Entries)
}

/// Returns the part of a request of XREADGROUP: it may make the consumer.
pub(crate) fn reading_consumer<'a>(args: &Args<'a>) -> Option<StreamPart<'a>> {
    // The values of the options before it are numbers.
    let mut rest = args.from(1).skip_while(|word| !is(word, "GROUP")).skip(1);
    Some(StreamPart::Consumer { group: rest.next()?, consumer: rest.next()? })
}

/// Returns the part of a request of XCLAIM or XAUTOCLAIM: it may make the consumer.
#[expect(clippy::unnecessary_wraps, reason = "others may find no part")]
pub(crate) fn claiming_consumer<'a>(args: &Args<'a>) -> Option<StreamPart<'a>> {
    Some(StreamPart::Consumer { group: args.get(2), consumer: args.get(3) })
}

impl StreamPart<'_> {
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
        command: &Command,
        args: &Args<'a>,
        keys: &mut impl KeyStates,
        watched: &[WatchedKey<'_>],
    ) -> Option<Self> {
        let part = command.stream_part?(args)?;
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
