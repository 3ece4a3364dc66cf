//! What was found, packed, and in order as it is written.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::ScoredMembers;
use crate::commands::sorted_sets::{MemberFormat, in_order};
use crate::commands::task::{SLICE_KEYS, full_from};
use crate::engine::Member;
use crate::resp::ReplyWriter;

/// Pieces in order, each from its least member on.
#[derive(Default)]
pub(super) struct PackedRuns {
    heap: BinaryHeap<PackedRun>,
    /// Bytes that they take.
    bytes: usize,
}

impl PackedRuns {
    pub(super) fn push(&mut self, members: ScoredMembers) {
        if let Some(piece) = PackedRun::new(members) {
            self.bytes += piece.memory();
            self.heap.push(piece);
        }
    }

    /// Bytes that they took before anything was written.
    pub(super) fn memory(&self) -> usize {
        self.bytes
    }

    /// Writes some members; whether there are more.
    pub(super) fn write(&mut self, shape: MemberFormat, reply: &mut ReplyWriter<'_>) -> bool {
        let (full, mut count) = (full_from(reply.position()), 0);
        while count < SLICE_KEYS && full(reply).is_continue() {
            let Some(mut piece) = self.heap.peek_mut() else { break };
            let (score, member) = piece.least();
            shape.member(score, Member::of(member), reply);
            count += 1;
            if !piece.advance() {
                PeekMut::pop(piece);
            }
        }
        !self.heap.is_empty()
    }
}

/// Members in order, the greatest piece being that with the least member: of each its score and its length, 8 and 4 bytes, and its own.
struct PackedRun {
    packed: Box<[u8]>,
    /// Where the least member begins.
    at: usize,
}

/// Bytes before each member of a piece.
const PIECE_HEAD: usize = size_of::<f64>() + size_of::<u32>();

impl PackedRun {
    /// `None` without members.
    fn new(mut members: ScoredMembers) -> Option<Self> {
        members.sort_unstable_by(in_order);
        let bytes = members.iter().map(|(_, member)| PIECE_HEAD + member.len()).sum();
        let mut packed = Vec::with_capacity(bytes);
        for (score, member) in &members {
            packed.extend_from_slice(&score.to_le_bytes());
            packed.extend_from_slice(&(member.len() as u32).to_le_bytes());
            packed.extend_from_slice(member);
        }
        (bytes > 0).then(|| Self { packed: packed.into_boxed_slice(), at: 0 })
    }

    /// Bytes that it takes, with its place among the others, which are given twice the room that they need at most.
    fn memory(&self) -> usize {
        self.packed.len() + 2 * size_of::<Self>()
    }

    fn least(&self) -> (f64, &[u8]) {
        let (score, rest) = self.packed[self.at..].split_first_chunk().unwrap_or((&[0; 8], &[]));
        let (len, rest) = rest.split_first_chunk().unwrap_or((&[0; 4], &[]));
        (f64::from_le_bytes(*score), &rest[..u32::from_le_bytes(*len) as usize])
    }

    /// Goes on to the next member; whether there is one.
    fn advance(&mut self) -> bool {
        self.at += PIECE_HEAD + self.least().1.len();
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
