//! A view of a range of a sorted set, by score.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use skein_model::Member;
use skein_sync::locks::{lock, shared};

use super::{FormerEntries, FormerEntry, RegisteredView, SharedCollection, ViewOrder};
use crate::ScanDirection;
use crate::collection::ScoreIndex;
use crate::collection::sweep_queue::DeadCollection;

/// Members of a sorted set as they were at one moment, in the order of their scores; see
/// [`SetReader::view`](crate::SetReader::view). No writer waits for the view between two steps. It
/// keeps entries that are changed meanwhile, so drop it as soon as possible.
#[derive(Debug)]
pub struct ScoreRangeView {
    /// `None` if there is nothing to show.
    listed: Option<RegisteredView>,
    /// The number of members that no step has shown.
    left: u64,
}

/// Returns a key that compares as the entry does: by score, then by member.
pub(super) fn entry_key(score: f64, member: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(size_of::<u64>() + member.len());
    key.extend_from_slice(&ordered(score).to_be_bytes());
    key.extend_from_slice(member);
    key
}

/// The top bit of a double is its sign.
const SIGN: u64 = 1 << 63;

/// Returns an integer that compares as the score does. Both zeros have the same integer.
fn ordered(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn entry_of(key: &[u8]) -> (f64, &[u8]) {
    let (ordered, member) = key.split_at(size_of::<u64>());
    let ordered = u64::from_be_bytes(ordered.try_into().unwrap_or_default());
    let bits = if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN };
    (f64::from_bits(bits), member)
}

impl ScoreRangeView {
    /// Takes a view of `left` members from rank `first` on. REQUIRES: the collection's lock is held
    /// shared, and `score_index` is that of the collection.
    pub(in crate::collection) fn new(
        collection: Arc<SharedCollection>,
        score_index: &ScoreIndex,
        first: u64,
        left: u64,
        direction: ScanDirection,
    ) -> Self {
        let mut begin = None;
        if left > 0 {
            score_index.walk(first, direction, |score, member| {
                begin = Some(entry_key(score, &member.to_vec()));
                ControlFlow::Break(())
            });
        }
        let listed = begin.map(|begin| {
            RegisteredView::new(collection, ViewOrder::Score, direction, Bound::Included(begin))
        });
        Self { left: if listed.is_some() { left } else { 0 }, listed }
    }

    /// Returns how many members no step has shown, at most.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Calls `each` with the next members and their scores until it breaks, and visits about `most`
    /// members. Returns whether there are more.
    pub fn step(&mut self, most: usize, mut each: impl FnMut(f64, Member<'_>) -> ControlFlow<()>) -> bool {
        let Self { listed: Some(RegisteredView { collection, former }), left } = self else { return false };
        let state = shared(collection.state());
        // The score index of a dead set is kept for its views.
        let views = state.dead.then(|| lock(&collection.views));
        let score_index = views
            .as_ref()
            .and_then(|views| views.remains.as_ref().map(DeadCollection::score_index))
            .unwrap_or(&state.score_index);
        let mut former = lock(former);
        let former = &mut *former;
        let mut looked_at = 0;
        // Shows a member of the view's moment. Breaks if the step must end after it.
        let mut show = |score: f64, member: Member<'_>| {
            *left = left.saturating_sub(1);
            looked_at += 1;
            if each(score, member).is_break() || *left == 0 || looked_at >= most {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let (mut passed, mut stopped) = (0, false);
        if let Some(first) = first_ahead(score_index, former) {
            score_index.walk(first, former.direction, |score, member| {
                let shown = show_one(former, score, member, &mut show);
                passed += 1;
                stopped = shown.is_none_or(|shown| shown.is_break()) || passed >= most;
                if stopped && shown.is_some() {
                    former.next = Bound::Excluded(entry_key(score, &member.to_vec()));
                }
                if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        if !stopped {
            stopped = former.show_removed(None, |key, _| show_key(key, &mut show)).is_break();
        }
        if !stopped {
            *left = 0;
        }
        *left > 0
    }
}

/// Returns the rank of the first entry that the step reaches, or `None` if there is no such entry.
fn first_ahead(score_index: &ScoreIndex, former: &FormerEntries) -> Option<u64> {
    let forward = former.direction == ScanDirection::Forward;
    let (key, included) = match &former.next {
        Bound::Included(key) => (key, true),
        Bound::Excluded(key) => (key, false),
        Bound::Unbounded => return if forward { Some(0) } else { score_index.len().checked_sub(1) },
    };
    let (score, member) = entry_of(key);
    // Counts entries before the key, or up to it.
    let up_to = forward != included;
    let count = score_index.rank_by(|other, name| {
        other < score
            || (other <= score && {
                let by_name = name.cmp_bytes(member);
                by_name.is_lt() || (up_to && by_name.is_eq())
            })
    });
    if forward { Some(count) } else { count.checked_sub(1) }
}

fn show_key(key: &[u8], show: &mut impl FnMut(f64, Member<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    let (score, member) = entry_of(key);
    show(score, Member::of(member))
}

/// Shows the removed entries before the present entry, and then this entry if it existed at the
/// view's moment. Returns `None` if the step ended at a removed entry.
fn show_one(
    former: &mut FormerEntries,
    score: f64,
    member: Member<'_>,
    show: &mut impl FnMut(f64, Member<'_>) -> ControlFlow<()>,
) -> Option<ControlFlow<()>> {
    if former.notes.is_empty() {
        return Some(show(score, member));
    }
    let key = entry_key(score, &member.to_vec());
    if former.show_removed(Some(&key), |key, _| show_key(key, show)).is_break() {
        return None;
    }
    Some(match former.take(&key) {
        FormerEntry::Absent => ControlFlow::Continue(()),
        FormerEntry::Same | FormerEntry::Held(_) => show(score, member),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_compare_as_entries() {
        let scores = [f64::NEG_INFINITY, -1e300, -1.5, -1e-310, 0.0, 1e-310, 1.0, 1.5, 1e300, f64::INFINITY];
        for pair in scores.windows(2) {
            assert!(entry_key(pair[0], b"z") < entry_key(pair[1], b"a"), "{pair:?}");
        }
        for score in scores {
            assert!(entry_key(score, b"") < entry_key(score, b"\0"), "{score}");
            assert_eq!(entry_of(&entry_key(score, b"goose")), (score, &b"goose"[..]));
        }
        assert_eq!(entry_key(-0.0, b""), entry_key(0.0, b""));
    }
}
