//! Room for a node whose buckets are full: the shortest way along which others can make way.
//!
//! ```text
//!   bucket, full ─ a node's other bucket, full ─ a node's other bucket, with room
//!         ◄──────── moves ───────── ◄──────── moves
//! ```
//!
//! A search in breadth over the other buckets of the nodes in full ones. A node may take one to three slots, so a bucket on the way is asked for as many as
//! the node needs that would go there; and who needs several takes one way after the other. Where nodes of several slots stand in each other's
//! way, one of them goes to its other bucket, and all who are there make way for it. The moves are part of the change that needs the
//! room (`change.rs`): readers see a node in one bucket or in the other.

use arrayvec::ArrayVec;

use super::image::SLOTS;
use super::node::MlpNodeKind;
use super::transaction::MlpTransaction;

/// Buckets that a search looks at.
const LOOKED_AT_MAX: usize = 96;
/// Moves on a way.
const MOVES_MAX: usize = 5;
/// Nodes of several slots that move one after the other.
const WIDE_MOVES_MAX: usize = 2;
/// No step.
const NONE: u8 = u8::MAX;

/// A bucket that a search has come to.
#[derive(Clone, Copy, Debug)]
struct MlpPathBucket {
    bucket: u32,
    /// How many slots have to be free there.
    need: usize,
    /// The first word of the node that would come here, and the step of the bucket that it is in now.
    head: u64,
    from: u8,
    moves: usize,
}

/// Makes so many slots free in one of the buckets that were taken; returns which.
pub(super) fn make<const V: usize>(
    change: &mut MlpTransaction<'_, V>,
    buckets: [usize; 2],
    need: usize,
) -> Option<usize> {
    make_by(change, buckets, need, WIDE_MOVES_MAX)
}

/// The same, where so many nodes of several slots may move one after the other.
fn make_by<const V: usize>(
    change: &mut MlpTransaction<'_, V>,
    buckets: [usize; 2],
    need: usize,
    wide: usize,
) -> Option<usize> {
    if need == 1 && free_one(change, &buckets).is_some() {
        return buckets.into_iter().find(|&held| change.free(held) >= need);
    }
    buckets.into_iter().find(|&held| {
        while change.free(held) < need {
            if free_one(change, &[held]).is_none() && !move_wide(change, held, wide) {
                return false;
            }
        }
        true
    })
}

/// Makes one more slot free in one of these buckets.
fn free_one<const V: usize>(change: &mut MlpTransaction<'_, V>, roots: &[usize]) -> Option<()> {
    let way = find(change, roots)?;
    way.into_iter().all(|(bucket, head, to)| change.move_node(bucket, head, to)).then_some(())
}

/// Moves a node of several slots to its other bucket, where others make way for it.
fn move_wide<const V: usize>(change: &mut MlpTransaction<'_, V>, held: usize, wide: usize) -> bool {
    let bucket = change.number(held);
    let nodes: ArrayVec<(usize, u64), SLOTS> =
        change.image_of(bucket).heads().filter(|&(_, head)| MlpNodeKind::of(head).slots() > 1).collect();
    wide > 0
        && nodes.into_iter().any(|(_, head)| {
            let other = change.other(head, bucket);
            let Ok(to) = change.take(other) else { return false };
            other != bucket
                && make_by(change, [to, to], MlpNodeKind::of(head).slots(), wide - 1).is_some()
                && change.move_node(bucket, head, other)
        })
}

/// The moves that make one more slot free in one of the buckets, the first one to be made first: from which bucket, the node's first word, and to which
/// bucket.
fn find<const V: usize>(
    change: &MlpTransaction<'_, V>,
    roots: &[usize],
) -> Option<ArrayVec<(u32, u64, u32), MOVES_MAX>> {
    let mut steps: ArrayVec<MlpPathBucket, LOOKED_AT_MAX> = ArrayVec::new();
    for &held in roots {
        let need = change.free(held) + 1;
        steps.push(MlpPathBucket { bucket: change.number(held), need, head: 0, from: NONE, moves: 0 });
    }
    let mut at = 0;
    while at < steps.len() {
        let first = steps.len();
        spread(change, &mut steps, at);
        // These were all asked for before the first of them is looked at.
        if let Some(at) = (first..steps.len()).find(|&at| has_room(change, &steps[at])) {
            return Some(moves_to(&steps, at));
        }
        at += 1;
    }
    None
}

/// Whether the node that would come to a bucket finds room there.
fn has_room<const V: usize>(change: &MlpTransaction<'_, V>, step: &MlpPathBucket) -> bool {
    change.image_of(step.bucket).free() >= step.need
}

/// Adds the other buckets of those nodes that would make enough room by going there.
fn spread<const V: usize>(
    change: &MlpTransaction<'_, V>,
    steps: &mut ArrayVec<MlpPathBucket, LOOKED_AT_MAX>,
    at: usize,
) {
    let step = steps[at];
    if step.moves == MOVES_MAX {
        return;
    }
    let image = change.image_of(step.bucket);
    for (_, head) in image.heads() {
        let (slots, other) = (MlpNodeKind::of(head).slots(), change.other(head, step.bucket));
        let is_on_the_way = std::iter::successors(Some(&step), |step| steps.get(usize::from(step.from)))
            .any(|step| step.bucket == other);
        if image.free() + slots < step.need || is_on_the_way || steps.is_full() {
            continue;
        }
        change.prefetch(other);
        steps.push(MlpPathBucket { bucket: other, need: slots, head, from: at as u8, moves: step.moves + 1 });
    }
}

/// The moves that lead to a step, the last one first.
fn moves_to(steps: &[MlpPathBucket], at: usize) -> ArrayVec<(u32, u64, u32), MOVES_MAX> {
    let mut way = ArrayVec::new();
    let mut step = steps[at];
    while let Some(from) = steps.get(usize::from(step.from)) {
        way.push((from.bucket, step.head, step.bucket));
        step = *from;
    }
    way
}
