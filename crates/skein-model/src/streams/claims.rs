//! Claims: a consumer takes over pending entries of another one.
//!
//! As in `pending`, all entries are shown before the first record changes. So a claim decides about
//! each entry first, and then applies its decisions.

use std::collections::BTreeMap;

use super::StreamId;
use super::fields::EntryFields;
use super::pending::{Delivery, OpenGroup};
use super::records::{NameRange, PendingEntry};
use super::stream::StreamWriter;
use crate::Error;

/// The pending entries that a search for claims lists at a time.
const LISTED: usize = 256;

/// How a consumer takes over pending entries.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Entries that were delivered later than so many milliseconds ago stay.
    pub min_idle: u64,
    /// The time of delivery that they get.
    pub delivered: u64,
    /// The number of deliveries that they get. `None` counts one more.
    pub deliveries: Option<u64>,
    /// Whether to leave the number of deliveries as it is.
    pub keeps_deliveries: bool,
    /// Whether to take entries that are not pending.
    pub force: bool,
}

/// The effect of a claim on one entry.
#[derive(Clone, Copy, Debug)]
enum Claimed {
    /// The consumer gets it, with this number of deliveries.
    Taken(u64),
    /// It is not pending, or was delivered too recently.
    Left,
    /// The stream has it no more, so it is not pending any more.
    Gone,
}

/// The last delivery of a pending entry.
#[derive(Clone, Copy, Debug)]
struct LastDelivery {
    time: u64,
    count: u64,
}

impl PendingEntry {
    fn last_delivery(&self) -> LastDelivery {
        LastDelivery { time: self.delivered, count: self.deliveries }
    }
}

impl OpenGroup<'_> {
    /// Applies the decisions of a claim.
    fn claim(
        &mut self,
        stream: &mut StreamWriter<'_>,
        decided: &[(StreamId, Claimed)],
        asked: &Delivery<'_>,
        claim: &Claim,
    ) -> crate::Result<()> {
        for &(id, claimed) in decided {
            let before = stream.pending_entry(&self.group, id)?;
            match (claimed, &before) {
                (Claimed::Taken(deliveries), _) => {
                    self.see(stream, asked.consumer, asked.now)?;
                    let (delivered, consumer) = (claim.delivered, asked.consumer.to_vec());
                    let now = PendingEntry { delivered, deliveries, consumer };
                    self.put(stream, id, before.as_ref(), &now)?;
                }
                (Claimed::Gone, Some(before)) => self.remove(stream, id, before)?,
                (Claimed::Gone, None) | (Claimed::Left, _) => {}
            }
        }
        Ok(())
    }
}

impl Claim {
    /// Decides about one entry with `before` as its last delivery, and changes nothing. Calls
    /// `each` with an entry that the claim takes, and with `None` for a pending entry that the
    /// stream does not have any more.
    fn decide<E: From<Error>>(
        &self,
        stream: &mut StreamWriter<'_>,
        (id, before): (StreamId, Option<LastDelivery>),
        now: u64,
        mut each: impl FnMut(StreamId, Option<EntryFields<'_>>) -> Result<(), E>,
    ) -> Result<Claimed, E> {
        let takes = match before {
            None => self.force,
            Some(last) => self.min_idle == 0 || now.saturating_sub(last.time) >= self.min_idle,
        };
        let shown = stream.entry(id, |fields| if takes { each(id, Some(fields)) } else { Ok(()) })?;
        let is_there = shown.transpose()?.is_some();
        match before {
            None if !is_there => Ok(Claimed::Left),
            Some(_) if !is_there => each(id, None).map(|()| Claimed::Gone),
            _ if !takes => Ok(Claimed::Left),
            _ => {
                let deliveries = before.map_or(1, |last| last.count);
                let counted = if self.keeps_deliveries { deliveries } else { deliveries.saturating_add(1) };
                Ok(Claimed::Taken(self.deliveries.unwrap_or(counted)))
            }
        }
    }
}

impl StreamWriter<'_> {
    /// Claims entries for a consumer, which is made if it gets one. Moves the group on to
    /// `last_id`, if that is behind its own. Calls `each` with the entries that it took.
    ///
    /// # Errors
    /// As for [`deliver`](Self::deliver).
    pub fn claim<E: From<Error>>(
        &mut self,
        asked: &Delivery<'_>,
        claim: &Claim,
        ids: &[StreamId],
        last_id: StreamId,
        mut each: impl FnMut(StreamId, EntryFields<'_>) -> Result<(), E>,
    ) -> Result<Option<()>, E> {
        let Some(mut open) = OpenGroup::of(self, asked.group)? else { return Ok(None) };
        // The last deliveries of the entries after the claims so far: an id may be named again.
        let (mut decided, mut last) = (Vec::new(), BTreeMap::new());
        for &id in ids {
            let before = match last.get(&id) {
                Some(last) => *last,
                None => self.pending_entry(&open.group, id)?.map(|entry| entry.last_delivery()),
            };
            let show = |id, fields: Option<EntryFields<'_>>| match fields {
                Some(fields) => each(id, fields),
                None => Ok(()),
            };
            let claimed = claim.decide(self, (id, before), asked.now, show)?;
            match claimed {
                Claimed::Taken(count) => {
                    last.insert(id, Some(LastDelivery { time: claim.delivered, count }));
                }
                Claimed::Gone => _ = last.insert(id, None),
                Claimed::Left => continue,
            }
            decided.push((id, claimed));
        }
        open.group.last_id = open.group.last_id.max(last_id);
        open.claim(self, &decided, asked, claim)?;
        open.close(self)?;
        Ok(Some(()))
    }

    /// Claims pending entries from an id on: up to `asked.most`, among up to `tried`. Calls `each`
    /// with those that it took, and with `None` for those that the stream has no more. Returns the
    /// id of the next pending entry, 0-0 behind the last one; `None` if there is no such group.
    ///
    /// # Errors
    /// As for [`deliver`](Self::deliver).
    pub fn claim_from<E: From<Error>>(
        &mut self,
        asked: &Delivery<'_>,
        claim: &Claim,
        first: StreamId,
        tried: usize,
        mut each: impl FnMut(StreamId, Option<EntryFields<'_>>) -> Result<(), E>,
    ) -> Result<Option<StreamId>, E> {
        let Some(mut open) = OpenGroup::of(self, asked.group)? else { return Ok(None) };
        let mut decided = Vec::new();
        let (mut left, mut tries, mut next) = (asked.most, tried, Some(first));
        while let Some(from) = next.filter(|_| left > 0 && tries > 0) {
            let listed = left.min(tries).min(LISTED);
            let ids = self.ids(&NameRange::pending(open.group.number, from), listed)?;
            next = if ids.len() < listed { None } else { ids.last().and_then(|last| last.next()) };
            for id in ids {
                tries -= 1;
                let before = self.pending_entry(&open.group, id)?.map(|entry| entry.last_delivery());
                let claimed = claim.decide(self, (id, before), asked.now, &mut each)?;
                if !matches!(claimed, Claimed::Left) {
                    decided.push((id, claimed));
                    left -= 1;
                }
            }
        }
        let next = match next {
            Some(from) => self.ids(&NameRange::pending(open.group.number, from), 1)?.pop(),
            None => None,
        };
        open.claim(self, &decided, asked, claim)?;
        open.close(self)?;
        Ok(Some(next.unwrap_or_default()))
    }
}
