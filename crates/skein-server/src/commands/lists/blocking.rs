//! BLPOP, BRPOP, BLMPOP, BLMOVE and BRPOPLPUSH: how a client is served from one key.

use super::ends::pop_from;
use super::moves::MoveEnds;
use super::multi_pop::pop_several;
use super::parse_end;
use crate::commands::blocking::{BlockingCommand, BlockingQuery, Served, parse_timeout, serve};
use crate::commands::multi_pop::MultiPop;
use crate::resp::{Args, Reply};
use skein_data::{EngineKeys, ListEnd, RowWriter as _, Ticket, name_within};

pub(crate) const BLPOP: BlockingCommand =
    BlockingCommand::pops_from_lists(|session, _, key, reply| serve_pop(session, key, reply, ListEnd::Front));

pub(crate) const BRPOP: BlockingCommand = BlockingCommand {
    serve: |session, _, key, reply| serve_pop(session, key, reply, ListEnd::Back),
    ..BLPOP
};

pub(crate) const BLMPOP: BlockingCommand = BlockingCommand {
    query: |args| MultiPop::blocking_query(args, parse_end),
    serve: |session, args, key, reply| MultiPop::serve(session, args, key, reply, parse_end, pop_several),
    ..BLPOP
};

pub(crate) const BLMOVE: BlockingCommand = BlockingCommand {
    query: |args| {
        MoveEnds::parse(args)?;
        Ok(BlockingQuery { keys: 1..2, timeout: parse_timeout(args.get(5))?, waits: true })
    },
    serve: |session, args, key, reply| match MoveEnds::parse(args) {
        Ok(ends) => serve_move(session, args, key, reply, ends),
        Err(fault) => (Err(fault), Ticket::default()),
    },
    nothing: |reply| reply.null(),
    is_of_one_key: |_| false,
    ..BLPOP
};

pub(crate) const BRPOPLPUSH: BlockingCommand = BlockingCommand {
    query: |args| Ok(BlockingQuery { keys: 1..2, timeout: parse_timeout(args.get(3))?, waits: true }),
    serve: |session, args, key, reply| serve_move(session, args, key, reply, MoveEnds::ROTATE),
    ..BLMOVE
};

fn serve_pop(session: &mut EngineKeys, key: &[u8], reply: &mut Reply, end: ListEnd) -> Served {
    serve(session, |writer| {
        let popped = pop_from(writer, key, end, 1)?;
        let Some(element) = popped.iter().flatten().next() else { return Ok(false) };
        reply.array(2);
        reply.bulk(name_within(key));
        reply.bulk(element);
        Ok(true)
    })
}

fn serve_move(
    session: &mut EngineKeys,
    args: &Args,
    key: &[u8],
    reply: &mut Reply,
    ends: MoveEnds,
) -> Served {
    serve(session, |writer| {
        let moved = writer.move_element((key, ends.from), (args.get(2), ends.to))?;
        if let Some(element) = &moved {
            reply.bulk(element);
        }
        Ok(moved.is_some())
    })
}
