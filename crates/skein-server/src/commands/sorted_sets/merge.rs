//! Intersections and differences of sets that are not sorted, by one walk over each.
//!
//! ```text
//!   members found so far   a     c  d        g
//!   walk over the set         b  c     e  f  g  h      keeps c and g, or a and d
//! ```
//!
//! All members of such a set have one score, so its order is that of their bytes. A walk reads
//! memory in order, where each lookup waits for it.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::algebra::SetKinds;
use super::remove::ScoredMembers;
use skein_data::{CollectionKind, ScanDirection, SetReader};

/// A lookup takes about as long as so many steps of a walk.
const STEPS_PER_LOOKUP: u64 = 8;

/// Returns whether one walk over a set of `len` members is cheaper than a lookup of each of
/// `members`.
pub(super) fn merges(kinds: SetKinds, len: u64, members: usize) -> bool {
    let is_plain = matches!(kinds, SetKinds::Only(CollectionKind::Set));
    is_plain && len / STEPS_PER_LOOKUP <= members as u64
}

/// Keeps the members that are in a set, or those that are not. REQUIRES: `found` has the order of
/// the set.
pub(super) fn retain_by_merge(found: &mut ScoredMembers, set: &SetReader, in_set: bool) {
    let (mut is_in, mut at) = (vec![false; found.len()], 0);
    set.walk(0, ScanDirection::Forward, |_, member| {
        while let Some((_, next)) = found.get(at) {
            match member.cmp_bytes(next) {
                Ordering::Less => return ControlFlow::Continue(()),
                Ordering::Equal => is_in[at] = true,
                Ordering::Greater => {}
            }
            at += 1;
        }
        ControlFlow::Break(())
    });
    let mut is_in = is_in.into_iter();
    found.retain(|_| is_in.next() == Some(in_set));
}
