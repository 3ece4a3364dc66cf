//! Streams in Redis's format. Their groups follow their entries.

use std::io::BufRead;
use std::ops::ControlFlow;

use skein_data::StreamPart;
use skein_rdb::stream::StreamGroup;
use skein_rdb::{RdbError, RdbInput, RdbLimits, ValuePiece, ValueReader, ValueType, payload};

/// Reads a stream to its end, and returns its groups.
pub fn groups_of(kind: ValueType, input: &mut RdbInput<impl BufRead>) -> Result<Vec<StreamGroup>, RdbError> {
    let (mut reader, mut groups) = (ValueReader::new(kind), Vec::new());
    while let Some(piece) = reader.next(input)? {
        if let ValuePiece::StreamGroup(group) = piece {
            groups.push(group);
        }
    }
    Ok(groups)
}

/// Calls `each` with the parts of a payload of `DUMP`, until it breaks. Reads the payload twice, so
/// that only the groups and one node of entries are in memory besides.
///
/// # Errors
/// Returns the damage of the payload.
pub fn parts(
    bytes: &[u8],
    mut each: impl FnMut(StreamPart) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, String> {
    let (version, body) = payload::open(bytes).ok_or("its payload has another checksum")?;
    if !payload::is_read(version) {
        return Err(format!("its payload has version {version}, which is not read"));
    }
    let damaged = |error: RdbError| error.to_string();
    let open = || {
        let mut input = RdbInput::new(body, RdbLimits::default());
        let kind = input.byte("a type").and_then(|byte| ValueType::of(byte, 0)).map_err(damaged)?;
        if kind.is_stream() { Ok((kind, input)) } else { Err("its payload is no stream".to_owned()) }
    };
    let (kind, mut input) = open()?;
    let groups = groups_of(kind, &mut input).map_err(damaged)?;
    if each(StreamPart::Groups(groups)).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let (kind, mut input) = open()?;
    let mut reader = ValueReader::new(kind);
    while let Some(piece) = reader.next(&mut input).map_err(damaged)? {
        let part = match piece {
            ValuePiece::StreamEntries(entries) => StreamPart::Entries(entries),
            ValuePiece::StreamPosition(position) => StreamPart::Position(position),
            _ => continue,
        };
        if each(part).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use skein_rdb::stream::{Stream, StreamEntry, StreamId, StreamPosition, write_stream};

    #[test]
    fn groups_come_first_and_damage_is_named() {
        let entry =
            |ms| StreamEntry { id: StreamId { ms, seq: 1 }, fields: vec![(b"f".to_vec(), b"v".to_vec())] };
        let last_id = StreamId { ms: 250, seq: 1 };
        let stream = Stream {
            entries: (1..=250).map(entry).collect(),
            position: StreamPosition { len: 250, last_id, entries_added: 250, ..StreamPosition::default() },
            groups: vec![StreamGroup { name: b"g".to_vec(), ..StreamGroup::default() }],
        };
        let mut bytes = Vec::new();
        write_stream(&mut bytes, &stream);
        payload::seal(&mut bytes);
        let mut found = Vec::new();
        let read = parts(&bytes, |part| {
            found.push(part);
            ControlFlow::Continue(())
        });
        assert!(read.unwrap().is_continue());
        assert_eq!(found.first(), Some(&StreamPart::Groups(stream.groups.clone())));
        assert_eq!(found.last(), Some(&StreamPart::Position(stream.position)));
        let entries = found.iter().flat_map(|part| match part {
            StreamPart::Entries(entries) => entries.clone(),
            _ => Vec::new(),
        });
        assert_eq!(entries.collect::<Vec<_>>(), stream.entries);
        // With a right checksum, the format itself tells.
        let body = &bytes[..bytes.len() - 10];
        for cut in (1..body.len()).step_by(37) {
            let mut damaged = body[..cut].to_vec();
            payload::seal(&mut damaged);
            let read = parts(&damaged, |_| ControlFlow::Continue(()));
            assert!(read.is_err_and(|error| error.contains("ends at byte")), "{cut}");
        }
        bytes[20] ^= 1;
        assert!(parts(&bytes, |_| ControlFlow::Continue(())).unwrap_err().contains("checksum"));
        let mut text = b"\0\x01v".to_vec();
        payload::seal(&mut text);
        assert!(parts(&text, |_| ControlFlow::Continue(())).unwrap_err().contains("no stream"));
    }
}
