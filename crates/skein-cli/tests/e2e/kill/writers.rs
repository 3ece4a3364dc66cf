//! The load: connections that write in known orders, and remember the sent and the acknowledged
//! commands.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use skeindb::client::{Client, Reply};

use super::collections;
use super::transactions::{self, MOVERS};
use crate::common::{E2eRandom, SkeinServe};

/// Commands of one step of a pipelined writer.
pub const STEP_COMMANDS: u64 = 9;
/// Steps set expiry times of this value (in the year 5138) plus the step's number, in milliseconds.
pub const FAR: u64 = 99_999_999_999_000;
/// The pipelined writers, as the number of steps that each sends at once.
pub const DEPTHS: [u64; 3] = [1, 8, 64];
/// Connections that the chain alternates between.
const CHAIN_CONNECTIONS: usize = 4;
/// Threads that add to the shared counter.
pub const COUNTERS: usize = 2;
/// Threads that write the same group of keys.
const GROUP_WRITERS: usize = 2;
/// A writer stops at this many steps, so that checking a round is quick.
pub const MAX_STEPS: u64 = 4000;
/// The same for writers of collections: each step leaves a member and a field, and each is checked.
const COLLECTION_STEPS: u64 = 1500;

/// The number of sent and of acknowledged commands, or links of the chain, as each writer says.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriterProgress {
    pub sent: u64,
    pub acknowledged: u64,
}

/// The sent and the acknowledged commands of a round.
#[derive(Debug)]
pub struct RoundLoad {
    /// The prefix of all keys of the round.
    pub name: String,
    /// The pipelined writers, in commands.
    pub steps: Vec<WriterProgress>,
    /// The chain, in links.
    pub chain: WriterProgress,
    /// The threads that count, in increments.
    pub counts: Vec<WriterProgress>,
    /// The threads that run transactions, in transactions.
    pub moves: Vec<WriterProgress>,
    /// The pipelined writers of sorted sets and large hashes, in commands.
    pub collections: Vec<WriterProgress>,
}

/// A round in progress.
#[derive(Debug)]
pub struct RunningRound {
    name: String,
    steps: Vec<JoinHandle<WriterProgress>>,
    chain: JoinHandle<WriterProgress>,
    counts: Vec<JoinHandle<WriterProgress>>,
    moves: Vec<JoinHandle<WriterProgress>>,
    collections: Vec<JoinHandle<WriterProgress>>,
    others: Vec<JoinHandle<()>>,
}

impl RunningRound {
    /// Waits until all threads have noticed that the server is gone.
    pub fn join(self) -> RoundLoad {
        let all = |threads: Vec<JoinHandle<WriterProgress>>| threads.into_iter().map(join).collect();
        self.others.into_iter().for_each(join);
        RoundLoad {
            name: self.name,
            steps: all(self.steps),
            chain: join(self.chain),
            counts: all(self.counts),
            moves: all(self.moves),
            collections: all(self.collections),
        }
    }
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns the names of the keys that the group writers set together.
pub fn group_keys(name: &str) -> Vec<String> {
    (0..5).map(|at| format!("{name}/group/{at}")).collect()
}

/// Starts the load of a round.
pub fn start(server: &SkeinServe, round: usize, seed: u64) -> RunningRound {
    let name = format!("r{round:05}");
    let mut random = E2eRandom::new(seed);
    let pipelined = |writer: String, depth: u64, most: u64, commands: StepCommands| {
        let client = server.client();
        thread::spawn(move || write_steps(client, depth, most, |step| commands(&writer, step)))
    };
    let steps = DEPTHS.iter().enumerate();
    let steps = steps
        .map(|(writer, &depth)| pipelined(format!("{name}/w{writer}"), depth, MAX_STEPS, step_commands))
        .collect();
    let sets = collections::DEPTHS.iter().enumerate();
    let collections = sets
        .map(|(writer, &depth)| {
            let name = format!("{name}/c{writer}");
            pipelined(name, depth, COLLECTION_STEPS, collections::step_commands)
        })
        .collect();
    let clients = (0..CHAIN_CONNECTIONS).map(|_| server.client()).collect();
    let chain_name = name.clone();
    let chain = thread::spawn(move || write_chain(clients, &chain_name));
    let counts = (0..COUNTERS)
        .map(|thread| {
            let (client, name) = (server.client(), name.clone());
            thread::spawn(move || count(client, &name, thread))
        })
        .collect();
    let moves = (0..MOVERS)
        .map(|thread| {
            let (client, name) = (server.client(), name.clone());
            thread::spawn(move || transactions::run(client, &name, thread))
        })
        .collect();
    let mut others = Vec::new();
    let (client, mover_name) = (server.client(), name.clone());
    others.push(thread::spawn(move || transactions::read(client, &mover_name)));
    for thread in 0..GROUP_WRITERS {
        let (client, name) = (server.client(), name.clone());
        others.push(thread::spawn(move || write_groups(client, &name, thread)));
    }
    let (client, brief_name) = (server.client(), name.clone());
    others.push(thread::spawn(move || write_brief(client, &brief_name)));
    let (client, reader_name) = (server.client(), name.clone());
    others.push(thread::spawn(move || read_groups(client, &reader_name)));
    let client = server.client();
    others.push(thread::spawn(move || checkpoint(client, &mut random)));
    RunningRound { name, steps, chain, counts, moves, collections, others }
}

/// Returns the commands of step `step`, in order. `oracle` knows the result of each.
fn step_commands(name: &str, step: u64) -> Vec<Vec<String>> {
    let n = step.to_string();
    let command = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    vec![
        command(&["SET", &format!("{name}/key/{step:010}"), &n]),
        command(&["SET", &format!("{name}/last"), &n]),
        command(&["MSET", &format!("{name}/a"), &n, &format!("{name}/b"), &n, &format!("{name}/c"), &n]),
        command(&["HSET", &format!("{name}/row"), "x", &n, "y", &n]),
        command(&["INCR", &format!("{name}/count")]),
        command(&["SET", &format!("{name}/gone/{step:010}"), &n]),
        command(&["DEL", &format!("{name}/gone/{:010}", step - 1)]),
        command(&["SET", &format!("{name}/timed"), &n, "PXAT", &(FAR + step).to_string()]),
        command(&["PEXPIREAT", &format!("{name}/row"), &(FAR + step).to_string()]),
    ]
}

/// Returns the commands of a step, for a writer of this name.
type StepCommands = fn(&str, u64) -> Vec<Vec<String>>;

/// Sends up to `most` steps, several at once, each group when the previous one was answered.
fn write_steps(
    client: Client,
    depth: u64,
    most: u64,
    commands: impl Fn(u64) -> Vec<Vec<String>>,
) -> WriterProgress {
    let (mut sender, mut receiver) = client.split();
    let mut progress = WriterProgress::default();
    for first in (1..most).step_by(depth as usize) {
        let mut sent = 0;
        for command in (first..first + depth).flat_map(&commands) {
            sender.push(&command);
            sent += 1;
        }
        // Counted before sending: a part may arrive although sending failed.
        progress.sent += sent;
        if sender.flush().is_err() {
            break;
        }
        while progress.acknowledged < progress.sent {
            match receiver.read() {
                Ok(reply) => assert_done(&reply),
                Err(_) => return progress,
            }
            progress.acknowledged += 1;
        }
    }
    progress
}

/// Sends link n over another connection than link n - 1, once that one is acknowledged.
fn write_chain(mut clients: Vec<Client>, name: &str) -> WriterProgress {
    let mut progress = WriterProgress::default();
    while progress.sent < MAX_STEPS {
        progress.sent += 1;
        let (link, connections) = (progress.sent, clients.len() as u64);
        let client = &mut clients[(link % connections) as usize];
        let (key, value) = (format!("{name}/chain/{link:010}"), link.to_string());
        match client.call(&[b"SET", key.as_bytes(), value.as_bytes()]) {
            Ok(reply) => assert_done(&reply),
            Err(_) => break,
        }
        progress.acknowledged += 1;
    }
    progress
}

/// Adds to a counter that other threads add to as well, and records the replies.
fn count(mut client: Client, name: &str, thread: usize) -> WriterProgress {
    let mut progress = WriterProgress::default();
    let mut once = |progress: &mut WriterProgress| -> io::Result<()> {
        progress.sent += 1;
        let sum = match client.call(&[b"INCR", format!("{name}/shared").as_bytes()])? {
            Reply::Integer(sum) => sum.to_string(),
            other => panic!("INCR answers {other}"),
        };
        progress.acknowledged += 1;
        let key = format!("{name}/seen{thread}/{:010}", progress.sent);
        assert_done(&client.call(&[b"SET", key.as_bytes(), sum.as_bytes()])?);
        Ok(())
    };
    while progress.sent < MAX_STEPS && once(&mut progress).is_ok() {}
    progress
}

fn write_groups(mut client: Client, name: &str, thread: usize) {
    let keys = group_keys(name);
    for n in 0..MAX_STEPS {
        let value = format!("{thread}:{n}");
        let mut command: Vec<&[u8]> = vec![b"MSET"];
        for key in &keys {
            command.extend([key.as_bytes(), value.as_bytes()]);
        }
        match client.call(&command) {
            Ok(reply) => assert_done(&reply),
            Err(_) => return,
        }
    }
}

/// Writes keys that expire before a restart can end.
fn write_brief(mut client: Client, name: &str) {
    for n in 1..=MAX_STEPS {
        let key = format!("{name}/brief/{}", n % 100);
        let command: [&[u8]; 5] = [b"SET", key.as_bytes(), b"1", b"PX", if n % 2 == 0 { b"1" } else { b"3" }];
        match client.call(&command) {
            Ok(reply) => assert_done(&reply),
            Err(_) => return,
        }
    }
}

/// Checks that half a group is never visible.
fn read_groups(mut client: Client, name: &str) {
    let keys = group_keys(name);
    let mut command: Vec<&[u8]> = vec![b"MGET"];
    command.extend(keys.iter().map(String::as_bytes));
    while let Ok(reply) = client.call(&command) {
        let values = reply.into_array().expect("MGET answers a list");
        assert!(values.iter().all(|value| *value == values[0]), "half a group is visible: {values:?}");
    }
}

fn checkpoint(mut client: Client, random: &mut E2eRandom) {
    loop {
        thread::sleep(Duration::from_millis(random.below(80)));
        // An error reply is fine here: one may be running.
        if client.call(&[b"BGSAVE"]).is_err() {
            return;
        }
    }
}

pub fn assert_done(reply: &Reply) {
    assert!(!matches!(reply, Reply::Error(_)), "the server answers {reply}");
}
