//! The length of a stream's chunks.

use skein_data::{EngineError, FieldsBuilder, NewId, StreamId};

use crate::engines::all;

const KEY: &[u8] = b"geese";

fn id(ms: u64) -> StreamId {
    StreamId { ms, seq: 0 }
}

/// Incident: a chunk holds the names of its first entry once, for all entries that share them. When
/// that entry was removed, the others got names of their own, and their length was not checked.
/// Consequence: removals let a chunk of 2,000 bytes grow to many times that. Fix: a chunk that has
/// become too long is halved.
#[test]
fn a_chunk_that_loses_the_entry_with_the_names_stays_short() {
    let name = [b'n'; 400];
    for kind in all() {
        let engine = kind.open_fresh();
        let mut session = engine.session();
        let mut keys = session.keys();
        let (written, _) = keys.write(|writer| {
            writer.change_stream::<_, EngineError>(KEY, true, |stream| {
                for ms in 1..=90 {
                    let own = if ms == 2 { &b"other"[..] } else { &name[..] };
                    let fields = FieldsBuilder::of([own, b"v"].into_iter());
                    assert!(stream.add(NewId::Exact(id(ms)), &fields)?.is_some());
                }
                Ok(stream.remove(id(1))?)
            })
        });
        assert_eq!(written.expect("a write").expect("a change"), Some(true), "{kind}");
        let read = keys.get_with(KEY, |row| {
            row.expect("a read").expect("a row").stream(|stream| {
                stream.check();
                stream.len()
            })
        });
        assert_eq!(read.expect("no error"), Some(89), "{kind}");
    }
}
