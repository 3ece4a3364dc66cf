//! Reading a server: a page of keys, then their rows by pipelines, then the next page.

use std::io;
use std::ops::{Bound, ControlFlow};

use skeindb::client::{Client, Reply};

use super::Output;
use crate::bounds::{self, Range};
use crate::exit::Failure;
use crate::format::Body;
use crate::target::{self, ServerTarget};

/// Keys per page.
const PAGE: u64 = 1000;
/// A pipeline ends at this many bytes of commands, so that sending one never waits for its own replies: it fits
/// into the connection's buffers.
const PIPELINE_BYTES: usize = 16 << 10;

/// Writes the rows of `server` within `range`.
pub fn dump(server: &ServerTarget<'_>, range: Range, output: &mut Output) -> Result<(), Failure> {
    let mut client = server.connect()?;
    let address = server.address;
    let lost = |error| target::lost(address, &error);
    let (mut min, max) = range;
    loop {
        let count = PAGE.min(output.left).to_string();
        let (from, to) = (bounds::argument(&min, b"-"), bounds::argument(&max, b"+"));
        let page =
            client.call(&[b"SK.RANGE", &from, &to, b"LIMIT", count.as_bytes(), b"NOVALUES"]).map_err(lost)?;
        let keys = keys_of(page).map_err(|error| Failure::new(format!("{address}: {error}")))?;
        let Some(last) = keys.last() else { return Ok(()) };
        min = Bound::Excluded(last.clone());
        if dump_page(&mut client, &keys, output).map_err(lost)?.is_break() {
            return Ok(());
        }
    }
}

fn keys_of(page: Reply) -> Result<Vec<Vec<u8>>, String> {
    match page {
        Reply::Array(items) => items
            .into_iter()
            .map(|item| match item {
                Reply::Bulk(key) => Ok(key),
                other => Err(format!("{other} in place of a key")),
            })
            .collect(),
        Reply::Error(text) => Err(text),
        other => Err(format!("{other} in place of keys")),
    }
}

fn dump_page(client: &mut Client, keys: &[Vec<u8>], output: &mut Output) -> io::Result<ControlFlow<()>> {
    if output.keys_only {
        return Ok(keys.iter().try_for_each(|key| output.row(key, &Body::Value(Vec::new()))));
    }
    let mut rest = keys;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take_while(|key| {
            bytes += key.len() + 32;
            bytes <= PIPELINE_BYTES
        });
        let (part, after) = rest.split_at(fits.count().max(1));
        rest = after;
        if dump_part(client, part, output)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn dump_part(client: &mut Client, keys: &[Vec<u8>], output: &mut Output) -> io::Result<ControlFlow<()>> {
    let commands: Vec<[&[u8]; 2]> = keys.iter().map(|key| [b"GET".as_slice(), key]).collect();
    let replies = client.pipeline(&commands)?;
    for (key, reply) in keys.iter().zip(replies) {
        let body = match reply {
            Reply::Bulk(value) => Some(Body::Value(value)),
            // Gone since the page was read.
            Reply::Null => None,
            Reply::Error(text) if text.starts_with("WRONGTYPE") => columns(client.call(&[b"HGETALL", key])?)?,
            other => return Err(unexpected(&other)),
        };
        if let Some(body) = body
            && output.row(key, &body).is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The columns of a row; `None` if it is gone, or has become a value, since it was asked for.
fn columns(reply: Reply) -> io::Result<Option<Body>> {
    let items = match reply {
        Reply::Array(items) => items,
        Reply::Error(text) if text.starts_with("WRONGTYPE") => return Ok(None),
        other => return Err(unexpected(&other)),
    };
    let mut columns = Vec::with_capacity(items.len() / 2);
    let mut items = items.into_iter();
    while let (Some(Reply::Bulk(name)), Some(Reply::Bulk(value))) = (items.next(), items.next()) {
        columns.push((name, value));
    }
    Ok(if columns.is_empty() { None } else { Some(Body::Columns(columns)) })
}

fn unexpected(reply: &Reply) -> io::Error {
    io::Error::other(format!("the server answered {reply}"))
}
