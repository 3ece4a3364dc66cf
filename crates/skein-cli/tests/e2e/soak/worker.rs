//! A connection with its own keys. It sends requests, checks each reply, and after a kill checks
//! all remaining keys.

mod tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use skeindb::client::{Client, Receiver, Reply, Sender};

use super::generator;
use super::measure::SoakTally;
use super::model::{
    EvictionPolicy, KeyClass, ModelRow, Presence, ReplyWindow, SoakKey, WorkerModel, presence, time_fits,
};
use super::step::{ReplyOutcome, SoakStep, is_absent, read_command, shows};
use crate::common::E2eRandom;

/// At `buffered` the server promises 200 ms. A busy machine gets this time.
const GRACE: Duration = Duration::from_secs(10);
/// Keys read at once when all are checked. Their values fit into the buffers of a connection.
const CHECKED_AT_ONCE: usize = 50;

/// The first number of an element. Lists that are replaced whole have smaller ones.
const FIRST: u32 = 1_000;

/// The server's promises that the checks depend on.
#[derive(Debug, Clone, Copy)]
pub struct SoakTerms {
    pub policy: EvictionPolicy,
    /// Acknowledged writes survive.
    pub sync: bool,
}

/// A worker.
#[derive(Debug)]
pub struct SoakWorker {
    pub number: usize,
    random: E2eRandom,
    /// The number of the next element of a list or entry of a stream.
    next: u32,
    pub model: WorkerModel,
    /// The sent steps that have no reply yet.
    in_flight: Vec<SoakStep>,
    /// Milliseconds since 1970.
    sent: u64,
    tally: Arc<SoakTally>,
}

/// The result of a check of all keys.
#[derive(Debug, Default, Clone, Copy)]
pub struct CheckSummary {
    pub keys: usize,
    /// Acknowledged entries that did not survive.
    pub lost: usize,
    /// The time between the acknowledgement of the oldest of them and the kill.
    pub window: Duration,
}

/// The server's data for a key.
#[derive(Debug, Clone)]
struct ServerRow {
    reply: Reply,
    /// Its expiry time, as `PEXPIRETIME` returns it.
    time: i64,
    when: ReplyWindow,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

impl ServerRow {
    fn fits(&self, key: SoakKey, held: Option<&ModelRow>) -> bool {
        match (is_absent(&self.reply), presence(held, self.when), held) {
            (true, presence, _) => presence != Presence::Must,
            (false, Presence::Never, _) | (false, _, None) => false,
            // It may have expired between the two commands.
            (false, _, Some(held)) => {
                shows(&held.content, key.class, &self.reply)
                    && (self.time == -2 || time_fits(held, self.time))
            }
        }
    }
}

impl SoakWorker {
    pub fn new(number: usize, seed: u64, tally: Arc<SoakTally>) -> Self {
        let random = E2eRandom::new(seed);
        Self {
            number,
            random,
            next: FIRST,
            model: WorkerModel::default(),
            in_flight: Vec::new(),
            sent: 0,
            tally,
        }
    }

    /// Sends and checks until the server is gone or `stop` is set.
    ///
    /// # Panics
    /// Panics if a reply is wrong.
    pub fn run(&mut self, client: Client, terms: SoakTerms, stop: &AtomicBool) {
        let (mut sender, mut receiver) = client.split();
        while !stop.load(Ordering::Relaxed) && self.once(&mut sender, &mut receiver, terms).is_ok() {}
    }

    /// Runs one pipeline.
    fn once(&mut self, sender: &mut Sender, receiver: &mut Receiver, terms: SoakTerms) -> io::Result<()> {
        self.sent = now();
        self.in_flight =
            generator::pipeline(&mut self.random, &mut self.next, &self.model, terms.policy, self.sent);
        self.in_flight.reverse();
        let commands: Vec<_> = self.in_flight.iter().rev().map(|step| step.commands(self.number)).collect();
        commands.iter().flatten().for_each(|command| sender.push(command));
        let started = Instant::now();
        sender.flush()?;
        for commands in &commands {
            let replies = commands.iter().map(|_| receiver.read()).collect::<io::Result<Vec<_>>>()?;
            self.take(&replies, terms);
        }
        self.tally.add(commands.iter().map(Vec::len).sum(), started.elapsed());
        if let Some(long_ago) = started.checked_sub(GRACE) {
            self.model.settle_before(long_ago);
        }
        Ok(())
    }

    /// Checks the replies to the oldest step in flight.
    fn take(&mut self, replies: &[Reply], terms: SoakTerms) {
        let step = self.in_flight.pop().expect("a reply has its step");
        let when = ReplyWindow { sent: self.sent, received: now(), policy: terms.policy };
        match step.apply(&mut self.model, self.number, when, replies) {
            Ok(ReplyOutcome::Written) if terms.sync => self.model.settle(),
            Ok(ReplyOutcome::Written | ReplyOutcome::Read) => {}
            Ok(ReplyOutcome::Refused) => self.tally.refused(),
            Err(wrong) => panic!("worker {}: {wrong}", self.number),
        }
    }

    /// Checks every key against the server, which was killed at `before` and restarted at `terms`.
    /// Afterwards the model equals the server's data.
    ///
    /// # Errors
    /// Returns a description of the lost or wrong data.
    pub fn check(
        &mut self,
        client: &mut Client,
        before: SoakTerms,
        terms: SoakTerms,
        killed: Instant,
    ) -> Result<CheckSummary, String> {
        let policy = before.policy.max(terms.policy);
        let found = self
            .read_all(client, policy)
            .map_err(|error| format!("worker {}: the server does not answer: {error}", self.number))?;
        self.judge(&found, policy, killed)
    }

    /// Finds the moment at which the worker's keys were as `found`, and rewinds the model to it.
    fn judge(
        &mut self,
        found: &BTreeMap<SoakKey, ServerRow>,
        policy: EvictionPolicy,
        killed: Instant,
    ) -> Result<CheckSummary, String> {
        let fits = |model: &WorkerModel, key: SoakKey| found[&key].fits(key, model.keys.get(&key));
        let assumed = self.settle_in_flight(found, policy);
        let mut wrong: Vec<SoakKey> = found.keys().copied().filter(|&key| !fits(&self.model, key)).collect();
        let first = wrong.first().map(|key| self.describe(*key, &found[key]));
        let mut checked = CheckSummary { keys: found.len(), ..CheckSummary::default() };
        let mut undone = 0;
        while !wrong.is_empty() {
            let Some((keys, at)) = self.model.rewind() else {
                let count = wrong.len();
                return Err(format!(
                    "worker {}: {count} keys fit no moment: {}",
                    self.number,
                    first.unwrap_or_default()
                ));
            };
            undone += 1;
            if undone > assumed {
                checked.lost += 1;
                checked.window = killed.saturating_duration_since(at);
            }
            wrong.extend(keys);
            wrong.sort_unstable();
            wrong.dedup();
            // A step that was not yet done at an earlier moment was not done at all: undo all of
            // those first.
            if undone >= assumed {
                wrong.retain(|&key| !fits(&self.model, key));
            }
        }
        for (&key, found) in found {
            if is_absent(&found.reply) {
                self.model.keys.remove(&key);
            }
        }
        self.model.settle();
        checked.keys = self.model.keys.len();
        Ok(checked)
    }

    fn describe(&self, key: SoakKey, found: &ServerRow) -> String {
        let reply: String = found.reply.to_string().chars().take(200).collect();
        format!(
            "{}: {reply}, time {} is there in place of {:?}",
            key.name(self.number),
            found.time,
            self.model.keys.get(&key)
        )
    }

    /// Applies the steps in flight that were done, as the keys show, to the model. Returns the
    /// number of entries.
    fn settle_in_flight(&mut self, found: &BTreeMap<SoakKey, ServerRow>, policy: EvictionPolicy) -> usize {
        let when = ReplyWindow { sent: self.sent, received: now(), policy };
        let mut assumed = 0;
        while let Some(step) = self.in_flight.pop() {
            let keys = step.writes();
            let fit = |model: &WorkerModel| keys.iter().all(|key| found[key].fits(*key, model.keys.get(key)));
            if fit(&self.model) {
                continue;
            }
            step.assume(&mut self.model, self.number, when);
            if fit(&self.model) {
                assumed += 1;
            } else {
                self.model.rewind();
            }
        }
        assumed
    }

    fn read_all(
        &mut self,
        client: &mut Client,
        policy: EvictionPolicy,
    ) -> io::Result<BTreeMap<SoakKey, ServerRow>> {
        let mut found = BTreeMap::new();
        let keys = KeyClass::ALL
            .into_iter()
            .flat_map(|class| (0..class.keys()).map(move |number| SoakKey { class, number }));
        let keys: Vec<SoakKey> = keys.collect();
        for keys in keys.chunks(CHECKED_AT_ONCE) {
            let mut commands = Vec::new();
            for key in keys {
                commands.push(read_command(*key, self.number));
                commands.push(vec![b"PEXPIRETIME".to_vec(), key.name(self.number).into_bytes()]);
            }
            let sent = now();
            let mut replies = client.pipeline(&commands)?.into_iter();
            let when = ReplyWindow { sent, received: now(), policy };
            for key in keys {
                let (Some(reply), Some(Reply::Integer(time))) = (replies.next(), replies.next()) else {
                    return Err(io::Error::other("PEXPIRETIME answers no number"));
                };
                found.insert(*key, ServerRow { reply, time, when });
            }
        }
        Ok(found)
    }
}
