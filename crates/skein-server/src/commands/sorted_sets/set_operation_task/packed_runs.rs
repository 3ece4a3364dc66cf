//! The found members, packed, and merged while they are written.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::ScoredMembers;
use crate::commands::sorted_sets::{MemberFormat, in_order};
use crate::commands::task::{ReplyEnd, SLICE_KEYS};
use crate::resp::Reply;
use skein_data::Member;

/// A heap of runs, the one with the least member on top.
#[derive(Default)]
pub(super) struct PackedRuns {
    heap: BinaryHeap<PackedRun>,
    /// Bytes of the runs.
    bytes: usize,
}

impl PackedRuns {
    pub(super) fn push(&mut self, members: ScoredMembers) {
        if let Some(run) = PackedRun::new(members) {
            self.bytes += run.memory();
            self.heap.push(run);
        }
    }

    /// Returns the bytes of all runs, including the part that is already written.
    pub(super) fn memory(&self) -> usize {
        self.bytes
    }

    /// Writes some members. Returns whether there are more.
    pub(super) fn write(&mut self, shape: MemberFormat, reply: &mut Reply) -> bool {
        let (end, mut count) = (ReplyEnd::of_slice(reply), 0);
        while count < SLICE_KEYS && end.check(reply).is_continue() {
            let Some(mut run) = self.heap.peek_mut() else { break };
            let (score, member) = run.least();
            shape.member(score, Member::of(member), reply);
            count += 1;
            if !run.advance() {
                PeekMut::pop(run);
            }
        }
        !self.heap.is_empty()
    }
}

/// Sorted members, packed: for each one its score (8 bytes), its length (4 bytes) and its bytes.
/// The order of runs is reversed: the greatest run is the one with the least member.
struct PackedRun {
    packed: Box<[u8]>,
    /// Start of the least member that is left.
    at: usize,
}

/// Bytes before each member of a run.
const RUN_ENTRY_HEAD: usize = size_of::<f64>() + size_of::<u32>();

impl PackedRun {
    /// Sorts and packs members. Returns `None` without members.
    fn new(mut members: ScoredMembers) -> Option<Self> {
        members.sort_unstable_by(in_order);
        let bytes = members.iter().map(|(_, member)| RUN_ENTRY_HEAD + member.len()).sum();
        let mut packed = Vec::with_capacity(bytes);
        for (score, member) in &members {
            packed.extend_from_slice(&score.to_le_bytes());
            packed.extend_from_slice(&(member.len() as u32).to_le_bytes());
            packed.extend_from_slice(member);
        }
        (bytes > 0).then(|| Self { packed: packed.into_boxed_slice(), at: 0 })
    }

    /// Returns the bytes of the run and of its place in the heap. The capacity of the heap is at
    /// most twice its length.
    fn memory(&self) -> usize {
        self.packed.len() + 2 * size_of::<Self>()
    }

    fn least(&self) -> (f64, &[u8]) {
        let (score, rest) = self.packed[self.at..].split_first_chunk().unwrap_or((&[0; 8], &[]));
        let (len, rest) = rest.split_first_chunk().unwrap_or((&[0; 4], &[]));
        (f64::from_le_bytes(*score), &rest[..u32::from_le_bytes(*len) as usize])
    }

    /// Advances to the next member. Returns whether there is one.
    fn advance(&mut self) -> bool {
        self.at += RUN_ENTRY_HEAD + self.least().1.len();
        self.at < self.packed.len()
    }
}

impl Ord for PackedRun {
    fn cmp(&self, other: &Self) -> Ordering {
        in_order(&other.least(), &self.least())
    }
}

impl PartialOrd for PackedRun {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PackedRun {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PackedRun {}
