//! Checks of the invariants of a stream, for tests.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Deref};

use super::StreamId;
use super::chunks::{CHUNK_BYTES, ChunkEntries, count_in};
use super::records::{
    StreamRecord, base_in, consumer_name, owned_name, pending_name, read_consumer, read_pending,
};
use super::stream::Stream;
use crate::Members;

impl<M: Deref<Target: Members>> Stream<'_, M> {
    /// Panics if an invariant of the stream does not hold; see the head of `streams`. For tests.
    #[doc(hidden)]
    pub fn check(&mut self) {
        let (mut len, mut heads) = (0, 0);
        let (mut groups, mut consumers) = (BTreeMap::new(), BTreeMap::<u32, u64>::new());
        let (mut pending, mut owned) = (BTreeMap::<u32, u64>::new(), 0u64);
        let mut names: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let (head, mut last) = (self.head(), StreamId::MIN);
        let walked = self.members.walk_names(None, &mut |name, value| {
            names.push((name.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        });
        walked.expect("a read");
        let find = |name: &[u8]| {
            names.binary_search_by(|(found, _)| found[..].cmp(name)).ok().map(|at| &names[at].1[..])
        };
        for (name, value) in &names {
            match StreamRecord::of(name, value).unwrap_or_else(|| panic!("no record: {name:?} {value:?}")) {
                StreamRecord::Entries(entries) => {
                    assert!(
                        value.len() <= CHUNK_BYTES || entries.clone().count() == 1,
                        "{} bytes",
                        value.len()
                    );
                    assert_eq!(count_in(value), entries.clone().count() as u64);
                    len += check_entries(entries, base_in(name).expect("a base"), &mut last);
                }
                StreamRecord::Head(_, tail) => {
                    len += check_entries(tail, StreamId::MIN, &mut last);
                    heads += 1;
                }
                StreamRecord::Group(_, group) => {
                    assert!(group.number < head.next_group);
                    assert!(groups.insert(group.number, group).is_none(), "two groups {}", group.number);
                }
                StreamRecord::Consumer(group, ..) => *consumers.entry(group).or_default() += 1,
                StreamRecord::Pending(group, id, entry) => {
                    *pending.entry(group).or_default() += 1;
                    let owner = find(&consumer_name(group, &entry.consumer)).and_then(read_consumer);
                    let owner = owner.unwrap_or_else(|| panic!("{id} is pending for nobody"));
                    assert!(find(&owned_name(group, owner.number, id)).is_some(), "{id} is not its owner's");
                }
                StreamRecord::Owned => owned += 1,
            }
        }
        assert_eq!((heads, len), (1, head.len), "heads and entries");
        assert!(last <= head.last_id, "entry {last} behind {}", head.last_id);
        assert_eq!(owned, pending.values().sum::<u64>(), "pending entries in both orders");
        for group in groups.values() {
            assert_eq!(group.pending, pending.remove(&group.number).unwrap_or(0), "pending of a group");
            assert_eq!(group.consumers, consumers.remove(&group.number).unwrap_or(0), "consumers");
        }
        assert!(pending.is_empty() && consumers.is_empty(), "records of groups that are gone");
        for (name, value) in &names {
            if let Some(StreamRecord::Consumer(group, own, consumer)) = StreamRecord::of(name, value) {
                let is_own = |entry: &&(Vec<u8>, Vec<u8>)| {
                    entry.0.starts_with(&pending_name(group, StreamId::MIN)[..5])
                        && read_pending(&entry.1).is_some_and(|entry| entry.consumer == own)
                };
                let count = names.iter().filter(is_own).count() as u64;
                assert_eq!(count, consumer.pending, "pending of consumer {}", own.escape_ascii());
            }
        }
    }
}

/// Checks that ids ascend behind `last`, and are not less than the base. Returns their number.
fn check_entries(entries: ChunkEntries<'_>, base: StreamId, last: &mut StreamId) -> u64 {
    let mut count = 0;
    for (id, fields) in entries {
        assert!(*last < id && base <= id, "entry {id} behind {last}, of base {base}");
        assert!(fields.len() % 2 == 0 && !fields.is_empty(), "{} fields of {id}", fields.len());
        *last = id;
        count += 1;
    }
    assert!(count > 0 || base == StreamId::MIN, "a member of base {base} without entries");
    count
}
