//! Reading a server: a page of keys, in order if they have one, then their rows by pipelines, then the next page. What lies below a key is read piece by piece.

use std::ops::{Bound, ControlFlow};

use skein_server::parse_double;
use skeindb::client::Reply;

use super::Output;
use crate::bounds::{self, Range};
use crate::exit::Failure;
use crate::remote::{Peer, ServerTarget};

/// Keys per page.
const PAGE: u64 = 1000;
/// Columns or members of a step of a scan.
const PIECE: &[u8] = b"1000";
/// How an error begins that says that a key holds something else.
const OTHER_KIND: &str = "WRONGTYPE";
/// What an error has in it that says that the user may not read all of these keys.
const NO_RIGHT_TO_KEYS: &str = "permissions to access one of the keys";
/// How an error begins that says that there is no such command.
const NO_SUCH_COMMAND: &str = "ERR unknown command";
/// What an error has in it that says that keys have no order.
const NO_ORDER: &str = "has no order of keys";
/// What PEXPIRETIME answers for a key that is not there.
const GONE: i64 = -2;
/// A pipeline ends at this many bytes of commands, so that sending one never waits for its own replies: it fits
/// into the connection's buffers.
const PIPELINE_BYTES: usize = 16 << 10;

/// Writes the rows of `server` within `range`.
pub fn dump(server: &ServerTarget<'_>, range: Range, output: &mut Output) -> Result<(), Failure> {
    let mut peer = server.connect()?;
    let (mut min, max) = range;
    let is_all = (&min, &max) == (&Bound::Unbounded, &Bound::Unbounded);
    // Who may not ask has no total.
    if is_all
        && output.shows
        && let Reply::Integer(keys) = peer.call(&[b"DBSIZE"])?
    {
        output.expect(keys.unsigned_abs());
    }
    loop {
        let count = PAGE.min(output.left).to_string();
        let (from, to) = (bounds::argument(&min, b"-"), bounds::argument(&max, b"+"));
        let page = peer.call(&[b"SK.RANGE", &from, &to, b"LIMIT", count.as_bytes(), b"NOVALUES"])?;
        let is_all = (&min, &max) == (&Bound::Unbounded, &Bound::Unbounded);
        if is_all && matches!(&page, Reply::Error(text) if text.contains(NO_ORDER)) {
            return dump_unordered(&mut peer, output);
        }
        let keys = keys_of(&peer, page)?;
        let Some(last) = keys.last() else { return Ok(()) };
        min = Bound::Excluded(last.clone());
        if dump_page(&mut peer, &keys, output)?.is_break() {
            return Ok(());
        }
    }
}

/// Writes all rows, in the order in which the server's scan has their keys.
fn dump_unordered(peer: &mut Peer, output: &mut Output) -> Result<(), Failure> {
    let mut cursor = b"0".to_vec();
    loop {
        let count = PAGE.min(output.left).to_string();
        let page = peer.call(&[b"SCAN", &cursor, b"COUNT", count.as_bytes()])?;
        let (next, keys) = peer.page(page)?;
        if dump_page(peer, &keys, output)?.is_break() || next == b"0" {
            return Ok(());
        }
        cursor = next;
    }
}

fn keys_of(peer: &Peer, page: Reply) -> Result<Vec<Vec<u8>>, Failure> {
    match page {
        Reply::Error(text) if text.starts_with(NO_SUCH_COMMAND) => Err(Failure::new(format!(
            "{0} is no SkeinDB: it has no command SK.RANGE; bring its keys into a running SkeinDB with: skein copy --from {0}",
            peer.address
        ))),
        Reply::Error(text) if text.contains(NO_RIGHT_TO_KEYS) => {
            let mut failure = peer.refused(&text);
            failure.message.push_str("; with rights to some keys, dump those by --prefix");
            Err(failure)
        }
        Reply::Array(items) => {
            let key = |item| if let Reply::Bulk(key) = item { Ok(key) } else { Err(peer.unexpected(&item)) };
            items.into_iter().map(key).collect()
        }
        other => peer.checked(other).and_then(|other| Err(peer.unexpected(&other))),
    }
}

fn dump_page(peer: &mut Peer, keys: &[Vec<u8>], output: &mut Output) -> Result<ControlFlow<()>, Failure> {
    if output.keys_only {
        return Ok(keys.iter().try_for_each(|key| output.key(key)));
    }
    let mut rest = keys;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take_while(|key| {
            bytes += 2 * key.len() + 64;
            bytes <= PIPELINE_BYTES
        });
        let (part, after) = rest.split_at(fits.count().max(1));
        rest = after;
        if dump_part(peer, part, output)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn dump_part(peer: &mut Peer, keys: &[Vec<u8>], output: &mut Output) -> Result<ControlFlow<()>, Failure> {
    let commands: Vec<[&[u8]; 2]> =
        keys.iter().flat_map(|key| [[b"GET".as_slice(), key], [b"PEXPIRETIME", key]]).collect();
    let mut replies = peer.pipeline(&commands)?.into_iter();
    for (key, reply) in keys.iter().zip(std::iter::from_fn(|| Some((replies.next()?, replies.next()?)))) {
        let expires = match reply.1 {
            // Gone since the page was read, be it just after its value was.
            Reply::Integer(GONE) => continue,
            // Negative if it does not expire.
            Reply::Integer(at) => u64::try_from(at).ok(),
            other => return peer.checked(other).and_then(|other| Err(peer.unexpected(&other))),
        };
        let go_on = match reply.0 {
            Reply::Bulk(value) => output.value(key, value, expires),
            // It was gone, and is there again.
            Reply::Null => ControlFlow::Continue(()),
            Reply::Error(text) if text.starts_with(OTHER_KIND) => dump_pieces(peer, key, expires, output)?,
            other => return peer.checked(other).and_then(|other| Err(peer.unexpected(&other))),
        };
        if go_on.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Writes what lies below a key. If the key is given something else meanwhile, what was read so far is written.
fn dump_pieces(
    peer: &mut Peer,
    key: &[u8],
    expires: Option<u64>,
    output: &mut Output,
) -> Result<ControlFlow<()>, Failure> {
    let mut pieces = output.pieces(key, expires);
    for (scan, scored) in [(b"HSCAN", false), (b"ZSCAN", true)] {
        let mut cursor = b"0".to_vec();
        loop {
            let page = peer.call(&[&scan[..], key, &cursor, b"COUNT", PIECE])?;
            if matches!(&page, Reply::Error(text) if text.starts_with(OTHER_KIND)) {
                if cursor == b"0" {
                    break;
                }
                return Ok(pieces.finish());
            }
            let (next, items) = peer.page(page)?;
            let mut items = items.into_iter();
            let mut found: Vec<_> = std::iter::from_fn(|| Some((items.next()?, items.next()?))).collect();
            // As they come after so many that a scan has pages: a few come by their scores.
            found.sort_unstable();
            for (name, text) in found {
                let added = if scored {
                    pieces.member(
                        &name,
                        parse_double(&text).ok_or_else(|| peer.unexpected(&Reply::Bulk(text)))?,
                    )
                } else {
                    pieces.column(&name, &text)
                };
                if added.is_break() {
                    return Ok(added);
                }
            }
            if next == b"0" {
                return Ok(pieces.finish());
            }
            cursor = next;
        }
    }
    Ok(pieces.finish())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::format::Format;
    use crate::remote::Access;

    /// What a server answers: each reply, or several together, to what comes at once.
    const REPLIES: [&str; 4] = [
        "+PONG\r\n",
        "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",
        "$1\r\n1\r\n:-2\r\n$1\r\n2\r\n:-1\r\n$1\r\n3\r\n:99\r\n",
        "*0\r\n",
    ];

    /// Incident: a key that expired after its value was read, and before its time was, was dumped without a time. Consequence: the
    /// load made it a key that never expires. Fix: it is not dumped.
    #[test]
    fn a_key_that_expires_while_it_is_read_is_not_dumped() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for reply in REPLIES {
                assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
                stream.write_all(reply.as_bytes()).unwrap();
            }
        });
        let access = Access {
            prefix: "",
            variables: &["SKEIN_NO_PASSWORD"],
            user: None,
            password_file: None,
            tls: false,
            ca: None,
            cert: None,
            key: None,
            server_name: None,
            insecure: false,
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        let to =
            super::super::file::Target::open(Some(&file), false).map_err(|failure| failure.message).unwrap();
        let output = Output::new(to, Format::Tsv, u64::MAX, false).map_err(|failure| failure.message);
        let mut output = output.unwrap();
        let target = ServerTarget { address: &address, access };
        dump(&target, (Bound::Unbounded, Bound::Unbounded), &mut output)
            .map_err(|failure| failure.message)
            .unwrap();
        output.finish().map_err(|failure| failure.message).unwrap();
        server.join().unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), "b\t2\nc\t3\t99\t\n");
    }
}
