//! Values that are written and read again, and payloads with damage.

use proptest::prelude::*;
use skein_rdb::packed::{ListpackWriter, QuicklistWriter, write_intset};
use skein_rdb::stream::{
    PendingEntry, Stream, StreamConsumer, StreamEntry, StreamGroup, StreamId, write_stream,
};
use skein_rdb::write::{write_length, write_scored, write_string, write_type};
use skein_rdb::{RdbInput, RdbLimits, Result, ValuePiece, ValueReader, ValueType, payload};

/// DUMP of a stream by Redis 7.0.15: 250 entries, two groups, two consumers with pending entries.
const STREAM: &[u8] = include_bytes!("data/stream.dump");

/// Reads the pieces of a value. Returns them and the number of bytes that were read.
fn read(body: &[u8]) -> Result<(Vec<ValuePiece>, u64)> {
    let mut input = RdbInput::new(&body[1..], RdbLimits { blob_memory: 1 << 20, ..RdbLimits::default() });
    let mut reader = ValueReader::new(ValueType::of(body[0], 0)?);
    let mut pieces = Vec::new();
    while let Some(piece) = reader.next(&mut input)? {
        pieces.push(piece);
    }
    Ok((pieces, input.offset() + 1))
}

fn read_stream(body: &[u8]) -> Stream {
    let mut stream = Stream::default();
    assert!(read(body).unwrap().0.into_iter().all(|piece| stream.add(piece)));
    stream
}

#[test]
fn a_stream_is_written_with_the_bytes_of_redis() {
    let (version, body) = payload::open(STREAM).unwrap();
    assert_eq!(version, payload::VERSION);
    let stream = read_stream(body);
    assert_eq!((stream.entries.len(), stream.groups.len()), (250, 2));
    assert_eq!(stream.groups[1].entries_read, Some(7));
    let mut written = Vec::new();
    write_stream(&mut written, &stream);
    assert_eq!(written.len(), body.len());
    assert!(written == body, "the same bytes");
    payload::seal(&mut written);
    assert!(written == STREAM);
}

fn with_strings(kind: ValueType, count: usize, strings: &[&[u8]]) -> Vec<u8> {
    let mut body = Vec::new();
    write_type(&mut body, kind);
    write_length(&mut body, count as u64);
    for string in strings {
        write_string(&mut body, string);
    }
    body
}

fn with_blob(kind: ValueType, blob: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    write_type(&mut body, kind);
    write_string(&mut body, blob);
    body
}

fn listpack(texts: &[Vec<u8>]) -> Vec<u8> {
    let mut pack = ListpackWriter::default();
    for text in texts {
        pack.push(text);
    }
    pack.finish()
}

/// Returns values of all types that are written here, with these texts.
fn bodies(texts: &[Vec<u8>], numbers: &[i64]) -> Vec<Vec<u8>> {
    let slices: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let (pairs, even) = (texts.len() / 2, texts.len() / 2 * 2);
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut scored = with_strings(ValueType::SortedSet2, texts.len(), &[]);
    for text in texts {
        write_scored(&mut scored, text, 1.5);
    }
    let mut nodes = with_strings(ValueType::ListQuicklist2, 2, &[]);
    write_length(&mut nodes, 2);
    write_string(&mut nodes, &listpack(texts));
    write_length(&mut nodes, 1);
    write_string(&mut nodes, b"plain");
    let mut stream = Vec::new();
    write_stream(&mut stream, &stream_of(texts));
    let mut list = QuicklistWriter::default();
    for text in texts {
        list.push(text);
    }
    vec![
        list.finish(),
        with_strings(ValueType::List, texts.len(), &slices),
        with_strings(ValueType::Set, texts.len(), &slices),
        with_strings(ValueType::Hash, pairs, &slices[..even]),
        with_blob(ValueType::HashListpack, &listpack(&texts[..even])),
        with_blob(ValueType::SetListpack, &listpack(texts)),
        with_blob(ValueType::SetIntset, &write_intset(&sorted)),
        with_blob(ValueType::String, &texts.concat()),
        scored,
        nodes,
        stream,
    ]
}

fn stream_of(texts: &[Vec<u8>]) -> Stream {
    let entry = |(i, text): (usize, &Vec<u8>)| StreamEntry {
        id: StreamId { ms: 5 + i as u64 / 2, seq: i as u64 % 2 },
        fields: (0..=i % 3).map(|field| (vec![b'f', field as u8], text.clone())).collect(),
    };
    let entries: Vec<_> = texts.iter().enumerate().map(entry).collect();
    let pending = entries.iter().step_by(3).enumerate().map(|(i, entry)| PendingEntry {
        id: entry.id,
        consumer: i % 2,
        delivered_at: 1_700_000_000_000,
        deliveries: i as u64,
    });
    let consumer = |name: &str| StreamConsumer { name: name.into(), seen_at: 17, active_at: Some(17) };
    let group = StreamGroup {
        name: b"group".to_vec(),
        last_id: StreamId { ms: 6, seq: 0 },
        entries_read: None,
        pending: pending.collect(),
        consumers: vec![consumer("a"), consumer("b")],
    };
    let mut stream = Stream { entries, groups: vec![group], ..Stream::default() };
    stream.position.len = stream.entries.len() as u64;
    stream.position.entries_added = stream.position.len + 3;
    stream
}

#[test]
fn long_values_come_in_pieces() {
    let texts: Vec<Vec<u8>> = (0..3500_u32).map(|i| format!("text {i}").into_bytes()).collect();
    let slices: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let body = with_strings(ValueType::List, texts.len(), &slices);
    let (pieces, offset) = read(&body).unwrap();
    assert_eq!((pieces.len(), offset), (4, body.len() as u64));
    let all = pieces.into_iter().flat_map(|piece| {
        assert!(piece.memory() < 2 * ValuePiece::BYTES);
        let ValuePiece::List(elements) = piece else { panic!("a list") };
        elements
    });
    assert!(all.eq(texts));
}

#[test]
fn empty_collections_have_no_piece() {
    for kind in [ValueType::List, ValueType::Set, ValueType::Hash, ValueType::SortedSet2] {
        assert!(read(&with_strings(kind, 0, &[])).unwrap().0.is_empty());
    }
    for kind in [ValueType::HashListpack, ValueType::SortedSetListpack, ValueType::SetListpack] {
        assert!(read(&with_blob(kind, &listpack(&[]))).unwrap().0.is_empty());
    }
    assert!(read(&with_blob(ValueType::SetIntset, &write_intset(&[]))).unwrap().0.is_empty());
}

#[test]
fn scores_that_are_no_numbers_are_refused() {
    let mut body = with_strings(ValueType::SortedSet2, 1, &[]);
    write_scored(&mut body, b"member", f64::NAN);
    assert!(read(&body).unwrap_err().to_string().contains("expected a score"));
    let pack = listpack(&[b"member".to_vec(), b"nan".to_vec()]);
    assert!(read(&with_blob(ValueType::SortedSetListpack, &pack)).is_err());
    let pack = listpack(&[b"member".to_vec()]);
    let fault = read(&with_blob(ValueType::SortedSetListpack, &pack)).unwrap_err().to_string();
    assert!(fault.contains("an odd number"), "{fault}");
}

fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let text = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        any::<i64>().prop_map(|number| number.to_string().into_bytes()),
        (0_usize..300).prop_map(|len| vec![b'r'; len]),
    ];
    prop::collection::vec(text, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_is_read_again(texts in texts(), numbers: Vec<i64>) {
        for body in bodies(&texts, &numbers) {
            let (pieces, offset) = read(&body).unwrap();
            prop_assert_eq!(offset, body.len() as u64);
            for piece in pieces {
                match piece {
                    ValuePiece::List(found) if found.len() > texts.len() => {
                        prop_assert_eq!(&found[..texts.len()], &texts);
                    }
                    ValuePiece::List(found) | ValuePiece::Set(found)
                        if found.len() == texts.len() && body[0] != ValueType::SetIntset as u8 =>
                    {
                        prop_assert_eq!(&found, &texts);
                    }
                    ValuePiece::Hash(pairs) => {
                        let expected = texts.chunks_exact(2).map(|two| (two[0].clone(), two[1].clone()));
                        prop_assert_eq!(pairs, expected.collect::<Vec<_>>());
                    }
                    ValuePiece::String(text) => prop_assert_eq!(text, texts.concat()),
                    _ => {}
                }
            }
        }
        let mut body = Vec::new();
        let stream = stream_of(&texts);
        write_stream(&mut body, &stream);
        prop_assert_eq!(read_stream(&body), stream);
    }

    /// Any cut is an error, and any other damage an error or another value. Nothing panics.
    #[test]
    fn no_damage_panics(texts in texts(), numbers: Vec<i64>, at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut all = bodies(&texts, &numbers);
        all.push(payload::open(STREAM).unwrap().1.to_vec());
        for body in all {
            let cut = &body[..=cut.index(body.len() - 1)];
            prop_assert!(read(cut).is_err(), "a cut at {}", cut.len());
            let mut damaged = body.clone();
            damaged[at.index(body.len())] = byte;
            if let Err(error) = read(&damaged) {
                prop_assert!(error.offset() <= body.len() as u64);
            }
        }
    }

    #[test]
    fn no_input_panics(kind in 0_u8..30, input: Vec<u8>) {
        let _ = read(&[&[kind][..], &input].concat());
        let _ = payload::open(&input);
    }
}
