//! A consumer group of a stream, and the operations of its consumers on entries.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use super::streams::{EntryId, FuzzStream, shown_entry, shown_id};
use super::{NIL, NO_LIST, array, bulk, count};
use crate::call::FuzzClaim;

/// The entries that XAUTOCLAIM looks at for each one that it may take.
const TRIED_FACTOR: usize = 10;

/// An entry that a consumer has read and not acknowledged.
#[derive(Debug, Clone)]
pub(super) struct FuzzDelivery {
    pub(super) consumer: Vec<u8>,
    count: usize,
}

/// A consumer group.
#[derive(Debug, Clone, Default)]
pub(super) struct FuzzReaders {
    pub(super) last: EntryId,
    /// `None` if it is unknown.
    pub(super) entries_read: Option<i128>,
    pub(super) pending: BTreeMap<EntryId, FuzzDelivery>,
    pub(super) consumers: BTreeSet<Vec<u8>>,
}

/// The outcome of claiming an entry.
enum ClaimOutcome {
    /// The entry as the reply shows it.
    Taken(Vec<u8>),
    Left,
    /// The stream does not have it, so it is not pending any more.
    Gone,
}

impl FuzzReaders {
    /// Delivers new entries. Returns `None` if there are none; then the consumer is not made either.
    pub(super) fn read_new(
        &mut self,
        stream: &FuzzStream,
        consumer: &[u8],
        is_acknowledged: bool,
        most: usize,
    ) -> Option<Vec<Vec<u8>>> {
        let new = stream.entries.range((Excluded(self.last), Unbounded)).take(most);
        let mut shown = Vec::new();
        for (&id, fields) in new {
            shown.push(shown_entry(id, fields));
            stream.count_read(self, id);
            self.consumers.insert(consumer.to_vec());
            if !is_acknowledged {
                self.pending.insert(id, FuzzDelivery { consumer: consumer.to_vec(), count: 1 });
            }
        }
        (!shown.is_empty()).then_some(shown)
    }

    /// Delivers a consumer's pending entries again. Makes the consumer, if it is new.
    pub(super) fn read_pending(
        &mut self,
        stream: &FuzzStream,
        consumer: &[u8],
        behind: EntryId,
        most: usize,
    ) -> Vec<Vec<u8>> {
        self.consumers.insert(consumer.to_vec());
        let behind = self.pending.range_mut((Excluded(behind), Unbounded));
        let own = behind.filter(|(_, delivery)| delivery.consumer == consumer).take(most);
        own.map(|(id, delivery)| match stream.entries.get(id) {
            Some(fields) => {
                delivery.count += 1;
                shown_entry(*id, fields)
            }
            None => array(&[bulk(&shown_id(*id)), NO_LIST.to_vec()]),
        })
        .collect()
    }

    /// Removes pending entries. Returns their number.
    pub(super) fn acknowledge(&mut self, ids: &[EntryId]) -> usize {
        ids.iter().filter(|id| self.pending.remove(*id).is_some()).count()
    }

    /// Returns the summary of XPENDING.
    pub(super) fn summary(&self) -> Vec<u8> {
        let ids = self.pending.keys();
        let (Some(first), Some(last)) = (ids.clone().next(), ids.last()) else {
            return array(&[count(0), NIL.to_vec(), NIL.to_vec(), NO_LIST.to_vec()]);
        };
        let mut counts = BTreeMap::<_, usize>::new();
        for delivery in self.pending.values() {
            *counts.entry(&delivery.consumer).or_default() += 1;
        }
        let consumers: Vec<_> = counts
            .into_iter()
            .map(|(name, count)| array(&[bulk(name), bulk(count.to_string().as_bytes())]))
            .collect();
        array(&[
            count(self.pending.len()),
            bulk(&shown_id(*first)),
            bulk(&shown_id(*last)),
            array(&consumers),
        ])
    }

    /// Claims entries. Returns those that the consumer has taken.
    pub(super) fn claim(
        &mut self,
        stream: &FuzzStream,
        consumer: &[u8],
        ids: &[EntryId],
        claim: FuzzClaim,
        force: bool,
    ) -> Vec<Vec<u8>> {
        let outcomes = ids.iter().map(|id| self.claim_one(stream, consumer, *id, claim, force));
        outcomes
            .filter_map(|outcome| match outcome {
                ClaimOutcome::Taken(shown) => Some(shown),
                ClaimOutcome::Left | ClaimOutcome::Gone => None,
            })
            .collect()
    }

    /// Claims pending entries from an identifier on. Returns the reply of XAUTOCLAIM.
    pub(super) fn auto_claim(
        &mut self,
        stream: &FuzzStream,
        consumer: &[u8],
        from: EntryId,
        most: usize,
        claim: FuzzClaim,
    ) -> Vec<u8> {
        let ids: Vec<_> = self.pending.range(from..).map(|(id, _)| *id).collect();
        let (mut taken, mut gone) = (Vec::new(), Vec::new());
        let mut tried = 0;
        while tried < ids.len().min(most * TRIED_FACTOR) && taken.len() + gone.len() < most {
            match self.claim_one(stream, consumer, ids[tried], claim, false) {
                ClaimOutcome::Taken(shown) => taken.push(shown),
                ClaimOutcome::Gone => gone.push(bulk(&shown_id(ids[tried]))),
                ClaimOutcome::Left => {}
            }
            tried += 1;
        }
        let next = ids.get(tried).copied().unwrap_or_default();
        array(&[bulk(&shown_id(next)), array(&taken), array(&gone)])
    }

    fn claim_one(
        &mut self,
        stream: &FuzzStream,
        consumer: &[u8],
        id: EntryId,
        claim: FuzzClaim,
        force: bool,
    ) -> ClaimOutcome {
        let Some(fields) = stream.entries.get(&id) else {
            return self.pending.remove(&id).map_or(ClaimOutcome::Left, |_| ClaimOutcome::Gone);
        };
        let before = match self.pending.get(&id) {
            None if !force => return ClaimOutcome::Left,
            Some(_) if claim.is_far_off => return ClaimOutcome::Left,
            None => 1,
            Some(delivery) => delivery.count,
        };
        let count = before + usize::from(!claim.shows_ids);
        self.consumers.insert(consumer.to_vec());
        self.pending.insert(id, FuzzDelivery { consumer: consumer.to_vec(), count });
        ClaimOutcome::Taken(if claim.shows_ids { bulk(&shown_id(id)) } else { shown_entry(id, fields) })
    }
}

/// Returns a pending entry as XPENDING shows it, without its idle time.
pub(super) fn shown_delivery(id: EntryId, delivery: &FuzzDelivery) -> Vec<u8> {
    array(&[bulk(&shown_id(id)), bulk(&delivery.consumer), count(delivery.count)])
}
