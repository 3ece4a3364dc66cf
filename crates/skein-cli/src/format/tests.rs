use proptest::prelude::*;
use skein_rdb::stream::{PendingEntry, StreamConsumer, StreamEntry, StreamGroup, StreamId, StreamPosition};

use super::*;

fn options(format: Format) -> ReadOptions {
    ReadOptions { format, line_value: LineValue::Number, raw: false, header: false, of_dump: false }
}

fn read_all(text: &[u8], options: ReadOptions) -> Vec<Result<TextRecord, BadLine>> {
    // A tiny buffer, so that lines cross its ends.
    let mut reader = TextReader::new(io::BufReader::with_capacity(3, text), options);
    std::iter::from_fn(|| reader.next().expect("memory reads")).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "as the reader gives it")]
fn record(line: u64, key: &[u8], body: RecordBody, expires: Option<u64>) -> Result<TextRecord, BadLine> {
    Ok(TextRecord { line, key: key.into(), body, expires, replaces: false })
}

fn value(line: u64, key: &str, value: &str) -> Result<TextRecord, BadLine> {
    record(line, key.as_bytes(), RecordBody::Value(value.into()), None)
}

/// Returns byte strings.
fn owned(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn bad(result: &Result<TextRecord, BadLine>, line: u64, why: &str) {
    let bad = result.as_ref().expect_err("should be refused");
    assert_eq!(bad.line, line);
    assert!(bad.why.contains(why), "{:?} does not say {why:?}", bad.why);
}

#[test]
fn lines_number_their_keys() {
    let read = read_all(b"b\na\\t\r\n\nlast", options(Format::Lines));
    assert_eq!(read, [value(1, "b", "1"), value(2, "a\\t\r", "2"), value(3, "", "3"), value(4, "last", "4")]);
}

#[test]
fn lines_can_give_other_values() {
    let mut options = options(Format::Lines);
    options.line_value = LineValue::Key;
    assert_eq!(read_all(b"k\n", options), [value(1, "k", "k")]);
    options.line_value = LineValue::Empty;
    assert_eq!(read_all(b"k\n", options), [value(1, "k", "")]);
}

#[test]
fn tsv_escapes_and_refuses() {
    let read =
        read_all(b"a\\tb\tv\\\\\\n\nx\\y\tv\nonly\nk\tv\\\nw\tv\r\na\tb\tc\td\n", options(Format::Tsv));
    assert_eq!(read[0], value(1, "a\tb", "v\\\n"));
    bad(&read[1], 2, "unknown escape \\y");
    bad(&read[2], 3, "a key without a value");
    bad(&read[3], 4, "a backslash ends the field");
    assert_eq!(read[4], value(5, "w", "v"));
    bad(&read[5], 6, "4 fields");
}

#[test]
fn tsv_raw_takes_backslashes() {
    let raw = ReadOptions { raw: true, ..options(Format::Tsv) };
    assert_eq!(read_all(b"C:\\temp\tv\n", raw), [value(1, "C:\\temp", "v")]);
}

#[test]
fn csv_quotes_span_lines() {
    let read = read_all(b"\"a,b\",\"say \"\"hi\"\"\nthere\"\r\nplain,v\r\n", options(Format::Csv));
    assert_eq!(read, [value(1, "a,b", "say \"hi\"\nthere"), value(3, "plain", "v")]);
}

#[test]
fn a_stray_csv_quote_spoils_only_its_line() {
    let read = read_all(b"a\"b,v\n\"c\"d,v\ne,f\n\"open,v\ng,h\n", options(Format::Csv));
    bad(&read[0], 1, "not quoted");
    bad(&read[1], 2, "after a closing quote");
    assert_eq!(read[2], value(3, "e", "f"));
    bad(&read[3], 4, "never ends");
    assert_eq!(read.len(), 4);
}

#[test]
fn hex_refuses_odd_and_foreign_digits() {
    let read = read_all(b"00fF\t\n\t61\n616\t61\nxx\t61\n61 62\n", options(Format::Hex));
    assert_eq!(read[0], record(1, &[0, 255], RecordBody::Value(vec![]), None));
    assert_eq!(read[1], value(2, "", "a"));
    bad(&read[2], 3, "3 hexadecimal digits");
    bad(&read[3], 4, "'x' is not a hexadecimal digit");
    assert_eq!(read[4], value(5, "a", "b"));
}

#[test]
fn a_header_is_skipped_and_counted_as_a_line() {
    let header = ReadOptions { header: true, ..options(Format::Csv) };
    assert_eq!(read_all(b"key,value\na,b\n", header), [value(2, "a", "b")]);
    assert_eq!(read_all(b"", header), []);
}

#[test]
fn times_stand_at_the_end() {
    let text =
        "a\tv\t1700\t\nb\tname\tv\t1700\nc\tname\t\t1700\nd\tv\tx\t\ne\tname\tv\t\nf\t1\t2\t3\t4\t17 \n";
    let read = read_all(text.as_bytes(), options(Format::Tsv));
    assert_eq!(read[0], value(1, "a", "v").map(|record| TextRecord { expires: Some(1700), ..record }));
    let columns = |value: &str| RecordBody::Columns(vec![("name".into(), value.into())]);
    assert_eq!(read[1], record(2, b"b", columns("v"), Some(1700)));
    assert_eq!(read[2], record(3, b"c", columns(""), Some(1700)));
    for (line, read) in [(4, &read[3]), (5, &read[4]), (6, &read[5])] {
        bad(read, line, "without a time in milliseconds");
    }
}

#[test]
fn sorted_sets_say_so_at_the_end() {
    let text = "a\tm\t1.5\tzset\nb\tm\t-inf\tn\t1e3\tzset:1700\nc\tm\tx\tzset\nd\tm\t1\tzset:\ne\tm\tnan\tzset\nf\tzset\n";
    let read = read_all(text.as_bytes(), options(Format::Tsv));
    let set = |line, key: &str, members: &[(&str, f64)], expires| {
        let members = members.iter().map(|(member, score)| (member.as_bytes().to_vec(), *score)).collect();
        record(line, key.as_bytes(), RecordBody::Members(members), expires)
    };
    assert_eq!(read[0], set(1, "a", &[("m", 1.5)], None));
    assert_eq!(read[1], set(2, "b", &[("m", f64::NEG_INFINITY), ("n", 1000.0)], Some(1700)));
    bad(&read[2], 3, "the score \"x\" is not a number");
    bad(&read[3], 4, "\"zset:\"");
    bad(&read[4], 5, "the score \"nan\" is not a number");
    assert_eq!(read[5], value(6, "f", "zset"));
}

#[test]
fn sets_say_so_at_the_end() {
    let text =
        "a\tm\t\tset\nb\tm\t\tn\t\tset:1700\nc\tm\tx\tset\nd\tm\t\tset:\ne\tm\t\tsets\nf\tset\ng\tm\tset\n";
    let read = read_all(text.as_bytes(), options(Format::Tsv));
    let set = |line, key: &str, members: &[&str], expires| {
        record(line, key.as_bytes(), RecordBody::Set(owned(members)), expires)
    };
    assert_eq!(read[0], set(1, "a", &["m"], None));
    assert_eq!(read[1], set(2, "b", &["m", "n"], Some(1700)));
    bad(&read[2], 3, "\"x\" behind the member \"m\"");
    bad(&read[3], 4, "\"set:\"");
    bad(&read[4], 5, "\"sets\"");
    assert_eq!(read[5], value(6, "f", "set"));
    let column = RecordBody::Columns(vec![(b"m".to_vec(), b"set".to_vec())]);
    assert_eq!(read[6], record(7, b"g", column, None));
}

#[test]
fn lists_say_so_at_the_end_and_keep_their_order() {
    let text = "a\te\t\tlist\nb\tz\t\t\t\tz\t\ta\t\tlist:1700\nc\te\tx\tlist\nd\te\t\tlist:\ne\te\t\tlists\nf\tlist\n\
        g\te\tlist\nh\te\\t\\n\0\t\tlist\n";
    let read = read_all(text.as_bytes(), options(Format::Tsv));
    let list = |line, key: &str, elements: &[&str], expires| {
        record(line, key.as_bytes(), RecordBody::List(owned(elements)), expires)
    };
    assert_eq!(read[0], list(1, "a", &["e"], None));
    assert_eq!(read[1], list(2, "b", &["z", "", "z", "a"], Some(1700)));
    bad(&read[2], 3, "\"x\" behind the element \"e\" of a list");
    bad(&read[3], 4, "\"list:\"");
    bad(&read[4], 5, "\"lists\"");
    assert_eq!(read[5], value(6, "f", "list"));
    let column = RecordBody::Columns(vec![(b"e".to_vec(), b"list".to_vec())]);
    assert_eq!(read[6], record(7, b"g", column, None));
    assert_eq!(read[7], list(8, "h", &["e\t\n\0"], None));
}

#[test]
fn lines_cannot_hold_a_newline() {
    let mut out = Vec::new();
    assert!(!write(&mut out, Format::Lines, b"a\nb", &RecordBody::Value(vec![]), None).unwrap());
    assert!(out.is_empty());
}

/// Returns bytes, often those that the formats treat specially.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let special = prop::sample::select(b"\t\n\r\\\",\0\xff a".to_vec());
    prop::collection::vec(prop_oneof![special, any::<u8>()], 0..12)
}

fn score() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits).prop_filter("scores are numbers", |score| !score.is_nan())
}

fn stream_id() -> impl Strategy<Value = StreamId> {
    any::<(u64, u64)>().prop_map(|(ms, seq)| StreamId { ms, seq })
}

fn stream_group() -> impl Strategy<Value = StreamGroup> {
    let consumer = (bytes(), any::<u64>()).prop_map(|(name, at)| StreamConsumer {
        name,
        seen_at: at,
        active_at: Some(at),
    });
    let pending = prop::collection::btree_map(stream_id(), any::<(u8, u64, u64)>(), 0..4);
    let head = (bytes(), stream_id(), any::<Option<u64>>());
    (head, prop::collection::vec(consumer, 0..3), pending).prop_map(
        |((name, last_id, entries_read), consumers, pending)| {
            let most = if consumers.is_empty() { 0 } else { pending.len() };
            let pending = pending.into_iter().take(most).map(|(id, (consumer, delivered_at, deliveries))| {
                let consumer = usize::from(consumer) % consumers.len();
                PendingEntry { id, consumer, delivered_at, deliveries }
            });
            StreamGroup { name, last_id, entries_read, pending: pending.collect(), consumers }
        },
    )
}

fn stream_part() -> impl Strategy<Value = StreamPart> {
    let fields = prop::collection::vec((bytes(), bytes()), 1..3);
    let entry = (stream_id(), fields).prop_map(|(id, fields)| StreamEntry { id, fields });
    let position = (any::<(u64, u64)>(), stream_id(), stream_id()).prop_map(
        |((len, entries_added), last_id, max_deleted_id)| StreamPosition {
            len,
            last_id,
            max_deleted_id,
            entries_added,
        },
    );
    prop_oneof![
        prop::collection::vec(stream_group(), 0..3).prop_map(StreamPart::Groups),
        prop::collection::vec(entry, 1..4).prop_map(StreamPart::Entries),
        position.prop_map(StreamPart::Position),
    ]
}

#[test]
fn faults_in_the_records_of_a_stream_are_named() {
    let group = "s\tgroups\t1\tgroup\tg\tlast-delivered-id\t1-1\tconsumer\tc\tseen-time\t5\t";
    for (text, why) in [
        ("s\t1-1\t1\ta\tb\tstream".to_owned(), ""),
        ("s\t1-1\t1\ta\tb\tstream:x".to_owned(), "a last field of \"stream:x\""),
        ("s\t1\t1\ta\tb\tstream".to_owned(), "\"1\" where a stream has an id"),
        ("s\t1-+1\t1\ta\tb\tstream".to_owned(), "\"1-+1\" where a stream has an id"),
        ("s\t1-1\t2\ta\tb\tstream".to_owned(), "the entry 1-1 of a stream has another number of fields"),
        ("s\t1-1\t0\tstream".to_owned(), "the entry 1-1 of a stream has another number of fields, or none"),
        ("s\tgroups\t1\tstream".to_owned(), "ends where group must be"),
        ("s\tgroups\t0\tgroup\tg\tstream".to_owned(), "\"group\" behind the last field"),
        (format!("{group}stream"), ""),
        (format!("{group}pending\t1-1\tdelivery-time\t-5\tstream"), "\"-5\" behind delivery-time"),
        (
            format!("{group}{0}{0}stream", "pending\t1-1\tdelivery-time\t1\tdelivery-count\t1\t"),
            "pending twice",
        ),
        ("s\tlength\t1\tlast-generated-id\t\tstream".to_owned(), "\"\" behind last-generated-id"),
    ] {
        let read = read_all(text.as_bytes(), options(Format::Tsv));
        if why.is_empty() {
            assert!(read[0].is_ok(), "{:?}", read[0]);
        } else {
            bad(&read[0], 1, why.strip_suffix(", or none").unwrap_or(why));
        }
    }
}

proptest! {
    #[test]
    fn written_records_are_read_back_unchanged(
        rows in prop::collection::vec(
            (
                bytes(),
                prop_oneof![
                    bytes().prop_map(RecordBody::Value),
                    prop::collection::vec((bytes(), bytes()), 1..4).prop_map(RecordBody::Columns),
                    prop::collection::vec((bytes(), score()), 1..4).prop_map(RecordBody::Members),
                    prop::collection::vec(bytes(), 1..4).prop_map(RecordBody::Set),
                    prop::collection::vec(bytes(), 1..4).prop_map(RecordBody::List),
                    stream_part().prop_map(RecordBody::Stream),
                ],
                any::<Option<u64>>(),
            ),
            0..6,
        )
    ) {
        for format in [Format::Tsv, Format::Csv, Format::Hex] {
            let mut text = Vec::new();
            for (key, body, expires) in &rows {
                prop_assert!(write(&mut text, format, key, body, *expires).unwrap());
            }
            let read: Vec<_> = read_all(&text, options(format))
                .into_iter()
                .map(|record| record.map(|record| (record.key, record.body, record.expires)))
                .collect();
            let expected: Vec<_> = rows.iter().cloned().map(Ok).collect();
            prop_assert_eq!(read, expected, "as {:?}", format);
        }
    }
}
