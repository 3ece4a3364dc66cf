//! Dumps a server page by page. A server without snapshots gives the keys of a page first, then
//! their rows.

use std::ops::Bound;

use skeindb::client::{Reply, bound};

use super::snapshot::{self, SnapshotDump};
use super::{DumpOutput, rows};
use crate::bounds::OwnedBounds;
use crate::exit::Failure;
use crate::remote::{CommandPeer, ServerPeer, ServerTarget};

/// Keys per page.
pub const PAGE: u64 = 1000;
/// A part of the error for a user without the right to read all of these keys.
const NO_RIGHT_TO_KEYS: &str = "permissions to access one of the keys";
/// The start of the error for an unknown command.
pub const NO_SUCH_COMMAND: &str = "ERR unknown command";
/// A part of the error for keys without an order.
pub const NO_ORDER: &str = "has no order of keys";

/// Writes the rows of `server` within `range`.
pub fn dump(server: &ServerTarget<'_>, range: OwnedBounds, output: &mut DumpOutput) -> Result<(), Failure> {
    let mut peer = server.connect()?;
    let (mut min, max) = range;
    let is_all = (&min, &max) == (&Bound::Unbounded, &Bound::Unbounded);
    // If the user may not ask, the total is unknown.
    if is_all
        && output.shows
        && let Reply::Integer(keys) = peer.call(&[b"DBSIZE"])?
    {
        output.expect(keys.unsigned_abs());
    }
    if let SnapshotDump::Done = snapshot::dump(&mut peer, &(min.clone(), max.clone()), output)? {
        return Ok(());
    }
    loop {
        let count = PAGE.min(output.left).to_string();
        let (from, to) = (bound(&min, b"-"), bound(&max, b"+"));
        let page = peer.call(&[b"SK.RANGE", &from, &to, b"LIMIT", count.as_bytes(), b"NOVALUES"])?;
        let is_all = (&min, &max) == (&Bound::Unbounded, &Bound::Unbounded);
        if is_all && matches!(&page, Reply::Error(text) if text.contains(NO_ORDER)) {
            return dump_unordered(&mut peer, output);
        }
        let keys = keys_of(&peer, page)?;
        let Some(last) = keys.last() else { return Ok(()) };
        min = Bound::Excluded(last.clone());
        if rows::write(&mut peer, &keys, output)?.is_break() {
            return Ok(());
        }
    }
}

/// Writes all rows, in the sequence of the server's scan.
fn dump_unordered(peer: &mut ServerPeer, output: &mut DumpOutput) -> Result<(), Failure> {
    let mut cursor = b"0".to_vec();
    loop {
        let count = PAGE.min(output.left).to_string();
        let page = peer.call(&[b"SCAN", &cursor, b"COUNT", count.as_bytes()])?;
        let (next, keys) = peer.page(page)?;
        if rows::write(peer, &keys, output)?.is_break() || next == b"0" {
            return Ok(());
        }
        cursor = next;
    }
}

fn keys_of(peer: &ServerPeer, page: Reply) -> Result<Vec<Vec<u8>>, Failure> {
    match checked_page(peer, page)? {
        Reply::Array(items) => {
            let key = |item| if let Reply::Bulk(key) = item { Ok(key) } else { Err(peer.unexpected(&item)) };
            items.into_iter().map(key).collect()
        }
        other => Err(peer.unexpected(&other)),
    }
}

/// Returns a page of a range that is not an error. An error is a failure with advice.
pub fn checked_page(peer: &ServerPeer, page: Reply) -> Result<Reply, Failure> {
    match page {
        Reply::Error(text) if text.starts_with(NO_SUCH_COMMAND) => Err(Failure::new(format!(
            "{0} is not a SkeinDB server: it has no command SK.RANGE; copy its keys into a running SkeinDB with: skein copy --from {0}",
            peer.address
        ))),
        Reply::Error(text) if text.contains(NO_RIGHT_TO_KEYS) => {
            let mut failure = peer.refused(&text);
            failure.message.push_str("; with rights to some keys, dump those by --prefix");
            Err(failure)
        }
        other => peer.checked(other),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::format::Format;
    use crate::remote::AccessOptions;

    /// Answers of servers without `SK.SNAPSHOT`: one that does not know it, and a Redis with the
    /// module.
    const WITHOUT_SNAPSHOTS: [&str; 2] = [
        "-ERR unknown command 'SK.SNAPSHOT'\r\n",
        "-ERR there are no snapshots here: the data are the server's own; leave SNAPSHOT and HELD out\r\n",
    ];

    /// Dumps a test server that answers with these replies. Each is one reply or several, to the
    /// requests that arrive together.
    fn dump_of(replies: Vec<&'static str>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for reply in replies {
                assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
                stream.write_all(reply.as_bytes()).unwrap();
            }
        });
        let access = AccessOptions {
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
        let to = super::super::target_file::DumpTarget::open(Some(&file), false)
            .map_err(|failure| failure.message)
            .unwrap();
        let output = DumpOutput::new(to, Format::Tsv, u64::MAX, false).map_err(|failure| failure.message);
        let mut output = output.unwrap();
        let target = ServerTarget { address: &address, access };
        dump(&target, (Bound::Unbounded, Bound::Unbounded), &mut output)
            .map_err(|failure| failure.message)
            .unwrap();
        output.finish().map_err(|failure| failure.message).unwrap();
        server.join().unwrap();
        std::fs::read_to_string(file).unwrap()
    }

    /// Incident: a key that expired between the reads of its value and of its time was dumped
    /// without a time. Consequence: the load made it a key that never expires. Fix: it is not
    /// dumped.
    ///
    /// Incident: a dump asked a Redis with the module for a snapshot and gave up. Fix: without
    /// snapshots it reads the present keys.
    #[test]
    fn a_key_that_expires_while_it_is_read_is_not_dumped() {
        for refusal in WITHOUT_SNAPSHOTS {
            let dump = dump_of(vec![
                "+PONG\r\n",
                refusal,
                "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",
                "$1\r\n1\r\n:-2\r\n$1\r\n2\r\n:-1\r\n$1\r\n3\r\n:99\r\n",
                "*0\r\n",
            ]);
            assert_eq!(dump, "b\t2\nc\t3\t99\t\n", "{refusal}");
        }
    }
}
