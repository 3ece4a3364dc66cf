//! The sequential model: databases with few keys, the clients that wait, and the keys that clients
//! watch.
//!
//! ```text
//!   take(call) ─► which keys have expired? ─► run its commands ─► serve who waits ─► mark watched keys
//!                  (each possible answer is a branch)               (each order after SWAPDB)
//! ```
//!
//! A command that waits is two steps: it arrives, and it is served by another call or ends with its
//! time. Clients are served in the order of their arrival, so a history with another order has no
//! explanation. Scherer and Scott ("Nonblocking concurrent data structures with condition
//! synchronization", 2004) call such objects dual.
//!
//! `fuzz/src/model.rs` has a model of more commands, and computes whole replies. It has one client,
//! and it sets the clock. Here time passes between two bounds, clients wait, and the search copies
//! and compares states, so this model is small instead.

mod commands;
mod values;
mod waiting;

use std::collections::BTreeMap;

use crate::command::{DATABASES, GroupKind, WireCommand, WireKey, WireRequest};
use crate::history::{WireCall, WireHistory, wakes_in_any_order};
use crate::reply::WireReply;

pub use values::WireValue;

/// How much the server's clock of milliseconds may differ from that of the test.
const CLOCK_SLACK: u64 = 2_000_000;

/// The most keys of one request that may be present or not, because their time has just passed.
const DOUBTFUL_MAX: usize = 6;

/// The first and the last moment at which a key may expire.
type ExpiryBounds = (u64, u64);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct WireRow {
    value: WireValue,
    expires: Option<ExpiryBounds>,
}

/// A key of a database.
type WirePlace = (usize, WireKey);

/// Whether a watched key was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum WatchMark {
    Same,
    /// A write has named it and left it as it was.
    Touched,
    Changed,
}

/// A watched key of a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct WatchedKey {
    client: usize,
    place: WirePlace,
    mark: WatchMark,
    /// Whether it was absent when it was watched.
    was_absent: bool,
    /// Whether its database was swapped since.
    is_swapped: bool,
}

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct WireModel {
    rows: BTreeMap<WirePlace, WireRow>,
    /// Clients that wait, in the order of their arrival.
    waiting: Vec<usize>,
    watched: Vec<WatchedKey>,
    /// The keys that the call in progress has made, in order.
    made: Vec<WirePlace>,
}

/// A state after a call, and the clients with a call that ended by it.
pub struct AfterCall {
    pub model: WireModel,
    pub ended: Vec<usize>,
}

/// The surroundings that a call depends on.
#[derive(Clone, Copy)]
pub struct CallContext<'h> {
    pub history: &'h WireHistory,
    /// The position of the next call of each client.
    pub next: &'h [usize],
}

impl<'h> CallContext<'h> {
    pub fn call(self, client: usize) -> &'h WireCall {
        &self.history.calls[client][self.next[client]]
    }
}

impl WireModel {
    pub fn is_waiting(&self, client: usize) -> bool {
        self.waiting.contains(&client)
    }

    /// Takes the next step of a client. Returns the states in which its replies, and those of the
    /// clients that it serves, are those of the history.
    pub fn take(&self, client: usize, context: CallContext<'_>) -> Vec<AfterCall> {
        if self.is_waiting(client) {
            let mut model = self.clone();
            model.waiting.retain(|waiting| *waiting != client);
            return vec![AfterCall { model, ended: vec![client] }];
        }
        let call = context.call(client);
        let mut found = Vec::new();
        for model in self.expire(client, call) {
            for (mut after, replied) in model.run(client, call) {
                if replied.is_none() {
                    after.waiting.push(client);
                }
                let own = replied.map(|_| client);
                for (mut served, mut ended) in after.serve(&model, call, context) {
                    served.mark_watched(self, call);
                    ended.extend(own);
                    found.push(AfterCall { model: served, ended });
                }
            }
        }
        found
    }

    /// Returns the model's reply to the next call of a client, for a message.
    pub fn expected(&self, client: usize, context: CallContext<'_>) -> Vec<String> {
        let call = WireCall { reply: None, ..context.call(client).clone() };
        let replies = self.expire(client, &call).into_iter().flat_map(|model| model.run(client, &call));
        replies.map(|(_, reply)| reply.map_or("(waits)".to_owned(), |reply| reply.to_string())).collect()
    }

    /// Returns the possible states when a call looks at its keys: one for each choice of the keys
    /// that may just have expired.
    fn expire(&self, client: usize, call: &WireCall) -> Vec<Self> {
        let mut base = self.clone();
        base.rows.retain(|_, row| {
            row.expires.is_none_or(|(_, last)| call.began <= last.saturating_add(CLOCK_SLACK))
        });
        let named = call.request.keys();
        let ends_watch = matches!(call.request, WireRequest::Group(GroupKind::Multi, _));
        let is_watched = |place| {
            let is_this = |watched: &WatchedKey| (watched.client, watched.place) == (client, place);
            ends_watch && self.watched.iter().any(is_this)
        };
        let doubtful: Vec<WirePlace> = base
            .rows
            .iter()
            .filter(|(place, row)| {
                (named.contains(&place.1) || is_watched(**place))
                    && row.expires.is_some_and(|(first, _)| call.ended.saturating_add(CLOCK_SLACK) >= first)
            })
            .map(|(place, _)| *place)
            .take(DOUBTFUL_MAX)
            .collect();
        (0..1_usize << doubtful.len())
            .map(|choice| {
                let mut model = base.clone();
                for (at, place) in doubtful.iter().enumerate() {
                    if choice >> at & 1 == 1 {
                        model.rows.remove(place);
                    }
                }
                model
            })
            .collect()
    }

    /// Runs a request. Returns the states that fit its reply, and the reply of each; `None` if the
    /// client waits.
    fn run(&self, client: usize, call: &WireCall) -> Vec<(Self, Option<WireReply>)> {
        let mut model = self.clone();
        let mut database = call.database;
        let reply = match &call.request {
            WireRequest::One(command) => match model.run_or_wait(&mut database, command, call) {
                None => return vec![(model, None)],
                Some(reply) => reply,
            },
            WireRequest::Group(kind, commands) => return self.run_group(client, *kind, commands, call),
            WireRequest::Watch(keys) => {
                for key in keys {
                    model.watch(client, (call.database, *key));
                }
                WireReply::ok()
            }
            WireRequest::Snapshot => model.contents(),
            WireRequest::Spin(_) => WireReply::Nil,
        };
        let fits = call.reply.as_ref().is_none_or(|seen| reply == *seen);
        if fits { vec![(model, Some(reply))] } else { Vec::new() }
    }

    /// Runs commands as one. An EXEC runs nothing if a watched key has changed.
    fn run_group(
        &self,
        client: usize,
        kind: GroupKind,
        commands: &[WireCommand],
        call: &WireCall,
    ) -> Vec<(Self, Option<WireReply>)> {
        let mut model = self.clone();
        let mark = if kind == GroupKind::Multi { model.end_watch(client) } else { WatchMark::Same };
        let mut found = Vec::new();
        if mark != WatchMark::Same {
            found.push((model.clone(), Some(WireReply::Nil)));
        }
        if mark != WatchMark::Changed {
            let mut database = call.database;
            let replies = commands.iter().enumerate().map(|(at, command)| {
                let hint = match &call.reply {
                    Some(WireReply::Array(replies)) => replies.get(at),
                    _ => None,
                };
                model.run_at_once(&mut database, command, hint, call)
            });
            let reply = WireReply::Array(replies.collect());
            found.push((model, Some(reply)));
        }
        found.retain(|(_, reply)| call.reply.is_none() || call.reply == *reply);
        found
    }

    /// Returns all keys of all databases, as ranges show them.
    fn contents(&self) -> WireReply {
        let of = |database: usize| {
            let rows = self.rows.iter().filter(|((of, _), _)| *of == database);
            let mut pairs: Vec<_> =
                rows.map(|((_, key), row)| (key.to_string(), row.value.shown())).collect();
            pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
            WireReply::Array(
                pairs.into_iter().flat_map(|(key, value)| [WireReply::Text(key), value]).collect(),
            )
        };
        WireReply::Array((0..DATABASES).map(of).collect())
    }

    fn watch(&mut self, client: usize, place: WirePlace) {
        if !self.watched.iter().any(|watched| (watched.client, watched.place) == (client, place)) {
            let was_absent = !self.rows.contains_key(&place);
            let mark = WatchMark::Same;
            self.watched.push(WatchedKey { client, place, mark, was_absent, is_swapped: false });
        }
    }

    /// Ends the watch of a client. Returns the strongest mark of its keys.
    fn end_watch(&mut self, client: usize) -> WatchMark {
        let Self { rows, watched, .. } = self;
        let marks = watched.extract_if(.., |watched| watched.client == client).map(|watched| {
            // The documented difference from Redis: after a SWAPDB, a key that is absent as before
            // may count as the same.
            let is_absent = !rows.contains_key(&watched.place);
            let is_absent_again = watched.was_absent && is_absent;
            if is_absent && !watched.was_absent {
                // As in Redis, also if it has just expired.
                WatchMark::Changed
            } else if watched.is_swapped && is_absent_again {
                watched.mark.min(WatchMark::Touched)
            } else {
                watched.mark
            }
        });
        marks.max().unwrap_or(WatchMark::Same)
    }

    /// Marks the watched keys that differ from `before`, and those that a write has named.
    fn mark_watched(&mut self, before: &Self, call: &WireCall) {
        let commands = call.request.commands();
        let (named, all) = (call.request.keys(), wakes_in_any_order(commands));
        let writes = !call.request.only_reads() && !matches!(call.request, WireRequest::Watch(_));
        let swaps = |database: usize| {
            commands.iter().any(|command| {
                matches!(command, WireCommand::SwapDatabases(first, second)
                    if [*first, *second].contains(&database))
            })
        };
        let Self { rows, watched, .. } = self;
        for key in watched.iter_mut() {
            let is_this = |old: &WatchedKey| (old.client, old.place) == (key.client, key.place);
            if !before.watched.iter().any(is_this) {
                continue;
            }
            key.is_swapped |= swaps(key.place.0);
            let differs = match (rows.get(&key.place), before.rows.get(&key.place)) {
                (Some(row), Some(old)) => {
                    row.expires != old.expires || !row.value.has_contents_of(&old.value)
                }
                (row, old) => row.is_some() != old.is_some(),
            };
            if differs {
                key.mark = WatchMark::Changed;
            } else if writes && (all || named.contains(&key.place.1)) {
                key.mark = key.mark.max(WatchMark::Touched);
            }
        }
    }

    /// Runs a command. `None` if its client must wait.
    fn run_or_wait(
        &mut self,
        database: &mut usize,
        command: &WireCommand,
        call: &WireCall,
    ) -> Option<WireReply> {
        if command.wait().is_some() && self.finds_nothing(*database, command) {
            return None;
        }
        Some(self.run_at_once(database, command, call.reply.as_ref(), call))
    }
}

impl std::fmt::Display for WireModel {
    /// Writes the contents of the databases, and the waiting clients.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for ((database, key), row) in &self.rows {
            write!(out, "{database}:{key}={}  ", row.value.shown())?;
        }
        write!(out, "waiting clients: {:?}", self.waiting)
    }
}
