//! About single members, and how many there are.

use super::with_set;
use crate::commands::fault::SYNTAX;
use crate::commands::{Fault, is};
use crate::engine::{RowRef, SetReader};
use crate::resp::{Args, Reply};

pub(in crate::commands) fn zcard(row: Option<RowRef<'_>>, _: &Args<'_>, reply: &mut Reply<'_>) {
    with_set(row, reply, |set, reply| {
        reply.places(set.map_or(0, SetReader::len));
        Ok(())
    });
}

pub(in crate::commands) fn zscore(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>) {
    with_set(row, reply, |set, reply| {
        reply.double_or_null(set.and_then(|set| set.score(args.get(2))));
        Ok(())
    });
}

pub(in crate::commands) fn zmscore(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>) {
    with_set(row, reply, |set, reply| {
        reply.array(args.len() - 2);
        for member in args.from(2) {
            reply.double_or_null(set.and_then(|set| set.score(member)));
        }
        Ok(())
    });
}

pub(in crate::commands) fn zrank(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>) {
    rank(row, args, reply, false);
}

pub(in crate::commands) fn zrevrank(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>) {
    rank(row, args, reply, true);
}

fn rank(row: Option<RowRef<'_>>, args: &Args<'_>, reply: &mut Reply<'_>, reverse: bool) {
    let with_score = args.len() == 4 && is(args.get(3), "WITHSCORE");
    if args.len() > 3 && !with_score {
        let name = if reverse { "zrevrank" } else { "zrank" };
        return if args.len() > 4 { Fault::wrong_arity(name).write(reply) } else { SYNTAX.write(reply) };
    }
    let member = args.get(2);
    with_set(row, reply, |set, reply| {
        let found = set.and_then(|set| {
            let score = set.score(member)?;
            let rank = set.rank(score, member);
            Some((if reverse { set.len() - 1 - rank } else { rank }, score))
        });
        match found {
            None if with_score => reply.null_array(),
            None => reply.null(),
            Some((rank, score)) => {
                if with_score {
                    reply.array(2);
                }
                reply.places(rank);
                if with_score {
                    reply.double(score);
                }
            }
        }
        Ok(())
    });
}
