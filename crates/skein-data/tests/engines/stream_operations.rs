//! The operations on streams, once for an engine and once for a map.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::slice;

use proptest::prelude::*;
use skein_data::{
    Claim, Delivery, EngineError, EngineWriter, EntriesView, FieldsBuilder, GroupStart, NewId, ScanDirection,
    StreamId, StreamReader, TrimRule, Trimming,
};

use crate::contents::{Contents, State, Text};
use crate::operations::{Answer, Refusal, set_contents, value};

/// A write to a stream. Ids are `1-n`, so that they meet.
#[derive(Debug, Clone)]
pub enum StreamWrite {
    /// Adds entries with the next ids.
    Add(u8, Text),
    Remove(u64),
    Trim(u64),
    TrimBefore(u64),
    CreateGroup(u8),
    DestroyGroup(u8),
    /// Delivers up to so many new entries to a consumer, or shows it its pending ones.
    Deliver(u8, u8, usize, bool),
    Acknowledge(u8, u64),
    Claim(u8, u8, u64, bool),
    /// Claims up to so many entries from an id on.
    ClaimFrom(u8, u8, u64, usize),
    DeleteConsumer(u8, u8),
    SetGroup(u8, u64),
}

/// A pending entry: its consumer and the number of its deliveries.
type Pending = BTreeMap<u64, (u8, u64)>;

/// A group: the last id that was delivered, the consumers, and the pending entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupContents {
    last: u64,
    consumers: Vec<u8>,
    pending: Pending,
}

/// A stream, as a map holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamContents {
    entries: BTreeMap<u64, Text>,
    last: u64,
    groups: BTreeMap<u8, GroupContents>,
}

fn id(seq: u64) -> StreamId {
    StreamId { ms: u64::from(seq > 0), seq }
}

fn asked<'a>(group: &'a u8, consumer: &'a u8, most: usize) -> Delivery<'a> {
    Delivery { group: slice::from_ref(group), consumer: slice::from_ref(consumer), most, now: 7 }
}

const CLAIM: Claim =
    Claim { min_idle: 0, delivered: 7, deliveries: None, keeps_deliveries: false, force: false };

/// Counts an entry that a write shows.
#[expect(clippy::unnecessary_wraps, reason = "the closures of the writes may fail")]
fn tally(count: &mut u64) -> Result<(), EngineError> {
    *count += 1;
    Ok(())
}

/// Does a write of one stream in an engine.
pub fn write_stream(
    writer: &mut EngineWriter<'_, '_>,
    key: &[u8],
    write: &StreamWrite,
) -> Result<Answer, EngineError> {
    use StreamWrite as W;
    let makes = matches!(write, W::Add(..) | W::CreateGroup(_));
    let count = writer.change_stream::<_, EngineError>(key, makes, |stream| {
        let mut count = 0;
        match write {
            W::Add(entries, text) => {
                for _ in 0..*entries {
                    let next = id(stream.head().last_id.seq + 1);
                    // Entries with the same names lie together, and with others.
                    let name = if next.seq.is_multiple_of(7) { &b"another field"[..] } else { b"field" };
                    let fields = FieldsBuilder::of([name, &text[..]].into_iter());
                    count += u64::from(stream.add(NewId::Exact(next), &fields)?.is_some());
                }
            }
            W::Remove(seq) => count += u64::from(stream.remove(id(*seq))?),
            W::Trim(len) => {
                count += stream.trim(&Trimming { rule: TrimRule::Length(*len), group: 1, most: None })?;
            }
            W::TrimBefore(seq) => {
                count += stream.trim(&Trimming { rule: TrimRule::From(id(*seq)), group: 1, most: None })?;
            }
            W::CreateGroup(group) => {
                let start = GroupStart { last_id: StreamId::MIN, entries_read: 0 };
                count += u64::from(stream.create_group(&[*group], start)?);
            }
            W::DestroyGroup(group) => count += u64::from(stream.destroy_group(&[*group])?),
            W::Deliver(group, consumer, most, true) => {
                stream.deliver(&asked(group, consumer, *most), false, |_, _| tally(&mut count))?;
            }
            W::Deliver(group, consumer, most, false) => {
                let asked = asked(group, consumer, *most);
                stream.show_pending(&asked, StreamId::MIN, |_, _| tally(&mut count))?;
            }
            W::Acknowledge(group, seq) => count += stream.acknowledge(&[*group], &[id(*seq)])?,
            W::Claim(group, consumer, seq, force) => {
                let claim = Claim { force: *force, ..CLAIM };
                let asked = asked(group, consumer, 1);
                stream.claim(&asked, &claim, &[id(*seq)], StreamId::MIN, |_, _| tally(&mut count))?;
            }
            W::ClaimFrom(group, consumer, seq, most) => {
                let asked = asked(group, consumer, *most);
                let next = stream.claim_from(&asked, &CLAIM, id(*seq), 1000, |_, _| tally(&mut count))?;
                count += 1000 * next.map_or(0, |next| next.seq);
            }
            W::DeleteConsumer(group, consumer) => {
                if let Some(mut found) = stream.group(&[*group])? {
                    count += stream.delete_consumer(&[*group], &mut found, &[*consumer])?;
                }
            }
            W::SetGroup(group, seq) => {
                let start = GroupStart { last_id: id(*seq), entries_read: -1 };
                count += u64::from(stream.set_group(&[*group], start)?);
            }
        }
        Ok(count)
    })?;
    Ok(Answer::Count(count.unwrap_or(0) as usize))
}

impl GroupContents {
    fn see(&mut self, consumer: u8) {
        if let Err(at) = self.consumers.binary_search(&consumer) {
            self.consumers.insert(at, consumer);
        }
    }

    fn deliver(&mut self, entries: &BTreeMap<u64, Text>, consumer: u8, most: usize, is_new: bool) -> u64 {
        if is_new {
            let ids: Vec<u64> = entries.range(self.last + 1..).map(|(seq, _)| *seq).take(most).collect();
            for seq in &ids {
                self.see(consumer);
                self.pending.insert(*seq, (consumer, 1));
                self.last = *seq;
            }
            return ids.len() as u64;
        }
        self.see(consumer);
        let own = self.pending.iter_mut().filter(|(_, (owner, _))| *owner == consumer);
        let counted =
            own.take(most).map(|(seq, (_, deliveries))| *deliveries += u64::from(entries.contains_key(seq)));
        counted.count() as u64
    }

    fn claim(&mut self, entries: &BTreeMap<u64, Text>, consumer: u8, seq: u64, force: bool) -> Option<bool> {
        if !entries.contains_key(&seq) {
            return self.pending.remove(&seq).map(|_| false);
        }
        let deliveries = match self.pending.get(&seq) {
            Some((_, deliveries)) => *deliveries,
            None if force => 1,
            None => return None,
        };
        self.see(consumer);
        self.pending.insert(seq, (consumer, deliveries + 1));
        Some(true)
    }
}

impl StreamContents {
    fn apply(&mut self, write: &StreamWrite) -> u64 {
        use StreamWrite as W;
        let Self { entries, last, groups } = self;
        match write {
            W::Add(count, text) => {
                for _ in 0..*count {
                    *last += 1;
                    entries.insert(*last, text.clone());
                }
                u64::from(*count)
            }
            W::Remove(seq) => u64::from(entries.remove(seq).is_some()),
            W::Trim(len) => {
                let surplus = (entries.len() as u64).saturating_sub(*len);
                (0..surplus).for_each(|_| _ = entries.pop_first());
                surplus
            }
            W::TrimBefore(seq) => {
                let kept = entries.split_off(seq);
                std::mem::replace(entries, kept).len() as u64
            }
            W::CreateGroup(group) => {
                let is_new = !groups.contains_key(group);
                groups.entry(*group).or_default();
                u64::from(is_new)
            }
            W::DestroyGroup(group) => u64::from(groups.remove(group).is_some()),
            W::Deliver(group, consumer, most, is_new) => {
                groups.get_mut(group).map_or(0, |group| group.deliver(entries, *consumer, *most, *is_new))
            }
            W::Acknowledge(group, seq) => {
                u64::from(groups.get_mut(group).is_some_and(|group| group.pending.remove(seq).is_some()))
            }
            W::Claim(group, consumer, seq, force) => {
                let Some(group) = groups.get_mut(group) else { return 0 };
                u64::from(group.claim(entries, *consumer, *seq, *force) == Some(true))
            }
            W::ClaimFrom(group, consumer, seq, most) => {
                let Some(group) = groups.get_mut(group) else { return 0 };
                let ids: Vec<u64> = group.pending.range(*seq..).map(|(seq, _)| *seq).collect();
                let taken = ids.len().min(*most);
                for seq in &ids[..taken] {
                    group.claim(entries, *consumer, *seq, false);
                }
                taken as u64 + 1000 * ids.get(taken).copied().unwrap_or(0)
            }
            W::DeleteConsumer(group, consumer) => {
                let Some(group) = groups.get_mut(group) else { return 0 };
                let before = group.pending.len();
                group.pending.retain(|_, (owner, _)| owner != consumer);
                group.consumers.retain(|found| found != consumer);
                (before - group.pending.len()) as u64
            }
            W::SetGroup(group, seq) => match groups.get_mut(group) {
                Some(group) => {
                    group.last = *seq;
                    1
                }
                None => 0,
            },
        }
    }
}

/// Does a write of one stream in the map.
pub fn apply_to_stream(state: &mut State, key: &Text, write: &StreamWrite) -> Result<Answer, Refusal> {
    let makes = matches!(write, StreamWrite::Add(..) | StreamWrite::CreateGroup(_));
    let mut stream = match state.get(key).map(|found| &found.contents) {
        None if makes => StreamContents::default(),
        None => return Ok(Answer::Count(0)),
        Some(Contents::Stream(stream)) => stream.clone(),
        Some(_) => return Err(Refusal::WrongKind),
    };
    let count = stream.apply(write);
    set_contents(state, key, Contents::Stream(stream));
    Ok(Answer::Count(count as usize))
}

/// Reads a stream in every way. Panics if two ways disagree, or if an invariant does not hold.
pub fn stream_contents(stream: &mut StreamReader<'_>) -> StreamContents {
    const ALL: (StreamId, StreamId) = (StreamId::MIN, StreamId::MAX);
    let mut found = StreamContents { last: stream.head().last_id.seq, ..StreamContents::default() };
    stream
        .entries(ALL, ScanDirection::Forward, |id, fields| {
            found.entries.insert(id.seq, fields.last().unwrap_or_default().into());
            ControlFlow::Continue(())
        })
        .expect("a reader keeps its errors");
    // After an error of a page the reader shows nothing more; its lender returns the error.
    let is_whole = found.entries.len() as u64 == stream.len() && stream.group(b"none").is_ok();
    if !is_whole || (stream.head().last_id == StreamId::MIN && stream.groups().expect("groups").is_empty()) {
        return found;
    }
    let mut backward = Vec::new();
    stream
        .entries(ALL, ScanDirection::Backward, |id, _| {
            backward.push(id.seq);
            ControlFlow::Continue(())
        })
        .expect("a reader keeps its errors");
    backward.reverse();
    let half = id(found.last / 2);
    let behind = stream.count((half, StreamId::MAX), u64::MAX).expect("a count");
    let expected = found.entries.range(found.last / 2..).count() as u64;
    let failed = !found.entries.is_empty() && stream.edge(ScanDirection::Forward).expect("an edge").is_none();
    assert!(failed || backward.iter().eq(found.entries.keys()), "{backward:?} backward, {found:?}");
    assert!(failed || behind == expected, "{behind} from the middle, {found:?}");
    if failed {
        return found;
    }
    for direction in [ScanDirection::Forward, ScanDirection::Backward] {
        let mut seen = viewed(stream, (half, id(found.last)), direction);
        if direction == ScanDirection::Backward {
            seen.reverse();
        }
        let expected = found.entries.range(half.seq..).map(|(seq, _)| *seq);
        assert!(seen.iter().copied().eq(expected), "{seen:?} in a view from {half}, {found:?}");
    }
    for (name, group) in stream.groups().expect("groups") {
        let mut contents = GroupContents { last: group.last_id.seq, ..GroupContents::default() };
        for (consumer, _) in stream.consumers(&group).expect("consumers") {
            contents.consumers.push(consumer[0]);
        }
        stream
            .pending_from(&group, StreamId::MIN, |id, entry| {
                contents.pending.insert(id.seq, (entry.consumer[0], entry.deliveries));
                ControlFlow::Continue(())
            })
            .expect("pending entries");
        found.groups.insert(name[0], contents);
    }
    found
}

/// Returns the numbers that a view shows in small steps.
fn viewed(stream: &mut StreamReader<'_>, range: (StreamId, StreamId), direction: ScanDirection) -> Vec<u64> {
    let mut view = EntriesView::of(stream, range, direction, u64::MAX).expect("a view");
    let mut seen = Vec::new();
    while view.left() > 0 {
        let before = view.left();
        let more = view.step(3, |id, fields| {
            assert!(matches!(fields.clone().next(), Some(b"field" | b"another field")));
            seen.push(id.seq);
            ControlFlow::Continue(())
        });
        assert_eq!(more.expect("a step"), view.left() > 0);
        assert!(view.left() < before, "a step shows something");
    }
    seen
}

pub fn stream_write() -> impl Strategy<Value = StreamWrite> {
    use StreamWrite as W;
    let group = || prop::sample::select(vec![b'g', b'h']);
    let consumer = || prop::sample::select(vec![b'a', b'b', b'c']);
    let seq = || prop_oneof![3 => 0..12_u64, 1 => 0..300_u64];
    prop_oneof![
        4 => (1..4u8, value()).prop_map(|(count, text)| W::Add(count, text)),
        2 => (20..120u8, value()).prop_map(|(count, text)| W::Add(count, text)),
        2 => seq().prop_map(W::Remove),
        1 => prop_oneof![0..6u64, 0..200u64].prop_map(W::Trim),
        1 => seq().prop_map(W::TrimBefore),
        3 => group().prop_map(W::CreateGroup),
        1 => group().prop_map(W::DestroyGroup),
        5 => (group(), consumer(), prop_oneof![1..4usize, 1..40usize], any::<bool>()).prop_map(|(group, name, most, new)| W::Deliver(group, name, most, new)),
        2 => (group(), seq()).prop_map(|(group, seq)| W::Acknowledge(group, seq)),
        2 => (group(), consumer(), seq(), any::<bool>()).prop_map(|(group, name, seq, force)| W::Claim(group, name, seq, force)),
        2 => (group(), consumer(), seq(), 1..4usize).prop_map(|(group, name, seq, most)| W::ClaimFrom(group, name, seq, most)),
        1 => (group(), consumer()).prop_map(|(group, name)| W::DeleteConsumer(group, name)),
        1 => (group(), seq()).prop_map(|(group, seq)| W::SetGroup(group, seq)),
    ]
}
