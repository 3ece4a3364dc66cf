//! LMPOP: pops from the first of several lists that has elements.

use super::ends::{pop_from, write_popped};
use crate::commands::CommandResult;
use crate::commands::multi_pop::MultiPop;
use crate::resp::Reply;
use skein_data::{EngineWriter, ListEnd, name_within};

/// Pops from a key, and replies with the key and the elements. Returns whether there were any.
pub(super) fn pop_several(
    writer: &mut EngineWriter,
    asked: &MultiPop<ListEnd>,
    key: &[u8],
    reply: &mut Reply,
) -> CommandResult<bool> {
    let Some(popped) = pop_from(writer, key, asked.end, asked.most)? else { return Ok(false) };
    reply.array(2);
    reply.bulk(name_within(key));
    write_popped(&popped, reply);
    Ok(true)
}
