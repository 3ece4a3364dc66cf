//! Clients that keep the values that they have read, in every mode of CLIENT TRACKING, beside
//! clients that write. When all is quiet, each value that is still kept must be that of the server.
//!
//! ```text
//!   writers   SET, LMOVE, EXEC, EVAL, expiry …
//!   readers   a key that is not kept ─► GET ─► keep the reply      invalidate ─► forget
//!   the end   writers stop ─► PING until the messages have come ─► compare
//! ```
//!
//! There is no SWAPDB: as in Redis, it tells no client to forget anything.

use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::client::WireClient;
use crate::command::{DATABASES, ListEnd, WireCommand, WireKey};
use crate::common::{TestClient, TestServer, encode_words};
use crate::random::TestRandom;
use crate::reply::WireReply;
use crate::workload::{WireTheme, WorkloadGenerator};

/// How long the messages of a quiet server may take. The thread that removes expired keys needs
/// some seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The writers of a round, the requests of each, and the reads of each reader.
const WRITERS: usize = 2;
const PIPELINES: usize = 12;
const READS: usize = 30;

/// A client's options, beside the words that begin tracking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TrackingMode {
    words: &'static str,
    /// Sent before a read with a reply that the client keeps, and before one with a reply that it
    /// does not keep.
    before_kept: Option<&'static str>,
    before_other: Option<&'static str>,
    no_loop: bool,
    /// Whether another connection receives the messages, in RESP2.
    redirects: bool,
}

const fn mode(words: &'static str) -> TrackingMode {
    TrackingMode { words, before_kept: None, before_other: None, no_loop: false, redirects: false }
}

const YES: Option<&str> = Some("CLIENT CACHING YES");
const NO: Option<&str> = Some("CLIENT CACHING NO");

const MODES: [TrackingMode; 11] = [
    mode(""),
    TrackingMode { no_loop: true, ..mode(" NOLOOP") },
    mode(" BCAST"),
    mode(" BCAST PREFIX t PREFIX l"),
    TrackingMode { no_loop: true, ..mode(" BCAST NOLOOP") },
    TrackingMode { before_kept: YES, ..mode(" OPTIN") },
    TrackingMode { before_kept: YES, no_loop: true, ..mode(" OPTIN NOLOOP") },
    TrackingMode { before_other: NO, ..mode(" OPTOUT") },
    TrackingMode { redirects: true, ..mode("") },
    TrackingMode { redirects: true, no_loop: true, ..mode(" NOLOOP") },
    TrackingMode { redirects: true, ..mode(" BCAST") },
];

/// How the event of a message begins.
const TOLD: &str = "is told to forget it";

/// A client that keeps the values that it has read.
struct CachingReader {
    mode: TrackingMode,
    client: TestClient,
    /// Receives the messages if the mode redirects them.
    receiver: Option<TestClient>,
    kept: HashMap<WireKey, WireReply>,
    epoch: Instant,
    /// The history of each key, for a message.
    events: Vec<(u64, WireKey, String)>,
}

fn key_of(name: &str) -> Option<WireKey> {
    let at = crate::command::KEYS.iter().position(|key| *key == name)?;
    u8::try_from(at).ok().map(WireKey)
}

fn read_of(key: WireKey, theme: WireTheme) -> WireCommand {
    if theme == WireTheme::Lists { WireCommand::List(key) } else { WireCommand::Get(key) }
}

impl CachingReader {
    fn new(server: &TestServer, mode: TrackingMode, epoch: Instant) -> Self {
        let (mut client, mut receiver) = (server.connect(), None);
        let mut words = format!("CLIENT TRACKING ON{}", mode.words);
        if mode.redirects {
            let mut other = server.connect();
            let WireReply::Number(id) = WireReply::parse(&other.call(&[b"CLIENT", b"ID"])) else {
                panic!("CLIENT ID has no number")
            };
            other.call(&[b"SUBSCRIBE", b"__redis__:invalidate"]);
            words = format!("{words} REDIRECT {id}");
            receiver = Some(other);
        } else {
            client.call(&[b"HELLO", b"3"]);
        }
        client.send(&encode_words(&words));
        assert_eq!(client.reply(), b"+OK\r\n", "the reply to {words}");
        Self { mode, client, receiver, kept: HashMap::new(), epoch, events: Vec::new() }
    }

    fn note(&mut self, key: WireKey, what: String) {
        let now = u64::try_from(self.epoch.elapsed().as_nanos()).expect("a short test");
        self.events.push((now, key, what));
    }

    /// Forgets the keys that a message names, or all.
    fn forget(&mut self, keys: &WireReply) {
        let WireReply::Array(names) = keys else {
            let all: Vec<WireKey> = self.kept.drain().map(|(key, _)| key).collect();
            for key in all {
                self.note(key, format!("{TOLD}, with all others"));
            }
            return;
        };
        for name in names {
            let WireReply::Text(name) = name else { panic!("a key: {name}") };
            if let Some(key) = key_of(name) {
                self.kept.remove(&key);
                self.note(key, TOLD.to_owned());
            }
        }
    }

    /// Returns the next reply. Messages before it are obeyed.
    fn reply(&mut self) -> WireReply {
        loop {
            let bytes = self.client.reply();
            let reply = WireReply::parse(&bytes);
            match &reply {
                WireReply::Array(parts) if bytes[0] == b'>' => self.forget(&parts[1]),
                _ => return reply,
            }
        }
    }

    /// Obeys all messages that have arrived.
    fn listen(&mut self) {
        self.client.send(&encode_words("PING"));
        assert_eq!(self.reply(), WireReply::Text("PONG".to_owned()));
        let Some(mut receiver) = self.receiver.take() else { return };
        receiver.send(&encode_words("PING"));
        loop {
            let WireReply::Array(parts) = WireReply::parse(&receiver.reply()) else {
                panic!("a subscriber hears arrays")
            };
            match parts.as_slice() {
                [WireReply::Text(kind), ..] if kind == "pong" => break,
                [_, _, keys] => self.forget(keys),
                other => panic!("a message of {} parts", other.len()),
            }
        }
        self.receiver = Some(receiver);
    }

    /// Reads a key that is not kept, and may keep the reply.
    fn read(&mut self, key: WireKey, theme: WireTheme, keeps: bool) {
        let command = read_of(key, theme);
        let before = if keeps { self.mode.before_kept } else { self.mode.before_other };
        // Without these, all reads are tracked, or none.
        let keeps = keeps || self.mode.before_kept.is_none() && self.mode.before_other.is_none();
        let words = command.to_string();
        let bytes =
            before.map(encode_words).into_iter().flatten().chain(encode_words(&words)).collect::<Vec<_>>();
        self.client.send(&bytes);
        if before.is_some() {
            assert_eq!(self.reply(), WireReply::ok());
        }
        let reply = self.reply();
        self.note(key, format!("{words} -> {reply}{}", if keeps { ", keeps it" } else { "" }));
        if keeps {
            self.kept.insert(key, reply);
        }
    }

    /// Writes a key. The client is not told of that with NOLOOP, so it forgets the key.
    fn write(&mut self, command: &WireCommand) {
        let words = command.to_string();
        self.client.send(&encode_words(&words));
        let reply = self.reply();
        for key in command.keys() {
            self.note(key, format!("{words} -> {reply}"));
            if self.mode.no_loop {
                self.kept.remove(&key);
            }
        }
    }

    fn work(&mut self, theme: WireTheme, keys: &[WireKey], random: &mut TestRandom, elements: &AtomicU32) {
        for _ in 0..READS {
            let key = keys[random.below(keys.len())];
            match random.below(8) {
                0 => {
                    let element = elements.fetch_add(1, Ordering::Relaxed) + 1;
                    let command = match theme {
                        WireTheme::Lists => WireCommand::Push(ListEnd::Left, key, vec![element]),
                        WireTheme::Expiry => WireCommand::SetFor(key, element, 1 + random.below(3) as u64),
                        _ => WireCommand::Set(key, element),
                    };
                    self.write(&command);
                }
                1 => self.listen(),
                choice if !self.kept.contains_key(&key) => self.read(key, theme, choice > 2),
                _ => {}
            }
        }
    }

    /// Returns a key with a kept value that differs from that of the server.
    fn stale(&self, truth: &HashMap<WireKey, WireReply>) -> Option<WireKey> {
        self.kept
            .iter()
            .find(|(key, kept)| truth.get(key).is_some_and(|value| value != *kept))
            .map(|(key, _)| *key)
    }
}

/// The clients of a server.
pub struct TrackingRounds {
    readers: Vec<CachingReader>,
    writers: Vec<WireClient>,
    keeper: WireClient,
    pub rounds: u64,
}

impl TrackingRounds {
    pub fn new(server: &TestServer) -> Self {
        let epoch = Instant::now();
        Self {
            readers: MODES.iter().map(|mode| CachingReader::new(server, *mode, epoch)).collect(),
            writers: (0..WRITERS).map(|_| WireClient::new(server, epoch)).collect(),
            keeper: WireClient::new(server, epoch),
            rounds: 0,
        }
    }

    /// Runs a round. Errors if a client keeps an old value, with all that has happened to the key.
    pub fn run(&mut self, random: &mut TestRandom) -> Result<(), String> {
        self.rounds += 1;
        // Expired keys are removed half a second later, so these rounds are long.
        let theme = match random.below(12) {
            0 | 1 => WireTheme::Expiry,
            2..=6 => WireTheme::Lists,
            _ => WireTheme::Texts,
        };
        let keys = WorkloadGenerator::keys_of(theme);
        for database in 0..DATABASES {
            self.keeper.begin(database);
            self.keeper.ask("FLUSHDB");
        }
        random.shuffle(&mut self.readers);
        let count = 2 + random.below(3);
        self.work(theme, keys, random, count);
        let truth = self.truth(theme, keys);
        let end = Instant::now() + PATIENCE;
        loop {
            self.readers.iter_mut().for_each(CachingReader::listen);
            let found = self.readers.iter().find_map(|reader| reader.stale(&truth).map(|key| (reader, key)));
            let Some((reader, key)) = found else { return Ok(()) };
            if Instant::now() > end {
                return Err(self.describe(reader, key, &truth[&key]));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn work(&mut self, theme: WireTheme, keys: &'static [WireKey], random: &mut TestRandom, readers: usize) {
        let (elements, start) = (AtomicU32::new(0), Barrier::new(readers + WRITERS));
        let (elements, start) = (&elements, &start);
        self.readers.iter_mut().for_each(|reader| {
            reader.listen();
            reader.kept.clear();
            reader.events.clear();
        });
        std::thread::scope(|scope| {
            for reader in &mut self.readers[..readers] {
                let mut random = TestRandom::new(random.next());
                scope.spawn(move || {
                    start.wait();
                    reader.work(theme, keys, &mut random, elements);
                });
            }
            for writer in &mut self.writers {
                // Database 0 is that of the readers.
                writer.begin(random.below(4) / 3);
                let mut generator = WorkloadGenerator::new(random.next(), theme, elements).without_swaps();
                scope.spawn(move || {
                    start.wait();
                    for _ in 0..PIPELINES {
                        writer.run(generator.pipeline());
                    }
                });
            }
        });
    }

    /// Returns the values of the server, once all keys that expire have done so.
    fn truth(&mut self, theme: WireTheme, keys: &[WireKey]) -> HashMap<WireKey, WireReply> {
        if theme == WireTheme::Expiry {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.keeper.begin(0);
        keys.iter().map(|key| (*key, self.keeper.answer(&read_of(*key, theme)))).collect()
    }

    fn describe(&self, reader: &CachingReader, key: WireKey, truth: &WireReply) -> String {
        let own = reader.events.iter().filter(|(_, of, _)| *of == key);
        let mut lines: Vec<(u64, String)> =
            own.map(|(at, _, what)| (*at, format!("reader   {what}"))).collect();
        for other in self.readers.iter().filter(|other| other.mode != reader.mode) {
            let events = other.events.iter().filter(|(_, of, what)| *of == key && !what.starts_with(TOLD));
            lines.extend(
                events.map(|(at, _, what)| (*at, format!("other reader, {:?}   {what}", other.mode.words))),
            );
        }
        for (writer, calls) in self.writers.iter().map(|writer| &writer.calls).enumerate() {
            for call in calls.iter().filter(|call| call.request.keys().contains(&key)) {
                let reply = call.reply.as_ref().map_or(String::new(), ToString::to_string);
                lines.push((
                    call.ended,
                    format!("writer {writer} db {}   {}  ->  {reply}", call.database, call.request),
                ));
            }
        }
        lines.sort();
        let start = lines.first().map_or(0, |(at, _)| *at);
        let lines: Vec<String> =
            lines.iter().map(|(at, what)| format!("{:>7}  {what}", (at - start) / 1000)).collect();
        let lines = lines.join("\n");
        format!(
            "a client with CLIENT TRACKING ON{} keeps {} of {key}, which is {truth}\n{lines}",
            reader.mode.words, reader.kept[&key]
        )
    }
}
