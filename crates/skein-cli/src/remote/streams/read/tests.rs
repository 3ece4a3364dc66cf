//! Streams are read from servers in many pieces, also while they change.

use super::*;
use crate::remote::peer::FakeServer;

fn bulk(text: &str) -> Reply {
    Reply::Bulk(text.as_bytes().to_vec())
}

fn named(pairs: Vec<(&str, Reply)>) -> Reply {
    Reply::Array(pairs.into_iter().flat_map(|(name, value)| [bulk(name), value]).collect())
}

/// A Redis 6.2 with a stream that has no entries, and a group. The entry `i-0` is pending since
/// `PENDING_SINCE + i`.
struct FakePeer {
    pending: Vec<u64>,
    /// The source's clock.
    now: i64,
    /// The entry that is acknowledged after the first page.
    acknowledged: u64,
    /// The most pending entries of a reply.
    limit: usize,
    asked: Vec<String>,
}

const PENDING_SINCE: u64 = 1_000_000;

fn number(number: u64) -> Reply {
    Reply::Integer(number.cast_signed())
}

impl FakePeer {
    fn new(pending: u64) -> Self {
        let pending = (1..=pending).collect();
        Self { pending, now: 2_000_000, acknowledged: 0, limit: usize::MAX, asked: Vec::new() }
    }

    fn item(id: u64, third: Reply) -> Reply {
        Reply::Array(vec![bulk(&format!("{id}-0")), bulk("c"), third, number(id % 7 + 1)])
    }

    fn info(&self, count: usize) -> Reply {
        let shown = self.pending.iter().take(count);
        let pending = shown.map(|id| Self::item(*id, number(PENDING_SINCE + id))).collect();
        let consumer = named(vec![("name", bulk("c")), ("seen-time", number(77))]);
        let group = named(vec![
            ("name", bulk("g")),
            ("last-delivered-id", bulk("9000-0")),
            ("pel-count", number(self.pending.len() as u64)),
            ("pel", Reply::Array(pending)),
            ("consumers", Reply::Array(vec![consumer])),
        ]);
        named(vec![
            ("length", number(0)),
            ("last-generated-id", bulk("9000-0")),
            ("groups", Reply::Array(vec![group])),
        ])
    }
}

impl FakeServer for FakePeer {
    fn answer(&mut self, command: &[&[u8]]) -> Reply {
        let text = |at: usize| String::from_utf8_lossy(command[at]).into_owned();
        self.asked.push(text(0));
        match &*text(0) {
            "XINFO" => self.info(text(5).parse().unwrap()),
            "XRANGE" => Reply::Array(Vec::new()),
            "XPENDING" => {
                let first = parse_id(command[3]).unwrap().ms;
                let count: usize = text(5).parse().unwrap();
                if count > self.limit {
                    return Reply::Error(format!("ERR {TOO_LONG} of 9 bytes"));
                }
                // Some time passes between two pages.
                self.now += 5000;
                let since = |id: u64| self.now - (PENDING_SINCE + id).cast_signed();
                let shown = self.pending.iter().filter(|id| **id >= first).take(count);
                let page = shown.map(|id| Self::item(*id, Reply::Integer(since(*id)))).collect();
                self.pending.retain(|id| *id != self.acknowledged);
                Reply::Array(page)
            }
            name => Reply::Error(format!("ERR unknown command {name}")),
        }
    }
}

/// Returns the pending entries of the only group.
fn pending(peer: &mut FakePeer) -> Vec<PendingEntry> {
    let mut read = StreamRead::new(b"s");
    let mut parts = Vec::new();
    loop {
        match read.next(peer).map_err(|failure| failure.message).unwrap() {
            StreamPiece::Part(part) => parts.push(part),
            StreamPiece::End => break,
            StreamPiece::Refused(text) => panic!("{text}"),
        }
    }
    let last_id = StreamId { ms: 9000, seq: 0 };
    let position = StreamPosition { last_id, ..StreamPosition::default() };
    let [StreamPart::Groups(groups), StreamPart::Position(found)] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!((*found, groups[0].entries_read), (position, None));
    assert_eq!(groups[0].consumers[0].seen_at, 77);
    groups[0].pending.clone()
}

fn assert_pending(found: &[PendingEntry], ids: impl Iterator<Item = u64>) {
    let expected = ids.map(|id| PendingEntry {
        id: StreamId { ms: id, seq: 0 },
        consumer: 0,
        delivered_at: PENDING_SINCE + id,
        deliveries: id % 7 + 1,
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn pending_entries_have_their_times_however_many_they_are() {
    for (count, pages) in [(0, 0), (10, 0), (11, 0), (1000, 0), (1001, 2), (3500, 4)] {
        let mut peer = FakePeer::new(count);
        assert_pending(&pending(&mut peer), 1..=count);
        let asked = peer.asked.iter().filter(|name| *name == "XPENDING").count();
        assert_eq!(asked, pages, "{count}");
    }
    let mut peer = FakePeer { limit: 300, ..FakePeer::new(1001) };
    assert_pending(&pending(&mut peer), 1..=1001);
}

/// If the entry that tells the clock is gone, the local clock helps out.
#[test]
fn an_entry_that_is_acknowledged_meanwhile_does_no_harm() {
    let mut peer = FakePeer { acknowledged: 1000, ..FakePeer::new(1500) };
    let found = pending(&mut peer);
    assert_eq!(found.len(), 1500);
    assert_pending(&found[..1000], 1..=1000);
    for (entry, id) in found[1000..].iter().zip(1001..) {
        let late = (PENDING_SINCE + id) - entry.delivered_at;
        assert!(entry.id.ms == id && (4000..=5000).contains(&late), "{late}");
    }
}

#[test]
fn errors_of_the_server_are_told_apart() {
    struct Rejecting;
    impl FakeServer for Rejecting {
        fn answer(&mut self, _: &[&[u8]]) -> Reply {
            Reply::Error("ERR no such key".to_owned())
        }
    }
    let refused = StreamRead::new(b"s").next(&mut Rejecting).map_err(|failure| failure.message).unwrap();
    let StreamPiece::Refused(text) = refused else { panic!("{refused:?}") };
    assert!(is_changed(&text) && is_changed("WRONGTYPE x") && !is_changed("NOPERM x"));
}
