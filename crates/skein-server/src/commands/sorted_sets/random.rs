//! ZRANDMEMBER, and random members of any set. Finds a few members by rank; for many, walks all in
//! slices (`commands::random_entries`).

use std::ops::ControlFlow;

use super::{MemberFormat, answer_of};
use crate::commands::Replied;
use crate::commands::random_entries::{DrawSource, RandomEntryKind, RandomQuery, RandomTask, draw};
use crate::commands::task::{AT_ONCE, LongReply};
use crate::redis::random::CommandRng;
use crate::resp::{Args, Reply};
use skein_data::{RowView, ScanDirection, SetReader};

pub(super) fn zrand_member(
    row: Option<RowView>,
    args: &Args,
    reply: &mut Reply,
    long: &mut LongReply,
) -> Replied {
    let asked = RandomQuery::parse(RandomEntryKind::ScoredMembers, args)?;
    answer_of(row, reply, |set, reply| draw(set, asked, reply, long))
}

impl DrawSource for SetReader<'_> {
    fn is_quick(&self, asked: &RandomQuery) -> bool {
        count_of(self, asked) <= AT_ONCE
    }

    /// Writes the members. Distinct ones are written in order.
    fn write_some(&self, asked: &RandomQuery, reply: &mut Reply) -> Replied {
        let (mut random, len, count) = (CommandRng::new(), len_of(self), count_of(self, asked));
        let places = if asked.distinct {
            random.choose(count, len)
        } else {
            (0..count).map(|_| random.below(len)).collect()
        };
        let shape = MemberFormat::of(asked.values, reply);
        asked.head(count, reply);
        for at in places {
            self.walk(at as u64, ScanDirection::Forward, |score, member| {
                shape.member(score, member, reply);
                ControlFlow::Break(())
            });
        }
        Ok(())
    }

    fn task(&self, asked: RandomQuery) -> Option<RandomTask> {
        self.view_members().map(|view| RandomTask::new(view, asked))
    }
}

fn len_of(set: &SetReader) -> usize {
    usize::try_from(set.len()).unwrap_or(usize::MAX)
}

/// Returns the number of members in the reply.
fn count_of(set: &SetReader, asked: &RandomQuery) -> usize {
    if asked.distinct { asked.count.min(len_of(set)) } else { asked.count }
}
