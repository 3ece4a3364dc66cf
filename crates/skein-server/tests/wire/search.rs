//! The search for an order of all calls that explains their replies.
//!
//! After Wing and Gong ("Testing and verifying concurrent objects", 1993), with the memory of Lowe
//! ("Testing for linearizability", 2017). A step may be next if no other remaining step had ended
//! before it began, and a position that failed once is not tried again. Elements are written once,
//! so few steps fit, and long histories are searched quickly.

use std::collections::HashSet;

use crate::history::WireHistory;
use crate::model::{AfterCall, CallContext, WireModel};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireVerdict {
    Explained,
    Impossible,
    /// The search visited too many positions.
    Undecided,
}

/// The number of positions after which the search gives up. Without optimization, that is a second.
const POSITIONS_MAX: usize = if cfg!(debug_assertions) { 4_000 } else { 200_000 };

/// The calls that an order has taken, and the state after them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SearchPosition {
    /// The number of calls of each client that have ended.
    next: Vec<usize>,
    model: WireModel,
}

/// The last position before which everything was explained, for a message.
#[derive(Debug, Default)]
pub struct DeepestPosition {
    taken: usize,
    pub next: Vec<usize>,
    pub model: WireModel,
}

impl SearchPosition {
    fn context<'p>(&'p self, history: &'p WireHistory) -> CallContext<'p> {
        CallContext { history, next: &self.next }
    }

    /// Returns whether all calls with a reply are taken.
    fn is_end(&self, history: &WireHistory) -> bool {
        let rest = history.calls.iter().zip(&self.next).flat_map(|(calls, next)| &calls[*next..]);
        rest.into_iter().all(|call| call.reply.is_none())
    }

    /// Returns the clients that may take the next step.
    fn candidates(&self, history: &WireHistory) -> Vec<usize> {
        let mut first_end = u64::MAX;
        let mut steps = Vec::new();
        for (client, calls) in history.calls.iter().enumerate() {
            let Some(call) = calls.get(self.next[client]) else { continue };
            if !self.model.is_waiting(client) {
                first_end = first_end.min(call.arrived_by());
                steps.push((client, call.began));
                continue;
            }
            first_end = first_end.min(call.ended);
            // Without its time, a wait ends when another call serves it.
            if call.is_timeout() {
                steps.push((client, call.may_end_from()));
            }
        }
        steps.retain(|(_, began)| *began <= first_end);
        // A call that ended first has probably run first.
        steps.sort_by_key(|(client, _)| history.calls[*client][self.next[*client]].ended);
        steps.into_iter().map(|(client, _)| client).collect()
    }

    fn after(&self, after: AfterCall) -> Self {
        let mut next = self.next.clone();
        for client in after.ended {
            next[client] += 1;
        }
        Self { next, model: after.model }
    }

    /// Takes a read of a candidate, if one fits: it fits no better later. (A write that happens to
    /// change nothing now may have to change something later.)
    fn take_fitting_read(&mut self, candidates: &[usize], history: &WireHistory) -> bool {
        for &client in candidates {
            let context = self.context(history);
            let call = context.call(client);
            if !call.request.only_reads() || call.reply.is_none() {
                continue;
            }
            let fits = |after: &AfterCall| after.model == self.model;
            if let Some(after) = self.model.take(client, context).into_iter().find(fits) {
                *self = self.after(after);
                return true;
            }
        }
        false
    }
}

/// Tells if an order of the calls explains them, from empty databases on.
pub fn explain(history: &WireHistory) -> (WireVerdict, DeepestPosition) {
    let next = vec![0; history.calls.len()];
    let mut open = vec![SearchPosition { next, model: WireModel::default() }];
    let mut searched = HashSet::new();
    let mut deepest = DeepestPosition { next: vec![0; history.calls.len()], ..DeepestPosition::default() };
    while let Some(mut position) = open.pop() {
        let mut candidates = position.candidates(history);
        while position.take_fitting_read(&candidates, history) {
            candidates = position.candidates(history);
        }
        if position.is_end(history) {
            return (WireVerdict::Explained, deepest);
        }
        let taken = position.next.iter().sum();
        if taken > deepest.taken {
            deepest = DeepestPosition { taken, next: position.next.clone(), model: position.model.clone() };
        }
        if searched.contains(&position) {
            continue;
        }
        for &client in candidates.iter().rev() {
            let steps = position.model.take(client, position.context(history));
            open.extend(steps.into_iter().map(|after| position.after(after)));
        }
        searched.insert(position);
        if searched.len() > POSITIONS_MAX {
            return (WireVerdict::Undecided, deepest);
        }
    }
    (WireVerdict::Impossible, deepest)
}

/// Describes a history without an explanation: the calls, and the longest order that was found. For
/// each client it shows the next reply that would be right after that order.
pub fn describe(history: &WireHistory) -> String {
    use std::fmt::Write as _;

    let (verdict, deepest) = explain(history);
    let mut text = format!("{verdict:?}: no order explains these {} calls\n{history}", history.len());
    let _ = writeln!(text, "after the longest order that fits, of {} calls:", deepest.taken);
    for (client, calls) in history.calls.iter().enumerate() {
        let Some(call) = calls.get(deepest.next[client]) else { continue };
        let expected = if deepest.model.is_waiting(client) {
            vec!["(waits)".to_owned()]
        } else {
            deepest.model.expected(client, CallContext { history, next: &deepest.next })
        };
        let heard = call.reply.as_ref().map_or("?".to_owned(), ToString::to_string);
        let expected = expected.join(" or ");
        let _ = writeln!(text, "  client {client}: {}  heard {heard}, expected {expected}", call.request);
    }
    let _ = write!(text, "  state: {}", deepest.model);
    text
}
