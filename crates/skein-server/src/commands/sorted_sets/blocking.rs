//! BZPOPMIN, BZPOPMAX and BZMPOP: how a client is served from one key.

use super::multi_set::pop_several;
use super::remove::{parse_end, pop};
use crate::commands::blocking::{BlockingCommand, Served, serve};
use crate::commands::multi_pop::MultiPop;
use crate::resp::Reply;
use skein_data::{EngineKeys, ScanDirection, name_within};

pub(crate) const BZPOPMIN: BlockingCommand =
    BlockingCommand::pops_from_sorted_sets(|session, _, key, reply| {
        serve_pop(session, key, reply, ScanDirection::Forward)
    });

pub(crate) const BZPOPMAX: BlockingCommand = BlockingCommand {
    serve: |session, _, key, reply| serve_pop(session, key, reply, ScanDirection::Backward),
    ..BZPOPMIN
};

pub(crate) const BZMPOP: BlockingCommand = BlockingCommand {
    query: |args| MultiPop::blocking_query(args, parse_end),
    serve: |session, args, key, reply| MultiPop::serve(session, args, key, reply, parse_end, pop_several),
    ..BZPOPMIN
};

fn serve_pop(session: &mut EngineKeys, key: &[u8], reply: &mut Reply, direction: ScanDirection) -> Served {
    serve(session, |writer| {
        let popped = pop(writer, key, direction, 1)?;
        let Some((score, member)) = popped.iter().flatten().next() else { return Ok(false) };
        reply.array(3);
        reply.bulk(name_within(key));
        reply.bulk(member);
        reply.double(*score);
        Ok(true)
    })
}
