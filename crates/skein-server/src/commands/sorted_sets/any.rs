//! ZRANDMEMBER: any of a set's members. Few are found by their places; for many all are gone through, in slices (`commands::any`).

use std::ops::ControlFlow;

use super::{Shape, answer_of};
use crate::commands::any::{AnyTask, Asked, Entries};
use crate::commands::task::AT_ONCE;
use crate::commands::{Context, Fault, Next, Task};
use crate::engine::{Direction, RowRef, SetReader};
use crate::random::Random;
use crate::resp::{Args, Reply};

/// Answers if that is short; else nothing is written, and `long` is called.
fn answer(
    row: Option<RowRef<'_>>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    long: impl FnOnce(&SetReader<'_>, Asked, &mut Reply<'_>),
) -> Result<(), Fault> {
    let asked = Asked::parse(Entries::Members, args)?;
    answer_of(row, reply, |set, reply| {
        match set {
            None => asked.nothing(reply),
            Some(set) => {
                let len = len_of(set);
                let count = if asked.distinct { asked.count.min(len) } else { asked.count };
                if count <= AT_ONCE { write_some(set, &asked, count, reply) } else { long(set, asked, reply) }
            }
        }
        Ok(())
    })
}

pub(in crate::commands) fn zrand_member(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>) {
    if let Err(fault) = answer(row, args, reply, |_, _, reply| reply.put_off()) {
        fault.write(reply);
    }
}

pub(in crate::commands) fn zrand_member_in_slices(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    let mut task = None;
    context.look_up(args.get(1), |row| {
        answer(row?, args, reply, |set, asked, _| {
            task = set.view_members().map(|view| AnyTask::new(view, asked));
        })
    })?;
    Ok(task.map_or(Next::Done, |task| Next::Slices(Box::new(Task::Any(task)))))
}

fn len_of(set: &SetReader<'_>) -> usize {
    usize::try_from(set.len()).unwrap_or(usize::MAX)
}

/// Writes `count` members: if none may come twice, in order.
fn write_some(set: &SetReader<'_>, asked: &Asked, count: usize, reply: &mut Reply<'_>) {
    let (mut random, len) = (Random::new(), len_of(set));
    let places = if asked.distinct {
        random.choose(count, len)
    } else {
        (0..count).map(|_| random.below(len)).collect()
    };
    let shape = Shape::of(asked.values, reply);
    asked.head(count, reply);
    for at in places {
        set.walk(at as u64, Direction::Forward, |score, member| {
            shape.member(score, member, reply);
            ControlFlow::Break(())
        });
    }
}
