//! The history of a round: the requests and replies of each client, with their times.

use std::fmt::{self, Display, Formatter};

use crate::command::{WireCommand, WireRequest};
use crate::reply::WireReply;

/// A request and its reply. Times are nanoseconds since the start of the test.
#[derive(Debug, Clone)]
pub struct WireCall {
    /// The database that is selected when it runs.
    pub database: usize,
    pub request: WireRequest,
    pub began: u64,
    /// `u64::MAX` if the history ends before the reply.
    pub ended: u64,
    /// `None` if the history ends before the reply: then it may have run or not.
    pub reply: Option<WireReply>,
}

const MILLI: u64 = 1_000_000;

impl WireCall {
    /// Returns the command and its longest wait, if its client may wait.
    fn wait(&self) -> Option<u64> {
        match &self.request {
            WireRequest::One(command) => command.wait().map(|(_, millis)| millis * MILLI),
            _ => None,
        }
    }

    /// Returns whether it is a wait that has ended with its time.
    pub fn is_timeout(&self) -> bool {
        self.wait().is_some() && self.reply == Some(WireReply::Nil)
    }

    /// Returns the last moment at which the request may have arrived. A wait that has ended with
    /// its time has arrived that much earlier.
    pub fn arrived_by(&self) -> u64 {
        if self.is_timeout() { self.ended - self.wait().unwrap_or(0) } else { self.ended }
    }

    /// Returns the first moment at which the wait may have ended with its time.
    pub fn may_end_from(&self) -> u64 {
        self.began + self.wait().unwrap_or(0)
    }
}

/// The calls of each client, in the order of its requests. All databases are empty before them.
#[derive(Debug, Clone, Default)]
pub struct WireHistory {
    pub calls: Vec<Vec<WireCall>>,
}

impl WireHistory {
    pub fn len(&self) -> usize {
        self.calls.iter().map(Vec::len).sum()
    }

    /// Returns the part that has happened until a moment. A call without a reply until then may
    /// have run or not.
    fn until(&self, moment: u64) -> Self {
        let cut = |calls: &Vec<WireCall>| {
            let begun = calls.iter().filter(|call| call.began <= moment).cloned();
            let mut cut: Vec<WireCall> = Vec::new();
            for mut call in begun {
                // A pipeline: the requests after a call without a reply may not have run either.
                let is_open = call.ended > moment || cut.last().is_some_and(|last| last.reply.is_none());
                if is_open {
                    (call.ended, call.reply) = (u64::MAX, None);
                }
                cut.push(call);
            }
            cut
        };
        Self { calls: self.calls.iter().map(cut).collect() }
    }

    /// Shortens a history as far as `fails` holds for it: cuts its end off, and leaves reads out.
    /// It never makes an impossible history of a possible one.
    pub fn shorten(&self, fails: impl Fn(&Self) -> bool) -> Self {
        let mut ends: Vec<u64> = self.calls.iter().flatten().map(|call| call.ended).collect();
        ends.sort_unstable();
        let mut short = self.clone();
        if let Some(end) = ends.into_iter().find(|end| fails(&self.until(*end))) {
            short = self.until(end);
        }
        for client in 0..short.calls.len() {
            for at in (0..short.calls[client].len()).rev() {
                let call = &short.calls[client][at];
                if call.request.only_reads() {
                    let mut shorter = short.clone();
                    shorter.calls[client].remove(at);
                    if fails(&shorter) {
                        short = shorter;
                    }
                }
            }
        }
        short
    }
}

impl Display for WireHistory {
    /// Writes a line for each call, in the order of their beginnings, with times in microseconds.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<(usize, &WireCall)> = self
            .calls
            .iter()
            .enumerate()
            .flat_map(|(client, calls)| calls.iter().map(move |call| (client, call)))
            .collect();
        lines.sort_by_key(|(client, call)| (call.began, *client));
        let start = lines.first().map_or(0, |(_, call)| call.began);
        let micros = |moment: u64| match moment {
            u64::MAX => "?".to_owned(),
            moment => ((moment - start) / 1000).to_string(),
        };
        for (client, call) in lines {
            let reply = call.reply.as_ref().map_or("?".to_owned(), ToString::to_string);
            let WireCall { database, request, began, ended, .. } = call;
            writeln!(
                out,
                "{:>7} {:>7}  client {client} db {database}  {request}  ->  {reply}",
                micros(*began),
                micros(*ended)
            )?;
        }
        Ok(())
    }
}

/// Tells if a command may make a key that clients wait for, whatever its order among others: all
/// waited keys are looked at after it.
pub fn wakes_in_any_order(commands: &[WireCommand]) -> bool {
    commands
        .iter()
        .any(|command| matches!(command, WireCommand::SwapDatabases(..) | WireCommand::FlushDatabase))
}
