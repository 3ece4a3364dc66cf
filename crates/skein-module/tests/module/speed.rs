//! Measures the costs and the gains of the module, as ratios against the same server without it.
//!
//! ```sh
//! SKEIN_SPEED_KEYS=10000000 cargo test --release --test module speed -- --ignored --nocapture
//! ```
//!
//! - **writes**: SET of new names in random order, two servers in turn;
//! - **ranges**: `SK.RANGE [x + NOVALUES LIMIT 100` and `ZRANGEBYLEX set [x + LIMIT 0 100` in turn,
//!   in one server;
//! - **memory**: the index beside the sorted set of the same names;
//! - **fill**: `MODULE LOAD` into a server with the keys, and the longest wait of another client
//!   meanwhile.
//!
//! The client costs less than the server: requests are built before the clock starts, and eight
//! connections keep the server busy. CPU time is the server's own, from `/proc`.
//! `SKEIN_SPEED_NAMES` names a file of names, one a line, in place of names of 16 bytes.

#![expect(clippy::cast_precision_loss, reason = "figures of four digits")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::servers::{ModuleServer, programs, release_library};

/// The connections that are busy at once, and the requests in flight on each.
const CONNECTIONS: usize = 8;
const PIPELINE: usize = 16;
/// The requests in a round of ranges, and the names in a range.
const RANGES: usize = 16_000;
const NAMES: usize = 100;
const ROUNDS: usize = 10;

/// Returns the names: 16 bytes each in random order, or those of the file.
fn names() -> Vec<Vec<u8>> {
    let count = std::env::var("SKEIN_SPEED_KEYS").map_or(1_000_000, |keys| keys.parse().expect("a number"));
    if let Some(file) = std::env::var_os("SKEIN_SPEED_NAMES") {
        let lines = BufReader::new(fs::File::open(file).expect("a file of names")).split(b'\n');
        let mut names: Vec<Vec<u8>> = lines.map(|line| line.expect("a line")).take(count).collect();
        names.sort_by_key(|name| name.iter().fold(7, |hash, byte| mixed(hash ^ u64::from(*byte))));
        return names;
    }
    (0..count as u64).map(|number| format!("key:{:012x}", mixed(number) >> 16).into_bytes()).collect()
}

/// Returns a number that looks random, a different one for each input (the finaliser of
/// `SplitMix64`).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// Connections with a pipeline each.
struct PipelineLoad(Vec<LoadPipeline>);

struct LoadPipeline {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

impl PipelineLoad {
    fn on(server: &ModuleServer) -> Self {
        let lane = |_| {
            let stream = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
            stream.set_nodelay(true).expect("an option of the system");
            LoadPipeline { stream, buffer: vec![0; 1 << 16], filled: 0 }
        };
        Self((0..CONNECTIONS).map(lane).collect())
    }

    /// Sends all requests, [`PIPELINE`] at a time on each connection. Returns the elapsed time.
    fn run(&mut self, requests: &[Vec<u8>]) -> Duration {
        let pipelines: Vec<_> = requests.chunks(PIPELINE).map(|some| (some.concat(), some.len())).collect();
        let begin = Instant::now();
        let mut waiting = [0; CONNECTIONS];
        for (number, (bytes, count)) in pipelines.iter().enumerate() {
            let lane = number % CONNECTIONS;
            self.0[lane].replies(waiting[lane]);
            self.0[lane].stream.write_all(bytes).expect("a server that reads");
            waiting[lane] = *count;
        }
        for (lane, count) in self.0.iter_mut().zip(waiting) {
            lane.replies(count);
        }
        begin.elapsed()
    }
}

impl LoadPipeline {
    /// Reads so many replies: lines, and arrays of bulk strings.
    fn replies(&mut self, count: usize) {
        // The remaining elements, and the position of the next one.
        let (mut elements, mut place) = (count, 0);
        while elements > 0 {
            let Some(end) = self.buffer[place..self.filled].iter().position(|byte| *byte == b'\n') else {
                self.buffer.copy_within(place..self.filled, 0);
                self.filled -= place;
                place = 0;
                let read = self.stream.read(&mut self.buffer[self.filled..]).expect("a server that answers");
                assert!(read > 0, "the server is gone");
                self.filled += read;
                continue;
            };
            let head = &self.buffer[place..place + end - 1];
            let number = || head[1..].iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
            let after = match head[0] {
                b'*' => {
                    elements += number();
                    place + end + 1
                }
                b'$' => place + end + 1 + number() + 2,
                b'+' | b':' => place + end + 1,
                _ => panic!("{}", String::from_utf8_lossy(head)),
            };
            if after > self.filled {
                // The bulk string has not arrived in full yet.
                self.buffer.copy_within(place..self.filled, 0);
                self.filled -= place;
                place = 0;
                let read = self.stream.read(&mut self.buffer[self.filled..]).expect("a server that answers");
                assert!(read > 0, "the server is gone");
                self.filled += read;
                continue;
            }
            (place, elements) = (after, elements - 1);
        }
        self.buffer.copy_within(place..self.filled, 0);
        self.filled -= place;
    }
}

/// Returns the microseconds of CPU time that a server has used.
fn cpu(server: &ModuleServer) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{}/schedstat", server.id())).expect("a server that runs");
    stat.split(' ').next().expect("a field").parse::<f64>().expect("nanoseconds") / 1e3
}

/// Cost of a run per request: microseconds of time, and of the server's CPU time.
#[derive(Clone, Copy)]
struct RequestCost {
    time: f64,
    cpu: f64,
}

fn measured(server: &ModuleServer, load: &mut PipelineLoad, requests: &[Vec<u8>]) -> RequestCost {
    let before = cpu(server);
    let time = load.run(requests);
    let count = requests.len() as f64;
    RequestCost { time: time.as_secs_f64() * 1e6 / count, cpu: (cpu(server) - before) / count }
}

/// Returns the median, the least and the greatest value.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

fn show(label: &str, rounds: &[(RequestCost, RequestCost)], (one, other): (&str, &str)) {
    let of = |value: fn(&(RequestCost, RequestCost)) -> f64| spread(rounds.iter().map(value).collect());
    let (time, least, most) = of(|(one, other)| other.time / one.time);
    let (cpu, cpu_least, cpu_most) = of(|(one, other)| other.cpu / one.cpu);
    println!(
        "  {label}: requests/s of {one} over {other} {time:.2} ({least:.2} to {most:.2}); CPU time {cpu:.2} ({cpu_least:.2} to {cpu_most:.2})"
    );
    println!(
        "    {one}: {:.2} us, {:.2} of CPU time; {other}: {:.2} us, {:.2} of CPU time",
        of(|(one, _)| one.time).0,
        of(|(one, _)| one.cpu).0,
        of(|(_, other)| other.time).0,
        of(|(_, other)| other.cpu).0,
    );
}

/// Returns a number of `INFO`, or of a map as `SK.MEMORY` returns it.
fn field(reply: &str, name: &str) -> f64 {
    let (_, after) = reply.split_once(&format!("{name}:")).unwrap_or_else(|| panic!("no {name} in {reply}"));
    after.split('|').next().expect("a value").parse().expect("a number")
}

fn used(server: &ModuleServer) -> f64 {
    field(&server.connect().line("INFO memory"), "|used_memory")
}

fn writes(program: &Path, names: &[Vec<u8>]) -> ModuleServer {
    let module = release_library().to_str().expect("a path in UTF-8");
    let (bare, with) = (
        ModuleServer::start_bare(program, &[]),
        ModuleServer::start_bare(program, &["--loadmodule", module]),
    );
    let (mut on_bare, mut on_with) = (PipelineLoad::on(&bare), PipelineLoad::on(&with));
    let mut rounds = Vec::new();
    for (round, names) in names.chunks(names.len().div_ceil(ROUNDS)).enumerate() {
        let requests: Vec<_> = names.iter().map(|name| request(&[b"SET", name, b"v"])).collect();
        let mut costs = [RequestCost { time: 0.0, cpu: 0.0 }; 2];
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                costs[0] = measured(&bare, &mut on_bare, &requests);
            } else {
                costs[1] = measured(&with, &mut on_with, &requests);
            }
        }
        rounds.push((costs[1], costs[0]));
    }
    show("writes of new names", &rounds, ("with the module", "without"));
    let last = &rounds[rounds.len() / 2..];
    show("the same, second half", last, ("with the module", "without"));
    println!(
        "  used_memory per key: {:.1} with the module, {:.1} without",
        used(&with) / names.len() as f64,
        used(&bare) / names.len() as f64
    );
    with
}

fn ranges(server: &ModuleServer, names: &[Vec<u8>]) {
    let mut client = server.connect();
    let before = used(server);
    for some in names.chunks(500) {
        let words = some.iter().flat_map(|name| [&b"0"[..], &name[..]]);
        client.write(&request(&[&b"ZADD"[..], b"set"].into_iter().chain(words).collect::<Vec<_>>()));
        client.read();
    }
    let set_used = used(server) - before;
    let set: f64 =
        client.line("MEMORY USAGE set SAMPLES 1000").trim_matches([':', '|']).parse().expect("bytes");
    let memory = client.line("SK.MEMORY");
    let words: Vec<_> = memory.split('|').collect();
    let of = |name: &str| {
        let place = words.iter().position(|word| *word == name).expect("a field");
        words[place + 1][1..].parse::<f64>().expect("a number")
    };
    let count = names.len() as f64;
    println!(
        "  memory per key: index {:.1} reserved ({:.1} live: nodes {:.1}, keys {:.1}); sorted set {:.1} by MEMORY USAGE, {:.1} by used_memory; the index is {:.3} and {:.3} of it",
        of("reserved_bytes") / count,
        of("live_bytes") / count,
        of("node_bytes") / count,
        of("key_bytes") / count,
        set / count,
        set_used / count,
        of("reserved_bytes") / set,
        of("reserved_bytes") / set_used,
    );
    let mut load = PipelineLoad::on(server);
    let limit = NAMES.to_string();
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let bounds: Vec<Vec<u8>> = (0..RANGES)
            .map(|number| &names[mixed((round * RANGES + number) as u64) as usize % names.len()])
            .map(|name| [b"[", &name[..]].concat())
            .collect();
        let ours =
            |bound: &Vec<u8>| request(&[b"SK.RANGE", bound, b"+", b"NOVALUES", b"LIMIT", limit.as_bytes()]);
        let theirs = |bound: &Vec<u8>| {
            request(&[b"ZRANGEBYLEX", b"set", bound, b"+", b"LIMIT", b"0", limit.as_bytes()])
        };
        let (ours, theirs): (Vec<_>, Vec<_>) =
            (bounds.iter().map(ours).collect(), bounds.iter().map(theirs).collect());
        let one = measured(server, &mut load, &ours);
        rounds.push((one, measured(server, &mut load, &theirs)));
    }
    show("ranges of 100 names", &rounds, ("SK.RANGE", "ZRANGEBYLEX"));
}

fn fill(server: &ModuleServer, names: &[Vec<u8>]) {
    let module = release_library().to_str().expect("a path in UTF-8");
    let mut client = server.connect();
    client.line("DEL set");
    let mut rates = Vec::new();
    let (mut longest, mut waits) = (Duration::ZERO, Vec::new());
    for _ in 0..5 {
        assert_eq!(client.line("MODULE UNLOAD skein"), "+OK|");
        std::thread::sleep(Duration::from_millis(200));
        let before = cpu(server);
        assert_eq!(client.line(&format!("MODULE LOAD {module}")), "+OK|");
        loop {
            let begin = Instant::now();
            let reply = client.line("SK.COUNT + -");
            let wait = begin.elapsed();
            longest = longest.max(wait);
            waits.push(wait.as_secs_f64() * 1e3);
            if reply == ":0|" {
                break;
            }
            assert!(reply.starts_with("-LOADING"), "{reply}");
            std::thread::sleep(Duration::from_millis(1));
        }
        let micros = field(&client.line("INFO skein"), "skein_filled_usec");
        println!(
            "    {:.2} M keys/s, {:.3} us of CPU time per key",
            names.len() as f64 / micros,
            (cpu(server) - before) / names.len() as f64
        );
        rates.push(names.len() as f64 / micros);
    }
    let (rate, least, most) = spread(rates);
    let (wait, ..) = spread(waits);
    println!(
        "  fill: {rate:.2} M keys/s ({least:.2} to {most:.2}); another client's request waits {wait:.1} ms (median), {:.1} at most",
        longest.as_secs_f64() * 1e3
    );
    client.line("SK.COUNT - +");
}

#[test]
#[ignore = "it measures, for minutes"]
fn speed() {
    let names = names();
    for program in programs() {
        println!("{}, {} keys", program.display(), names.len());
        let server = writes(&program, &names);
        ranges(&server, &names);
        fill(&server, &names);
    }
}
