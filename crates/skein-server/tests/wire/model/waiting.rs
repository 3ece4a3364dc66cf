//! Clients that wait: the commands that must wait, and the clients that are served.

use super::{CallContext, WireModel, WirePlace, WireValue};
use crate::command::{WireCommand, WireKey, WireRequest};
use crate::history::{WireCall, wakes_in_any_order};
use crate::reply::WireReply;

/// If a request looks at all keys, the orders of serving are tried for at most this many keys.
const ANY_ORDER_MAX: usize = 4;

impl WireModel {
    /// Returns whether a command that may wait finds none of its keys, or nothing new there.
    pub(super) fn finds_nothing(&self, database: usize, command: &WireCommand) -> bool {
        let Some((keys, _)) = command.wait() else { return false };
        keys.iter().all(|key| match self.rows.get(&(database, *key)).map(|row| &row.value) {
            None => !matches!(command, WireCommand::WaitGroupRead { .. }),
            Some(WireValue::Stream(stream)) if matches!(command, WireCommand::WaitGroupRead { .. }) => {
                stream.delivered == Some(stream.entries.len())
            }
            Some(_) => false,
        })
    }

    /// Serves the clients that wait for keys that a call has made. Returns the states in which
    /// their replies are those of the history, and the served clients.
    pub(super) fn serve(
        mut self,
        before: &Self,
        call: &WireCall,
        context: CallContext<'_>,
    ) -> Vec<(Self, Vec<usize>)> {
        let made = std::mem::take(&mut self.made);
        if self.waiting.is_empty() {
            return vec![(self, Vec::new())];
        }
        let mut noted = self.waited_and_changed(before, context);
        // As in Redis, the key that was made first serves first.
        noted.sort_by_key(|place| made.iter().position(|made| made == place).unwrap_or(usize::MAX));
        let in_any_order = wakes_in_any_order(call.request.commands());
        let orders = if in_any_order { permutations(&noted) } else { vec![noted] };
        let mut found: Vec<(Self, Vec<usize>)> = Vec::new();
        for order in orders {
            let mut model = self.clone();
            if let Some(ended) = model.serve_keys(order, context)
                && !found.iter().any(|(other, _)| *other == model)
            {
                found.push((model, ended));
            }
        }
        found
    }

    /// Returns the waited keys that differ from `before`.
    fn waited_and_changed(&self, before: &Self, context: CallContext<'_>) -> Vec<WirePlace> {
        let waited = self.waiting.iter().flat_map(|client| {
            let call = context.call(*client);
            call.request.keys().into_iter().map(|key| (call.database, key))
        });
        let mut waited: Vec<WirePlace> = waited.collect();
        waited.sort_unstable();
        waited.dedup();
        waited.retain(|place| self.rows.get(place) != before.rows.get(place));
        waited
    }

    /// Serves the clients of these keys, and of those that a served client makes. `None` if a reply
    /// is not that of the history.
    fn serve_keys(&mut self, noted: Vec<WirePlace>, context: CallContext<'_>) -> Option<Vec<usize>> {
        let mut noted: std::collections::VecDeque<WirePlace> = noted.into();
        let mut ended = Vec::new();
        while let Some(place) = noted.pop_front() {
            while let Some(client) = self.first_served_by(place, context) {
                self.waiting.retain(|waiting| *waiting != client);
                let call = context.call(client);
                let WireRequest::One(command) = &call.request else { return None };
                let reply = self.serve_from(place, command, call);
                self.made.clear();
                if call.reply.as_ref().is_some_and(|seen| *seen != reply) {
                    return None;
                }
                if let WireCommand::WaitMove { to, .. } = command {
                    let made = (place.0, *to);
                    if !noted.contains(&made) {
                        noted.push_back(made);
                    }
                }
                ended.push(client);
            }
        }
        Some(ended)
    }

    /// Returns the client that has waited longest among those that a key can serve.
    fn first_served_by(&self, place: WirePlace, context: CallContext<'_>) -> Option<usize> {
        self.waiting.iter().copied().find(|client| {
            let call = context.call(*client);
            let WireRequest::One(command) = &call.request else { return false };
            let waits = |keys: &[WireKey]| call.database == place.0 && keys.contains(&place.1);
            command.wait().is_some_and(|(keys, _)| waits(keys)) && self.can_serve(place, command)
        })
    }

    fn can_serve(&self, place: WirePlace, command: &WireCommand) -> bool {
        let value = self.rows.get(&place).map(|row| &row.value);
        match (command, value) {
            (WireCommand::WaitPop { .. } | WireCommand::WaitMove { .. }, Some(WireValue::List(_)))
            | (WireCommand::WaitScorePop { .. }, Some(WireValue::Scores(_))) => true,
            (WireCommand::WaitGroupRead { .. }, _) => !self.finds_nothing(place.0, command),
            _ => false,
        }
    }

    /// Serves a client from one key.
    fn serve_from(&mut self, place: WirePlace, command: &WireCommand, call: &WireCall) -> WireReply {
        let mut database = place.0;
        let of_this_key = match command.clone() {
            WireCommand::WaitPop { end, millis, .. } => {
                WireCommand::WaitPop { end, keys: vec![place.1], millis }
            }
            WireCommand::WaitScorePop { millis, .. } => {
                WireCommand::WaitScorePop { keys: vec![place.1], millis }
            }
            other => other,
        };
        self.run_at_once(&mut database, &of_this_key, call.reply.as_ref(), call)
    }
}

/// Returns all orders of some keys; one order if they are many.
fn permutations(keys: &[WirePlace]) -> Vec<Vec<WirePlace>> {
    if keys.len() < 2 || keys.len() > ANY_ORDER_MAX {
        return vec![keys.to_vec()];
    }
    let mut found = Vec::new();
    for first in 0..keys.len() {
        let mut rest = keys.to_vec();
        let key = rest.remove(first);
        found.extend(permutations(&rest).into_iter().map(|order| [&[key][..], &order].concat()));
    }
    found
}
