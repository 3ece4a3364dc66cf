//! Commands on single members, and the number of members.

use super::with_set;
use crate::commands::command_error::SYNTAX;
use crate::commands::{CommandError, is};
use crate::resp::{Args, Reply};
use skein_data::{RowView, SetReader};

pub(super) fn zcard(row: Option<RowView>, _: &Args, reply: &mut Reply) {
    with_set(row, reply, |set, reply| reply.places(set.map_or(0, SetReader::len)));
}

pub(super) fn zscore(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    with_set(row, reply, |set, reply| reply.double_or_null(set.and_then(|set| set.score(args.get(2)))));
}

pub(super) fn zmscore(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    with_set(row, reply, |set, reply| {
        reply.array_of(args.from(2), |reply, member| {
            reply.double_or_null(set.and_then(|set| set.score(member)));
        });
    });
}

pub(super) fn rank(row: Option<RowView>, args: &Args, reply: &mut Reply, reverse: bool) {
    let with_score = args.len() == 4 && is(args.get(3), "WITHSCORE");
    if args.len() > 3 && !with_score {
        let name = if reverse { "zrevrank" } else { "zrank" };
        return if args.len() > 4 {
            CommandError::wrong_arity(name).write(reply);
        } else {
            SYNTAX.write(reply);
        };
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
    });
}
