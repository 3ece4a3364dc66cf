//! Streams that earlier versions wrote: each entry is a member of its own.

use std::ops::ControlFlow;

use skein_data::{
    CollectionKind, EngineError, EngineKeys, FieldsBuilder, NewId, RowWriter as _, ScanDirection, StreamId,
    TrimRule, Trimming,
};

use crate::engines::all;

const KEY: &[u8] = b"geese";
const ALL: (StreamId, StreamId) = (StreamId::MIN, StreamId::MAX);

fn id(ms: u64) -> StreamId {
    StreamId { ms, seq: 0 }
}

/// Writes a stream of version 6 with the entries 1-0 to 40-0.
fn write_older(keys: &mut EngineKeys<'_>) {
    let (written, _) = keys.write(|writer| {
        writer.change_members_of::<_, EngineError>(CollectionKind::Stream, KEY, true, |members| {
            for ms in 1..=40 {
                let name = [&[0][..], &id(ms).to_bytes()].concat();
                let value = [&[4][..], b"name", &[2], format!("{ms:02}").as_bytes()].concat();
                members.put_value(&name, &value)?;
            }
            let numbers = [40, 0, 0, 0, 40, 40_u64];
            let mut head: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            head.extend([0; 4]);
            members.put_value(&[1], &head)?;
            Ok(())
        })
    });
    written.expect("a write").expect("a stream");
}

/// Returns the times of all entries, read in both directions and by their ids.
fn times(keys: &mut EngineKeys<'_>) -> Vec<u64> {
    let read = keys.get_with(KEY, |row| {
        row.expect("a read").expect("a row").stream(|stream| {
            stream.check();
            let mut both = [Vec::new(), Vec::new()];
            for (direction, found) in
                [ScanDirection::Forward, ScanDirection::Backward].into_iter().zip(&mut both)
            {
                stream
                    .entries(ALL, direction, |id, fields| {
                        let expected = format!("{:02}", id.ms);
                        assert!(fields.eq([b"name", expected.as_bytes()]), "fields of {id}");
                        found.push(id.ms);
                        ControlFlow::Continue(())
                    })
                    .expect("entries");
            }
            let [forward, mut backward] = both;
            backward.reverse();
            assert_eq!(forward, backward);
            for ms in &forward {
                assert_eq!(stream.entry(id(*ms), |fields| fields.count()).expect("an entry"), Some(2));
            }
            assert_eq!(stream.len(), forward.len() as u64);
            forward
        })
    });
    read.expect("no error").expect("a stream")
}

/// Incident: streams of version 6 have a member for each entry. They must stay readable, and new
/// entries must follow the old ones.
#[test]
fn entries_of_earlier_versions_are_read_among_the_others() {
    for kind in all() {
        let engine = kind.open_fresh();
        let mut session = engine.session();
        let mut keys = EngineKeys::Session(&mut session);
        write_older(&mut keys);
        assert_eq!(times(&mut keys), (1..=40).collect::<Vec<_>>(), "{kind}");
        let (written, _) = keys.write(|writer| {
            writer.change_stream::<_, EngineError>(KEY, false, |stream| {
                for ms in 41..=99 {
                    let fields = FieldsBuilder::of([&b"name"[..], format!("{ms:02}").as_bytes()].into_iter());
                    assert!(stream.add(NewId::Exact(id(ms)), &fields)?.is_some());
                }
                for ms in [3, 40, 41, 99] {
                    assert!(stream.remove(id(ms))?, "entry {ms}");
                }
                assert!(!stream.remove(id(3))?);
                Ok(stream.count((id(10), id(60)), u64::MAX)?)
            })
        });
        assert_eq!(written.expect("a write").expect("a change"), Some(49), "{kind}");
        let expected: Vec<u64> = (1..=99).filter(|ms| ![3, 40, 41, 99].contains(ms)).collect();
        assert_eq!(times(&mut keys), expected, "{kind}");
        let (trimmed, _) = keys.write(|writer| {
            writer.change_stream::<_, EngineError>(KEY, false, |stream| {
                Ok(stream.trim(&Trimming { rule: TrimRule::Length(30), group: 1, most: None })?)
            })
        });
        assert_eq!(trimmed.expect("a write").expect("a trimming"), Some(65), "{kind}");
        assert_eq!(times(&mut keys), expected[65..], "{kind}");
    }
}
