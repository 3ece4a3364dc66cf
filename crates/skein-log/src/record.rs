//! Records: a header of 16 bytes and a payload. Marks and links are records, too. `docs/format.md`
//! describes the bytes.
//!
//! ```text
//!   0        4        8                14     15       16
//!   ├ crc32c ┼ length ┼ epoch (48 bit) ┼ kind ┼ version┼ payload ...
//!            └──────────── covered by the checksum ────────────────┘  start value: the segment's seed
//! ```

use crate::MAX_PAYLOAD;
use crate::planted_bugs::{self, PlantedBug};

/// Bytes of a record before its payload.
pub const RECORD_HEADER: usize = 16;
/// Epochs are 48 bits on disk: at 100,000 epochs a second they last 89 years.
pub const MAX_EPOCH: u64 = (1 << 48) - 1;
/// The first bytes of a mark's payload. Recovery searches for them behind a damaged record.
pub const MARK_MAGIC: [u8; 8] = *b"SKEINMRK";

const VERSION: u8 = 1;
const MARK_FIXED: usize = 40;
const PARTICIPANT: usize = 24;
const LINK: usize = 24;

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogRecordKind {
    /// A payload of the caller.
    Data = 1,
    /// A mark: the end of an epoch.
    Mark = 2,
    /// A link: the start of a segment.
    Link = 3,
}

/// A position in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct LogPosition {
    /// The segment number; 0 is before all segments.
    pub segment: u64,
    /// The offset in the segment's file.
    pub offset: u64,
}

/// A log that took part in an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Participant {
    /// The log's number.
    pub log: u32,
    /// The position of its mark's record.
    pub mark: LogPosition,
}

/// The end of an epoch in one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The epoch.
    pub epoch: u64,
    /// The greatest epoch that was known to be durable when the commit began to write this mark.
    pub durable_before: u64,
    /// The position up to which this log was durable at that time.
    pub own_durable: LogPosition,
    /// All logs that took part, including this one.
    pub participants: Vec<Participant>,
}

/// The start of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentLink {
    /// The end of the previous segment's records; segment 0 if there is no previous segment.
    pub previous: LogPosition,
    /// The greatest epoch up to that end.
    pub last_epoch: u64,
}

/// The header of a record that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    crc: u32,
    /// The length of the payload.
    pub len: usize,
    /// The epoch.
    pub epoch: u64,
    /// The kind of the record.
    pub kind: LogRecordKind,
}

/// Appends a record to `out`. `write` appends the payload.
///
/// If `write` panics, `out` is restored.
#[inline]
pub fn append(
    out: &mut Vec<u8>,
    seed: u32,
    epoch: u64,
    kind: LogRecordKind,
    write: impl FnOnce(&mut Vec<u8>),
) {
    /// Removes an incomplete record if `write` panics.
    struct Undo<'a>(&'a mut Vec<u8>, usize);
    impl Drop for Undo<'_> {
        fn drop(&mut self) {
            self.0.truncate(self.1);
        }
    }

    let start = out.len();
    let undo = Undo(out, start);
    undo.0.extend_from_slice(&[0; RECORD_HEADER]);
    write(undo.0);
    let record = &mut undo.0[start..];
    let len = record.len() - RECORD_HEADER;
    assert!(
        len <= MAX_PAYLOAD,
        "a payload of {len} bytes exceeds MAX_PAYLOAD, {MAX_PAYLOAD} bytes; check the length before the change"
    );
    let word = (epoch & MAX_EPOCH) | (kind as u64) << 48 | u64::from(VERSION) << 56;
    record[4..8].copy_from_slice(&(len as u32).to_le_bytes());
    record[8..16].copy_from_slice(&word.to_le_bytes());
    let crc = crc32c::crc32c_append(seed, &record[4..]);
    record[..4].copy_from_slice(&crc.to_le_bytes());
    std::mem::forget(undo);
}

impl RecordHeader {
    /// Reads a header. Returns `None` if no record has such a header; 16 zeros are no header.
    pub fn parse(bytes: &[u8; RECORD_HEADER]) -> Option<Self> {
        let word = u64_at(bytes, 8);
        let kind = match (word >> 48) as u8 {
            1 => LogRecordKind::Data,
            2 => LogRecordKind::Mark,
            3 => LogRecordKind::Link,
            _ => return None,
        };
        let len = u32_at(bytes, 4) as usize;
        if len > MAX_PAYLOAD || (word >> 56) as u8 != VERSION {
            return None;
        }
        Some(Self { crc: u32_at(bytes, 0), len, epoch: word & MAX_EPOCH, kind })
    }

    /// Returns whether the checksum matches `record`, which is header and payload.
    pub fn holds(&self, seed: u32, record: &[u8]) -> bool {
        planted_bugs::is_on(PlantedBug::SkippedCrc) || crc32c::crc32c_append(seed, &record[4..]) == self.crc
    }
}

impl Mark {
    /// Returns the size of a mark's record with `participants` participants.
    pub fn record_len(participants: usize) -> usize {
        RECORD_HEADER + MARK_FIXED + PARTICIPANT * participants
    }

    /// Appends the mark's record.
    pub fn append(&self, out: &mut Vec<u8>, seed: u32) {
        append(out, seed, self.epoch, LogRecordKind::Mark, |out| {
            out.extend_from_slice(&MARK_MAGIC);
            out.extend_from_slice(&self.durable_before.to_le_bytes());
            put_position(out, self.own_durable);
            out.extend_from_slice(&(self.participants.len() as u32).to_le_bytes());
            out.extend_from_slice(&[0; 4]);
            for participant in &self.participants {
                out.extend_from_slice(&u64::from(participant.log).to_le_bytes());
                put_position(out, participant.mark);
            }
        });
    }

    /// Reads a mark's payload.
    pub fn parse(epoch: u64, payload: &[u8]) -> Option<Self> {
        if payload.len() < MARK_FIXED || payload[..8] != MARK_MAGIC {
            return None;
        }
        let (fixed, rest) = payload.split_at(MARK_FIXED);
        if rest.len() != u32_at(fixed, 32) as usize * PARTICIPANT {
            return None;
        }
        let participants = rest
            .chunks_exact(PARTICIPANT)
            .map(|bytes| Participant { log: u32_at(bytes, 0), mark: position_at(bytes, 8) })
            .collect();
        let own_durable = position_at(fixed, 16);
        Some(Self { epoch, durable_before: u64_at(fixed, 8), own_durable, participants })
    }
}

impl SegmentLink {
    /// The size of a link's record.
    pub const RECORD_LEN: usize = RECORD_HEADER + LINK;

    /// Appends the link's record.
    pub fn append(&self, out: &mut Vec<u8>, seed: u32, epoch: u64) {
        append(out, seed, epoch, LogRecordKind::Link, |out| {
            put_position(out, self.previous);
            out.extend_from_slice(&self.last_epoch.to_le_bytes());
        });
    }

    /// Reads a link's payload.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        (payload.len() == LINK)
            .then(|| Self { previous: position_at(payload, 0), last_epoch: u64_at(payload, 16) })
    }
}

fn put_position(out: &mut Vec<u8>, position: LogPosition) {
    out.extend_from_slice(&position.segment.to_le_bytes());
    out.extend_from_slice(&position.offset.to_le_bytes());
}

fn position_at(bytes: &[u8], at: usize) -> LogPosition {
    LogPosition { segment: u64_at(bytes, at), offset: u64_at(bytes, at + 8) }
}

/// Reads the number at `at`. The caller must have checked the length.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Reads the number at `at`. The caller must have checked the length.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    fn header_of(record: &[u8]) -> Option<RecordHeader> {
        RecordHeader::parse(record[..RECORD_HEADER].try_into().unwrap())
    }

    #[test]
    fn a_record_reads_back_and_every_flipped_bit_shows() {
        let mut out = Vec::new();
        append(&mut out, 7, 12, LogRecordKind::Data, |out| out.extend_from_slice(b"payload"));
        let header = header_of(&out).unwrap();
        assert_eq!((header.len, header.epoch, header.kind), (7, 12, LogRecordKind::Data));
        assert!(header.holds(7, &out));
        assert!(!header.holds(8, &out), "another run's seed");
        for bit in 0..out.len() * 8 {
            let mut bad = out.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            // Over the same bytes, so that a length outside of the checksum shows as well.
            let holds = header_of(&bad).is_some_and(|header| header.holds(7, &bad));
            assert!(!holds, "bit {bit} flipped");
        }
    }

    #[test]
    fn zeros_are_no_record() {
        assert_eq!(RecordHeader::parse(&[0; RECORD_HEADER]), None);
    }

    #[test]
    fn marks_and_links_read_back() {
        let at = |segment, offset| LogPosition { segment, offset };
        let mark = Mark {
            epoch: 9,
            durable_before: 7,
            own_durable: at(3, 4096),
            participants: vec![
                Participant { log: 0, mark: at(3, 5000) },
                Participant { log: 2, mark: at(1, 64) },
            ],
        };
        let mut out = Vec::new();
        mark.append(&mut out, 1);
        assert_eq!(out.len(), Mark::record_len(2));
        assert_eq!(Mark::parse(9, &out[RECORD_HEADER..]), Some(mark));
        assert_eq!(Mark::parse(9, &out[RECORD_HEADER..out.len() - 1]), None);

        let link = SegmentLink { previous: at(8, 77), last_epoch: 5 };
        out.clear();
        link.append(&mut out, 1, 6);
        assert_eq!(out.len(), SegmentLink::RECORD_LEN);
        assert_eq!(SegmentLink::parse(&out[RECORD_HEADER..]), Some(link));
    }

    #[test]
    fn a_panic_in_the_payload_restores_the_buffer() {
        let mut out = vec![1, 2, 3];
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            append(&mut out, 0, 1, LogRecordKind::Data, |out| {
                out.push(9);
                panic!("in the payload");
            });
        }));
        assert!(caught.is_err());
        assert_eq!(out, [1, 2, 3]);
    }
}
