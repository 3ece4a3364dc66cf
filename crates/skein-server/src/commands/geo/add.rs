//! GEOADD.

use super::units::parse_position;
use crate::commands::command_error::SYNTAX;
use crate::commands::sorted_sets::{ZaddOptions, add_scored};
use crate::commands::{Replied, is};
use crate::resp::{Args, Reply};
use skein_data::EngineWriter;

pub(super) fn geo_add(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let mut options = ZaddOptions::default();
    let mut first = 2;
    for arg in args.from(first) {
        let known =
            [("NX", &mut options.if_absent), ("XX", &mut options.if_present), ("CH", &mut options.changed)];
        let Some((_, flag)) = known.into_iter().find(|(word, _)| is(arg, word)) else { break };
        *flag = true;
        first += 1;
    }
    let values = args.len() - first;
    if values == 0 || !values.is_multiple_of(3) || (options.if_absent && options.if_present) {
        return Err(SYNTAX);
    }
    let mut rest = args.from(first);
    let mut members = Vec::with_capacity(values / 3);
    while rest.len() > 0 {
        let score = parse_position(&mut rest)?.score();
        members.push((score, rest.next().ok_or(SYNTAX)?));
    }
    reply.count(add_scored(writer, args.get(1), &members, options)?);
    Ok(())
}
