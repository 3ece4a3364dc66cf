//! A connection with keys of its own: it asks, checks each reply, and after a kill all that is left.

mod tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use skeindb::client::{Client, Receiver, Reply, Sender};

use super::draw;
use super::measure::Tally;
use super::model::{Class, Held, Key, Model, Policy, Presence, When, presence, time_fits};
use super::step::{Step, Taken, is_absent, read_command, shows};
use crate::common::Random;

/// At `buffered` the server promises 200 ms; on a machine that has other things to do it gets this.
const GRACE: Duration = Duration::from_secs(10);
/// Keys that are read at once when all are checked: what they hold fits into the buffers of a connection.
const CHECKED_AT_ONCE: usize = 50;

/// What a server promises, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub policy: Policy,
    /// What is acknowledged survives.
    pub sync: bool,
}

/// A worker.
#[derive(Debug)]
pub struct Worker {
    pub number: usize,
    random: Random,
    pub model: Model,
    /// What was sent last and has no reply yet.
    in_flight: Vec<Step>,
    /// Milliseconds since 1970.
    sent: u64,
    tally: Arc<Tally>,
}

/// What a check of all keys found.
#[derive(Debug, Default, Clone, Copy)]
pub struct Checked {
    pub keys: usize,
    /// Acknowledged entries that did not survive.
    pub lost: usize,
    /// How long before the kill the oldest of them was acknowledged.
    pub window: Duration,
}

/// What the server has for a key.
#[derive(Debug, Clone)]
struct Found {
    reply: Reply,
    /// Its time of expiry as `PEXPIRETIME` gives it.
    time: i64,
    when: When,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

impl Found {
    fn fits(&self, key: Key, held: Option<&Held>) -> bool {
        match (is_absent(&self.reply), presence(held, self.when), held) {
            (true, presence, _) => presence != Presence::Must,
            (false, Presence::Never, _) | (false, _, None) => false,
            // Its time may have come between the two commands.
            (false, _, Some(held)) => {
                shows(&held.content, key.class, &self.reply)
                    && (self.time == -2 || time_fits(held, self.time))
            }
        }
    }
}

impl Worker {
    pub fn new(number: usize, seed: u64, tally: Arc<Tally>) -> Self {
        let random = Random::new(seed);
        Self { number, random, model: Model::default(), in_flight: Vec::new(), sent: 0, tally }
    }

    /// Asks and checks until the server is gone or `stop` is set.
    ///
    /// # Panics
    /// A reply is wrong.
    pub fn run(&mut self, client: Client, terms: Terms, stop: &AtomicBool) {
        let (mut sender, mut receiver) = client.split();
        while !stop.load(Ordering::Relaxed) && self.once(&mut sender, &mut receiver, terms).is_ok() {}
    }

    /// One pipeline.
    fn once(&mut self, sender: &mut Sender, receiver: &mut Receiver, terms: Terms) -> io::Result<()> {
        self.sent = now();
        self.in_flight = draw::pipeline(&mut self.random, &self.model, terms.policy, self.sent);
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

    /// Takes the replies to the oldest step in flight.
    fn take(&mut self, replies: &[Reply], terms: Terms) {
        let step = self.in_flight.pop().expect("a reply has its step");
        let when = When { sent: self.sent, received: now(), policy: terms.policy };
        match step.apply(&mut self.model, self.number, when, replies) {
            Ok(Taken::Written) if terms.sync => self.model.settle(),
            Ok(Taken::Written | Taken::Read) => {}
            Ok(Taken::Refused) => self.tally.refused(),
            Err(wrong) => panic!("worker {}: {wrong}", self.number),
        }
    }

    /// Checks every key against the server, which was started again at `terms` after it had been killed at `before`. From then on the model
    /// holds what is there.
    ///
    /// # Errors
    /// Something is lost, or other than it must be: what.
    pub fn check(
        &mut self,
        client: &mut Client,
        before: Terms,
        terms: Terms,
        killed: Instant,
    ) -> Result<Checked, String> {
        let policy = before.policy.max(terms.policy);
        let found = self
            .read_all(client, policy)
            .map_err(|error| format!("worker {}: the server does not answer: {error}", self.number))?;
        self.judge(&found, policy, killed)
    }

    /// Finds the moment at which the worker's keys were as `found`, and goes back to it.
    fn judge(
        &mut self,
        found: &BTreeMap<Key, Found>,
        policy: Policy,
        killed: Instant,
    ) -> Result<Checked, String> {
        let fits = |model: &Model, key: Key| found[&key].fits(key, model.keys.get(&key));
        let assumed = self.settle_in_flight(found, policy);
        let mut wrong: Vec<Key> = found.keys().copied().filter(|&key| !fits(&self.model, key)).collect();
        let first = wrong.first().map(|key| self.describe(*key, &found[key]));
        let mut checked = Checked { keys: found.len(), ..Checked::default() };
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
            // What was not done yet at an earlier moment was not done at all: undo all of those first.
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

    fn describe(&self, key: Key, found: &Found) -> String {
        let reply: String = found.reply.to_string().chars().take(200).collect();
        format!(
            "{}: {reply}, time {} is there in place of {:?}",
            key.name(self.number),
            found.time,
            self.model.keys.get(&key)
        )
    }

    /// Does to the model what was in flight and was done, as the keys show; returns how many entries that makes.
    fn settle_in_flight(&mut self, found: &BTreeMap<Key, Found>, policy: Policy) -> usize {
        let when = When { sent: self.sent, received: now(), policy };
        let mut assumed = 0;
        while let Some(step) = self.in_flight.pop() {
            let keys = step.writes();
            let fit = |model: &Model| keys.iter().all(|key| found[key].fits(*key, model.keys.get(key)));
            if fit(&self.model) {
                continue;
            }
            step.assume(&mut self.model, when);
            if fit(&self.model) {
                assumed += 1;
            } else {
                self.model.rewind();
            }
        }
        assumed
    }

    fn read_all(&mut self, client: &mut Client, policy: Policy) -> io::Result<BTreeMap<Key, Found>> {
        let mut found = BTreeMap::new();
        let keys = Class::ALL
            .into_iter()
            .flat_map(|class| (0..class.keys()).map(move |number| Key { class, number }));
        let keys: Vec<Key> = keys.collect();
        for keys in keys.chunks(CHECKED_AT_ONCE) {
            let mut commands = Vec::new();
            for key in keys {
                commands.push(read_command(*key, self.number));
                commands.push(vec![b"PEXPIRETIME".to_vec(), key.name(self.number).into_bytes()]);
            }
            let sent = now();
            let mut replies = client.pipeline(&commands)?.into_iter();
            let when = When { sent, received: now(), policy };
            for key in keys {
                let (Some(reply), Some(Reply::Integer(time))) = (replies.next(), replies.next()) else {
                    return Err(io::Error::other("PEXPIRETIME answers no number"));
                };
                found.insert(*key, Found { reply, time, when });
            }
        }
        Ok(found)
    }
}
