//! Requests of a group's consumers. `readers` has their effects.
//!
//! Idle times are not compared: a script drops them from the reply of XPENDING, and a claim asks for
//! none or for one that no entry reaches.

use super::readers::{FuzzReaders, shown_delivery};
use super::streams::{FuzzStream, shown_id};
use super::{FuzzModel, FuzzRequest, ModelAnswer, NO_LIST, array, bulk, count, words};
use crate::call::{FuzzClaim, FuzzConsumer, FuzzConsumerName, FuzzDeliveryCommand, FuzzGroup, FuzzStreamId};

/// Replies as XPENDING, without the idle times.
const PENDING: &str = "local entries = redis.pcall('XPENDING', unpack(ARGV)) \
    if not entries.err then for _, entry in ipairs(entries) do table.remove(entry, 3) end end \
    return entries";
/// An hour. The clock never advances as far.
const FAR_OFF: &[u8] = b"3600000";
/// The entries that XAUTOCLAIM takes without COUNT.
const TAKEN: usize = 100;

impl FuzzModel {
    pub(super) fn answer_deliveries(&mut self, call: &FuzzDeliveryCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzDeliveryCommand::Read { consumer, most, is_acknowledged, pending_behind } => {
                self.read_group(*consumer, *most, *is_acknowledged, *pending_behind)
            }
            FuzzDeliveryCommand::Acknowledge(group, first, rest) => {
                let ids: Vec<_> = std::iter::once(first).chain(rest).map(|id| id.numbers()).collect();
                let shown = ids.iter().map(|id| shown_id(*id));
                let request = words("XACK", &group.words().into_iter().chain(shown).collect::<Vec<_>>());
                let answer = self
                    .with_group(*group, count(0), count(0), |_, readers| count(readers.acknowledge(&ids)));
                (request, answer)
            }
            FuzzDeliveryCommand::Summary(group) => {
                let answer = self.deliver(*group, "", |_, readers| readers.summary());
                (words("XPENDING", &group.words()), answer)
            }
            FuzzDeliveryCommand::Pending { group, from, to, most, consumer } => {
                self.list_pending(*group, [*from, *to], *most, *consumer)
            }
            FuzzDeliveryCommand::Claim { consumer, ids: (first, rest), claim, force } => {
                let ids: Vec<_> = std::iter::once(first).chain(rest).map(|id| id.numbers()).collect();
                let mut request = words("XCLAIM", &[consumer.words(), vec![least_idle(*claim)]].concat());
                request.extend(ids.iter().map(|id| shown_id(*id)));
                request.extend(just_id(*claim));
                request.extend(force.then(|| b"FORCE".to_vec()));
                let answer = self.deliver(consumer.group, "", |stream, readers| {
                    array(&readers.claim(stream, &consumer.name(), &ids, *claim, *force))
                });
                (request, answer)
            }
            FuzzDeliveryCommand::AutoClaim { consumer, from, most, claim } => {
                let from = from.numbers();
                let args = vec![least_idle(*claim), shown_id(from)];
                let mut request = words("XAUTOCLAIM", &[consumer.words(), args].concat());
                let most = most.map(|most| most.max(1));
                request.extend(count_option(most));
                request.extend(just_id(*claim));
                let answer = self.deliver(consumer.group, "", |stream, readers| {
                    readers.auto_claim(
                        stream,
                        &consumer.name(),
                        from,
                        most.map_or(TAKEN, usize::from),
                        *claim,
                    )
                });
                (request, answer)
            }
        }
    }

    fn read_group(
        &mut self,
        consumer: FuzzConsumer,
        most: Option<u8>,
        is_acknowledged: bool,
        pending_behind: Option<FuzzStreamId>,
    ) -> (FuzzRequest, ModelAnswer) {
        let (key, name) = (consumer.group.key.bytes(), consumer.name());
        let mut request = words("XREADGROUP GROUP", &[consumer.group.name(), name.clone()]);
        request.extend(count_option(most));
        request.extend(is_acknowledged.then(|| b"NOACK".to_vec()));
        let behind = pending_behind.map_or(b">".to_vec(), |id| shown_id(id.numbers()));
        request.extend([b"STREAMS".to_vec(), key.clone(), behind]);
        // COUNT 0 is no limit.
        let most = most.filter(|most| *most > 0).map_or(usize::MAX, usize::from);
        let answer = self.deliver(consumer.group, " in XREADGROUP with GROUP option", |stream, readers| {
            let found = match pending_behind {
                Some(id) => Some(readers.read_pending(stream, &name, id.numbers(), most)),
                None => readers.read_new(stream, &name, is_acknowledged, most),
            };
            let shown = |entries: Vec<_>| array(&[array(&[bulk(&key), array(&entries)])]);
            found.map_or(NO_LIST.to_vec(), shown)
        });
        (request, answer)
    }

    fn list_pending(
        &mut self,
        group: FuzzGroup,
        ends: [FuzzStreamId; 2],
        most: u8,
        consumer: Option<FuzzConsumerName>,
    ) -> (FuzzRequest, ModelAnswer) {
        let (ends, consumer) = (ends.map(FuzzStreamId::numbers), consumer.map(FuzzConsumerName::bytes));
        let mut request = words("EVAL", &[PENDING.as_bytes().to_vec(), b"0".to_vec()]);
        request.extend(group.words());
        request.extend(ends.map(shown_id));
        request.push(most.to_string().into_bytes());
        request.extend(consumer.clone());
        let answer = self.deliver(group, "", |_, readers| {
            let found = readers.pending.iter().filter(|(id, delivery)| {
                let is_asked = consumer.as_ref().is_none_or(|consumer| *consumer == delivery.consumer);
                is_asked && (ends[0]..=ends[1]).contains(*id)
            });
            let most = usize::from(most);
            array(&found.take(most).map(|(id, delivery)| shown_delivery(*id, delivery)).collect::<Vec<_>>())
        });
        (request, answer)
    }

    /// Answers a consumer's request. `ending` ends the error for an absent key or group.
    fn deliver(
        &mut self,
        group: FuzzGroup,
        ending: &str,
        answer: impl FnOnce(&FuzzStream, &mut FuzzReaders) -> Vec<u8>,
    ) -> ModelAnswer {
        let (key, name) = (group.key.bytes(), group.name());
        let begin = [b"-NOGROUP No such key '", &key[..], b"' or consumer group '", &name, b"'"].concat();
        let absent = [&begin[..], ending.as_bytes(), b"\r\n"].concat();
        self.with_group(group, absent.clone(), absent, answer)
    }
}

fn count_option(most: Option<u8>) -> Vec<Vec<u8>> {
    most.map(|most| vec![b"COUNT".to_vec(), most.to_string().into_bytes()]).unwrap_or_default()
}

fn least_idle(claim: FuzzClaim) -> Vec<u8> {
    if claim.is_far_off { FAR_OFF } else { b"0" }.to_vec()
}

fn just_id(claim: FuzzClaim) -> Option<Vec<u8>> {
    claim.shows_ids.then(|| b"JUSTID".to_vec())
}
