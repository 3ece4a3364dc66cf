//! Answers requests while the server is loading: those of commands with a loading handler in the
//! table (`commands::while_loading`). All other commands answer LOADING and an estimate of the time
//! left.

use crate::commands::while_loading::LoadingContext;
use crate::shared::loading::Loading;

use super::super::admission::answer_without_data;
use super::super::connection::Connection;
use super::super::reply_buffer::ReplyBuffer;

/// Answers the first request of a connection and removes it from the queue.
pub(super) fn answer(connection: &mut Connection, output: &mut ReplyBuffer, loading: &Loading) {
    let around = (None, &loading.warnings);
    answer_without_data(connection, output, around, |client, (command, _), args, reply| {
        let early = &mut LoadingContext { client, server: loading };
        match command.while_loading {
            Some(run) => run(early, args, reply).map(Some),
            None => Err(early.refusal()),
        }
    });
    connection.input.take(1);
}
