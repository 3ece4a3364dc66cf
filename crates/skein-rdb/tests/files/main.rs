//! Reads the files of several servers, and the same files with damage.

mod contents;

use std::collections::BTreeMap;

use contents::Contents;
use skein_rdb::stream::{Stream, StreamGroup, StreamId};
use skein_rdb::{FileEvent, FileReader, RdbError, RdbLimits, Result, is_file};

const FILES: [(&str, u16, &[u8]); 4] = [
    ("redis62", 9, include_bytes!("../data/redis62.rdb")),
    ("redis70", 10, include_bytes!("../data/redis70.rdb")),
    ("valkey8", 11, include_bytes!("../data/valkey8.rdb")),
    ("valkey9", 80, include_bytes!("../data/valkey9.rdb")),
];

/// All that a file holds.
#[derive(Default)]
struct FileContents {
    facts: BTreeMap<String, String>,
    libraries: Vec<Vec<u8>>,
    keys: BTreeMap<String, Contents>,
    streams: BTreeMap<String, Stream>,
    expiries: BTreeMap<String, u64>,
    others: Vec<(u64, String)>,
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn read(bytes: &[u8]) -> Result<FileContents> {
    let mut reader = FileReader::new(bytes, RdbLimits::default())?;
    let mut found = FileContents::default();
    let mut present = String::new();
    while let Some(event) = reader.next_event()? {
        match event {
            FileEvent::Fact(name, fact) => {
                found.facts.insert(text(name), text(fact));
            }
            FileEvent::Library(source) => found.libraries.push(source),
            FileEvent::ModuleData => panic!("no module wrote data"),
            FileEvent::Key(key) => {
                present = text(key.key);
                if key.database > 0 {
                    found.others.push((key.database, present.clone()));
                    reader.skip_value();
                }
                if let Some(expires) = key.expires {
                    found.expiries.insert(present.clone(), expires);
                }
                if key.kind.unwrap().is_stream() {
                    found.streams.insert(present.clone(), Stream::default());
                }
            }
            FileEvent::Piece(piece) => {
                if let Some(stream) = found.streams.get_mut(&present) {
                    assert!(stream.add(piece));
                } else {
                    let before = found.keys.remove(&present);
                    found.keys.insert(present.clone(), Contents::add(before, piece));
                }
            }
        }
    }
    assert_eq!(reader.offset(), bytes.len() as u64);
    assert!(reader.next_event()?.is_none(), "the end stays the end");
    Ok(found)
}

#[test]
fn all_keys_are_read() {
    for (name, version, bytes) in FILES {
        assert_eq!(FileReader::new(bytes, RdbLimits::default()).unwrap().version(), version, "{name}");
        let mut found = read(bytes).unwrap();
        let plain = found.keys.remove("plain");
        assert_eq!(plain.is_some(), name == "redis70");
        assert!(plain.is_none_or(
            |plain| plain == Contents::List(vec![b"a".to_vec(), b"b".repeat(150), b"c".to_vec()])
        ));
        let keys: BTreeMap<_, _> = found.keys.into_iter().map(|(key, value)| (key, value.sorted())).collect();
        for (key, contents) in contents::keys() {
            assert_eq!(keys.get(&key), Some(&contents), "{key} of {name}");
        }
        assert_eq!(keys.len(), contents::keys().len(), "{name}");
        assert_eq!(found.others, [(3, "text".to_owned())], "{name}");
        let expiries = [("expires", 4_102_444_800_000), ("hexpires", 4_102_444_800_123)];
        assert_eq!(found.expiries, expiries.map(|(key, at)| (key.to_owned(), at)).into(), "{name}");
        assert_eq!(found.libraries.len(), usize::from(name != "redis62"), "{name}");
        assert!(found.libraries.iter().all(|code| code.starts_with(b"#!lua name=lib\n")), "{name}");
        let of_server = ["redis-ver", "valkey-ver"].iter().any(|fact| found.facts.contains_key(*fact));
        assert!(of_server, "{name}: {:?}", found.facts);
    }
}

fn id(ms: u64, seq: u64) -> StreamId {
    StreamId { ms, seq }
}

fn check_readers(group: &StreamGroup, name: &str) {
    let pending: Vec<_> = group.pending.iter().map(|entry| (entry.id, entry.consumer)).collect();
    let expected = [(id(1000, 2), 0), (id(1001, 1), 0), (id(1001, 2), 1), (id(1002, 0), 1)];
    assert_eq!(pending, expected, "{name}");
    assert!(group.pending.iter().all(|entry| entry.deliveries == 1 && entry.delivered_at > 1 << 40));
    let names: Vec<_> = group.consumers.iter().map(|consumer| &consumer.name[..]).collect();
    assert_eq!(names, [&b"alice"[..], b"bob", b"carol"], "{name}");
    // Redis before 7.2 does not know whether a consumer has received anything.
    let never_active = group.consumers[2].active_at.is_none();
    assert_eq!(never_active, name.starts_with("valkey"), "{name}");
    assert_eq!(group.last_id, id(1002, 0), "{name}");
}

#[test]
fn all_streams_are_read() {
    for (name, _, bytes) in FILES {
        let found = read(bytes).unwrap();
        let stream = &found.streams["stream"];
        let is_deleted = |i: &u64| [3, 7].contains(i);
        let expected: Vec<_> = (1..=130_u64).filter(|i| !is_deleted(i)).collect();
        assert_eq!(stream.entries.len(), expected.len(), "{name}");
        for (entry, i) in stream.entries.iter().zip(expected) {
            assert_eq!(entry.id, id(1000 + i / 3, i % 3), "{name}");
            let value = |text: String| text.into_bytes();
            let fields = if i % 10 == 0 {
                vec![(b"other".to_vec(), value(i.to_string()))]
            } else {
                vec![(b"a".to_vec(), value(i.to_string())), (b"b".to_vec(), value(format!("text-{i}")))]
            };
            assert_eq!(entry.fields, fields, "{name}");
        }
        let is_old = name == "redis62";
        let position = stream.position;
        assert_eq!((position.len, position.last_id), (128, id(1043, 1)), "{name}");
        assert_eq!(position.entries_added, if is_old { 128 } else { 130 }, "{name}");
        assert_eq!(position.max_deleted_id, if is_old { id(0, 0) } else { id(1002, 1) }, "{name}");
        let groups: Vec<_> = stream.groups.iter().map(|group| &group.name[..]).collect();
        assert_eq!(groups, [&b"idle"[..], b"readers"], "{name}");
        check_readers(&stream.groups[1], name);
        let gone = &found.streams["gone"];
        assert_eq!((gone.entries.len(), gone.position.last_id), (0, id(5, 5)), "{name}");
    }
}

/// Every cut and every flipped bit is an error: a part of the format is missing, or the checksum
/// differs.
#[test]
fn damage_is_noticed() {
    for (name, _, bytes) in FILES {
        for at in (0..bytes.len()).step_by(97) {
            let cut = read(&bytes[..at]).err().expect("a part is missing");
            assert!(matches!(cut, RdbError::Ended { .. }), "{name} cut at {at}: {cut}");
            assert!(cut.offset() <= at as u64);
        }
        for at in (0..bytes.len()).step_by(211) {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1 << (at % 8);
            // A fact that is no text stops this test's reader, not the crate's.
            let read = std::panic::catch_unwind(|| read(&damaged).err().map(|error| error.to_string()));
            assert!(read.is_err() || read.is_ok_and(|error| error.is_some()), "{name} at {at}");
        }
    }
}

#[test]
fn other_files_are_refused() {
    let fault = |bytes: &[u8]| FileReader::new(bytes, RdbLimits::default()).unwrap_err().to_string();
    assert!(fault(b"REDIX0010").contains("REDIS and four digits"));
    assert!(fault(b"REDIS00x0").contains("REDIS and four digits"));
    assert!(fault(b"REDIS0099").contains("version 99"));
    assert!(fault(b"REDIS").contains("ends at byte 0"));
    assert!(is_file(b"REDIS0010..."));
    assert!(is_file(b"VALKEY080"));
    assert!(!is_file(b"REDIS is fast"));
    assert!(!is_file(b"REDIS001"));
}

/// Types that no server above writes: lists and sets as Redis 1 wrote them, scores as texts,
/// zipmaps and ziplists of lists; values and data of modules; fields that expire. Made by hand.
#[test]
fn old_and_foreign_types_are_read_or_named() {
    let file = |body: &[u8]| [&b"REDIS0003"[..], body, b"\xff"].concat();
    let found = read(&file(
        b"\x01\x01l\x02\x01a\xc0\x05\x03\x01z\x03\x01a\x031.5\x01b\xfe\x01c\xff\
          \x09\x01m\x08\x01\x01a\x01\x01b.\xff\x0a\x01q\x0e\x0e\0\0\0\x0a\0\0\0\x01\0\x00\x01a\xff",
    ))
    .unwrap();
    assert_eq!(found.keys["l"], Contents::List(vec![b"a".to_vec(), b"5".to_vec()]));
    let scores = [(b"a".to_vec(), 1.5), (b"b".to_vec(), f64::INFINITY), (b"c".to_vec(), f64::NEG_INFINITY)];
    assert_eq!(found.keys["z"], Contents::SortedSet(scores.to_vec()));
    assert_eq!(found.keys["m"], Contents::Hash(vec![(b"a".to_vec(), b"b".to_vec())]));
    assert_eq!(found.keys["q"], Contents::List(vec![b"a".to_vec()]));
    let fault = |body: &[u8]| read(&file(body)).err().unwrap().to_string();
    assert!(fault(b"\x18\x01h\x01").contains("fields expire"));
    assert!(fault(b"\x06\x01m\x01").contains("a module of Redis"));
    assert!(fault(b"\x1e\x01m\x01").contains("type 30"));
}

#[test]
fn values_of_modules_are_skipped() {
    let module = b"\x81\0\0\0\0\0\0\0\x01\x02\x05\x01\x07\x05\x03abc\x04\0\0\0\0\0\0\0\0\x03\0\0\0\0\0";
    let bytes = [&b"REDIS0003\xf7"[..], module, b"\x07\x01m", module, b"\x00\x01k\x01v\xff"].concat();
    let mut reader = FileReader::new(&bytes[..], RdbLimits::default()).unwrap();
    let mut seen = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        seen.push(match event {
            FileEvent::ModuleData => "data".to_owned(),
            FileEvent::Key(key) => format!("key {} {:?}", text(key.key), key.kind.map(|kind| kind as u8)),
            FileEvent::Piece(_) => "piece".to_owned(),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(seen, ["data", "key m Err(7)", "key k Ok(0)", "piece"]);
}

#[test]
fn a_blob_that_would_take_too_much_memory_is_refused() {
    let limits = RdbLimits { blob_memory: 10_000, ..RdbLimits::default() };
    let (_, _, bytes) = FILES[0];
    let mut reader = FileReader::new(bytes, limits).unwrap();
    let stopped = loop {
        match reader.next_event() {
            Ok(event) => assert!(event.is_some(), "the long list takes more"),
            Err(error) => break error,
        }
    };
    assert!(matches!(stopped, RdbError::TooLong { limit: 10_000, .. }), "{stopped}");
}
