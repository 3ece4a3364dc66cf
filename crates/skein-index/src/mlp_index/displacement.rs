//! Displacement: makes room for a node whose buckets are full, by moving other nodes to their other
//! buckets along the shortest path.
//!
//! ```text
//!   bucket, full ─ a node's other bucket, full ─ a node's other bucket, with room
//!         ◄──────── moves ───────── ◄──────── moves
//! ```
//!
//! A breadth-first search visits the other buckets of the nodes in full buckets. A node takes one
//! to three slots. So each bucket on the path needs as many free slots as the node that would move
//! there. A node that needs several slots uses several paths, one after the other. If nodes of
//! several slots block each other, one of them moves to its other bucket and displaces all nodes
//! there.
//!
//! The moves are part of the transaction that needs the room (`transaction.rs`), so readers see
//! every node in one bucket or in the other.

use arrayvec::ArrayVec;

use super::image::SLOTS;
use super::node::MlpNodeKind;
use super::transaction::MlpTransaction;
use super::variant::MlpSettings;

const BUCKETS_VISITED_MAX: usize = 96;
const MOVES_MAX: usize = 5;
/// How many nodes of several slots may displace each other in a row.
const WIDE_MOVES_MAX: usize = 2;
/// Marks a bucket without a predecessor.
const NONE: u8 = u8::MAX;

/// A bucket that the search has reached.
#[derive(Clone, Copy, Debug)]
struct MlpPathBucket {
    bucket: u32,
    /// How many slots must be free there.
    need: usize,
    /// The first word of the node that would move here, and the index of the bucket where it is
    /// now.
    head: u64,
    from: u8,
    moves: usize,
}

/// Frees slots in one of two copied buckets, until it has `need` free slots. Returns that bucket.
pub(super) fn make_room<V: MlpSettings>(
    transaction: &mut MlpTransaction<'_, V>,
    buckets: [usize; 2],
    need: usize,
) -> Option<usize> {
    make_room_with(transaction, buckets, need, WIDE_MOVES_MAX)
}

/// Does the same, with at most `wide` nodes of several slots that move in a row.
fn make_room_with<V: MlpSettings>(
    transaction: &mut MlpTransaction<'_, V>,
    buckets: [usize; 2],
    need: usize,
    wide: usize,
) -> Option<usize> {
    if need == 1 && free_one(transaction, &buckets).is_some() {
        return buckets.into_iter().find(|&held| transaction.free(held) >= need);
    }
    buckets.into_iter().find(|&held| {
        while transaction.free(held) < need {
            if free_one(transaction, &[held]).is_none() && !move_wide(transaction, held, wide) {
                return false;
            }
        }
        true
    })
}

/// Frees one more slot in one of these buckets.
fn free_one<V: MlpSettings>(transaction: &mut MlpTransaction<'_, V>, roots: &[usize]) -> Option<()> {
    let path = find_moves(transaction, roots)?;
    path.into_iter().all(|(bucket, head, to)| transaction.move_node(bucket, head, to)).then_some(())
}

/// Moves a node of several slots to its other bucket, and displaces the nodes there.
fn move_wide<V: MlpSettings>(transaction: &mut MlpTransaction<'_, V>, held: usize, wide: usize) -> bool {
    let bucket = transaction.buckets.held[held].number;
    let nodes: ArrayVec<(usize, u64), SLOTS> =
        transaction.image_of(bucket).heads().filter(|&(_, head)| MlpNodeKind::of(head).slots() > 1).collect();
    wide > 0
        && nodes.into_iter().any(|(_, head)| {
            let other = transaction.other(head, bucket);
            let Ok(to) = transaction.take(other) else { return false };
            other != bucket
                && make_room_with(transaction, [to, to], MlpNodeKind::of(head).slots(), wide - 1).is_some()
                && transaction.move_node(bucket, head, other)
        })
}

/// Returns the moves that free one more slot in one of the buckets, the first to be made first: the
/// bucket, the first word of the node, and the destination.
fn find_moves<V: MlpSettings>(
    transaction: &MlpTransaction<'_, V>,
    roots: &[usize],
) -> Option<ArrayVec<(u32, u64, u32), MOVES_MAX>> {
    let mut steps: ArrayVec<MlpPathBucket, BUCKETS_VISITED_MAX> = ArrayVec::new();
    for &held in roots {
        let need = transaction.free(held) + 1;
        steps.push(MlpPathBucket {
            bucket: transaction.buckets.held[held].number,
            need,
            head: 0,
            from: NONE,
            moves: 0,
        });
    }
    let mut at = 0;
    while at < steps.len() {
        let first = steps.len();
        spread(transaction, &mut steps, at);
        // All of these were prefetched before the first is examined.
        if let Some(at) = (first..steps.len()).find(|&at| has_room(transaction, &steps[at])) {
            return Some(moves_to(&steps, at));
        }
        at += 1;
    }
    None
}

/// Returns whether the bucket has room for the node that would move there.
fn has_room<V: MlpSettings>(transaction: &MlpTransaction<'_, V>, step: &MlpPathBucket) -> bool {
    transaction.image_of(step.bucket).free() >= step.need
}

/// Appends the other buckets of the nodes that would free enough slots by moving there.
fn spread<V: MlpSettings>(
    transaction: &MlpTransaction<'_, V>,
    steps: &mut ArrayVec<MlpPathBucket, BUCKETS_VISITED_MAX>,
    at: usize,
) {
    let step = steps[at];
    if step.moves == MOVES_MAX {
        return;
    }
    let image = transaction.image_of(step.bucket);
    for (_, head) in image.heads() {
        let (slots, other) = (MlpNodeKind::of(head).slots(), transaction.other(head, step.bucket));
        let is_on_the_way = std::iter::successors(Some(&step), |step| steps.get(usize::from(step.from)))
            .any(|step| step.bucket == other);
        if image.free() + slots < step.need || is_on_the_way || steps.is_full() {
            continue;
        }
        transaction.prefetch(other);
        steps.push(MlpPathBucket { bucket: other, need: slots, head, from: at as u8, moves: step.moves + 1 });
    }
}

/// Returns the moves along the path to a bucket, the last one first.
fn moves_to(steps: &[MlpPathBucket], at: usize) -> ArrayVec<(u32, u64, u32), MOVES_MAX> {
    let mut path = ArrayVec::new();
    let mut step = steps[at];
    while let Some(from) = steps.get(usize::from(step.from)) {
        path.push((from.bucket, step.head, step.bucket));
        step = *from;
    }
    path
}
