//! The rules of a window: when do the pages of one round prove that no key is missing?
//!
//! ```text
//!   first pages ─ every slot owned once? ─ slots in motion? ──no──► merge ─► window
//!                        │no                      │yes
//!                        ▼                        ▼
//!                  repeat the window      second pages ─ moved on as expected? ─► merge both ─► window
//! ```
//!
//! `docs/design/cluster-ranges.md` has the argument. This module does no I/O.

use std::collections::VecDeque;

use skein_syntax::slots::SlotSet;

use super::error::Setback;
use super::page::{ClusterEntry, NodePage};
use crate::ScanDirection;

/// The keys of one round.
#[derive(Debug, Default)]
pub(super) struct MergeWindow {
    /// In the order of the range, each key once.
    pub entries: VecDeque<ClusterEntry>,
    /// The name that the window reaches; `None` if it reaches the end of the range.
    pub end: Option<Vec<u8>>,
}

/// The requests after the first pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextRequests {
    /// Nothing: no slot is in motion.
    Nothing,
    /// A second page of every node.
    SecondPages,
    /// The slot map, because it may lack a node that imports slots. Then a second page of every
    /// node, if the map names no new nodes.
    MapAndSecondPages,
}

/// Makes a window of the pages of all primaries, by rules 1 and 2. Calls `second_pages` at most
/// once; it must return another page of each node, in the same order.
///
/// `before` are the slots that were in motion in the previous round, or `None` if there was no
/// recent one. It is needed because an aborted migration leaves no trace in the first pages of the
/// round in which it ends.
///
/// # Errors
/// Errors if the pages do not prove that no key is missing. The client must then repeat the window.
pub(super) fn read(
    firsts: Vec<NodePage>,
    before: Option<&SlotSet>,
    direction: ScanDirection,
    second_pages: impl FnOnce(NextRequests) -> Result<Vec<NodePage>, Setback>,
) -> Result<MergeWindow, Setback> {
    check_ownership(&firsts)?;
    let next = next(&firsts, before);
    if next == NextRequests::Nothing {
        return Ok(merge(firsts, direction));
    }
    let mut pages = second_pages(next)?;
    check_second(&firsts, before, &pages)?;
    // If both pages have a key, the second page has the newer value.
    pages.extend(firsts);
    Ok(merge(pages, direction))
}

/// Checks rule 1: the pages own every slot exactly once.
fn check_ownership(pages: &[NodePage]) -> Result<(), Setback> {
    let (mut once, mut twice) = (SlotSet::EMPTY, SlotSet::EMPTY);
    for page in pages {
        twice = twice.union(&once.intersection(&page.owned));
        once = once.union(&page.owned);
    }
    let missing = SlotSet::ALL.difference(&once);
    if !missing.is_empty() {
        return Err(Setback::passing(
            format!("{} no primary", slots_have(&missing)),
            "give them one: start it again, fail over to a replica (CLUSTER FAILOVER), or assign them \
             (redis-cli --cluster fix)",
        ));
    }
    if !twice.is_empty() {
        return Err(Setback::passing(
            format!("{} two primaries", slots_have(&twice)),
            "if the named nodes are of two clusters, name nodes of one; else a primary is cut off or the nodes \
             disagree: compare CLUSTER NODES of each",
        ));
    }
    Ok(())
}

/// Returns slots as the subject of a sentence: `slots 0-5460 have`.
fn slots_have(slots: &SlotSet) -> String {
    let text = slots.to_string();
    if text.contains(['-', ' ']) { format!("slots {text} have") } else { format!("slot {text} has") }
}

/// Returns the slots that some page names as importing or as migrating.
pub(super) fn in_motion(pages: &[NodePage]) -> SlotSet {
    pages.iter().fold(SlotSet::EMPTY, |all, page| all.union(&page.importing).union(&page.migrating))
}

/// Returns which pages rule 2 requires.
fn next(firsts: &[NodePage], before: Option<&SlotSet>) -> NextRequests {
    let importing = firsts.iter().fold(SlotSet::EMPTY, |all, page| all.union(&page.importing));
    let moving = in_motion(firsts);
    if !moving.difference(&importing).is_empty() {
        NextRequests::MapAndSecondPages
    } else if moving.is_empty() && before.is_some_and(SlotSet::is_empty) {
        NextRequests::Nothing
    } else {
        NextRequests::SecondPages
    }
}

/// Checks the rest of rule 2: a slot in motion moved on as one migration allows.
///
/// - A node that imported the slot still imports it, or owns it and does not migrate it.
/// - A node that had no part in the migration does not own the slot and migrate it.
fn check_second(firsts: &[NodePage], before: Option<&SlotSet>, seconds: &[NodePage]) -> Result<(), Setback> {
    let moving = in_motion(firsts).union(before.unwrap_or(&SlotSet::ALL));
    for (first, second) in firsts.iter().zip(seconds) {
        let settled = second.owned.difference(&second.migrating);
        let left = first.importing.difference(&second.importing.union(&settled));
        let passed_on =
            moving.intersection(&second.owned).intersection(&second.migrating).difference(&first.owned);
        let strange = left.union(&passed_on);
        if firsts.len() != seconds.len() || !strange.is_empty() {
            return Err(Setback::passing(
                format!("{} moved on while their keys were read", slots_have(&strange)),
                "wait for the end of the resharding",
            ));
        }
    }
    Ok(())
}

/// Merges pages up to the nearest of their last names: rule 3, and the definition of a window. If
/// several pages have a key, the entry of the first page wins.
fn merge(pages: Vec<NodePage>, direction: ScanDirection) -> MergeWindow {
    let nearest = |one: Vec<u8>, other: Vec<u8>| match direction {
        ScanDirection::Forward => one.min(other),
        ScanDirection::Backward => one.max(other),
    };
    let end = pages.iter().filter_map(|page| page.last.clone()).reduce(nearest);
    let within = |entry: &ClusterEntry| match (&end, direction) {
        (None, _) => true,
        (Some(end), ScanDirection::Forward) => entry.key <= *end,
        (Some(end), ScanDirection::Backward) => entry.key >= *end,
    };
    let mut entries: Vec<ClusterEntry> =
        pages.into_iter().flat_map(|page| page.entries).filter(within).collect();
    // Stable: entries of one key remain in the order of the pages.
    entries.sort_by(|one, other| match direction {
        ScanDirection::Forward => one.key.cmp(&other.key),
        ScanDirection::Backward => other.key.cmp(&one.key),
    });
    entries.dedup_by(|later, earlier| later.key == earlier.key);
    MergeWindow { entries: entries.into(), end }
}

#[cfg(test)]
mod tests;
