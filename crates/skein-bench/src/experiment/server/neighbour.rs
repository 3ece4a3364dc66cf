//! Small reads beside a noisy neighbour: another connection of the same worker that reads
//! everything, again and again.
//!
//! ```text
//!   client, many connections ── GET ──► one worker ◄── SK.RANGE - +, HGETALL, … ── the neighbour
//!   on its own core                                         on the client's core, lowest priority
//! ```
//!
//! The neighbour discards the replies. It has to run somewhere: it runs on the client's core at the
//! lowest priority, so that the client seldom waits for it. The remaining cost to the client is
//! part of the figures.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::expected_table::{ExpectedTable, ValueShape};
use super::server_under_test::{self, CLIENT_CORE, ServerSelection};
use super::{LoopNames, measure_with_p99, numbered};
use crate::experiment::findings::MeasureSpec;
use crate::experiment::setting::REQUESTS;
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::result::AxisPoint;
use crate::rival::server::OURS;
use crate::sys::pin_to;
use crate::workload::requests::{RequestOp, uniform_of};
use crate::{Error, Result};

/// The bytes of a value.
const VALUE_BYTES: usize = 64;

/// The greatest ratio of the p99 to the p99 alone.
const AIM: f64 = 3.0;

/// The neighbours: a name, our server's request, and the request of other servers.
const NEIGHBOURS: [(&str, &str, &str); 4] = [
    (NOBODY, "", ""),
    ("all keys", "SK.RANGE - +", "KEYS *"),
    ("a sorted set", "ZRANGE set 0 -1 WITHSCORES", "ZRANGE set 0 -1 WITHSCORES"),
    ("columns", "HGETALL hash", "HGETALL hash"),
];

const NOBODY: &str = "nobody";

/// The measures of the reads.
const GET: LoopNames = ["GET", "GET, CPU", "GET, p99"];

/// The members or columns per request that fills them.
const PUT_AT_ONCE: usize = 500;

/// A time limit longer than any reply of a neighbour takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([50_000, 200_000, 1_000_000, 10_000_000])
}

fn requests(plan: &BenchPlan) -> usize {
    plan.setting(&REQUESTS, plan.size.pick([50_000, 200_000, 500_000, 1_000_000]).min(20 * count(plan)))
}

/// The measure of the neighbour's complete answers.
const ANSWERS: MeasureSpec<'_> = MeasureSpec::more("answers to the neighbour", "1/s");

pub static NEIGHBOUR: Experiment = Experiment {
    name: "server-neighbour",
    title: "Small reads beside a client of the same worker that reads everything again and again",
    source: "this project's aims",
    claim: "the p99 of GET beside a neighbour that reads all keys, a whole sorted set or all \
            columns of a key is at most 3 times that without it",
    memory: |plan| {
        Ok(count(plan) as u64 * (32 + 2 * 3 * server_under_test::row_bytes(16, VALUE_BYTES as u64)))
    },
    steps: |plan| plan.rounds * NEIGHBOURS.len() + 1,
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let keys = numbered("key", count(&bench.plan));
    bench.set("keys, members, columns", keys.len());
    let wanted = ServerSelection::new(|can| can.values && can.many, "these keys");
    let table = ExpectedTable::new(&keys, ValueShape::Values(VALUE_BYTES));
    // The folder outlives the servers.
    let scratch = bench.scratch()?;
    let mut targets = server_under_test::start(bench, &scratch, &wanted, &table)?;
    for target in &targets {
        fill(target.address(), keys.len())?;
    }
    for round in 0..bench.plan.rounds {
        for neighbour in NEIGHBOURS {
            bench.step(&format!("round {}, beside {}", round + 1, neighbour.0));
            let seed = bench.plan.seed.wrapping_add(round as u64);
            let asked = uniform_of(RequestOp::Get, 1, keys.len(), requests(&bench.plan), seed);
            for target in &mut targets {
                let request = if target.name == OURS { neighbour.1 } else { neighbour.2 };
                let at = AxisPoint::name("neighbour", neighbour.0);
                let noisy = NoisyNeighbour::start(target.address(), request)?;
                let measured = measure_with_p99(bench, target, GET[0], &asked, 1, GET, &at);
                let answers = noisy.stop()?;
                measured?;
                if let Some(answers) = answers {
                    bench.add(ANSWERS, target.name, Some(&at), answers)?;
                }
            }
        }
    }
    Ok(())
}

/// Returns a request followed by a PING. The reply to the PING marks the end of the answer.
fn with_end(request: &str) -> Vec<u8> {
    format!("{request}\r\nPING\r\n").into_bytes()
}

const END: &[u8] = b"+PONG\r\n";

/// Reads to the end of an answer, in pieces of `buffer`; returns its first byte.
fn skip_answer(socket: &mut TcpStream, buffer: &mut [u8]) -> std::io::Result<u8> {
    let (mut first, mut tail) = (None, Vec::new());
    loop {
        let count = socket.read(buffer)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let piece = &buffer[..count];
        let first = *first.get_or_insert(piece[0]);
        tail.extend_from_slice(&piece[count.saturating_sub(END.len())..]);
        tail.drain(..tail.len().saturating_sub(END.len()));
        if tail == END {
            return Ok(first);
        }
    }
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let connect = || {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(socket)
    };
    connect().map_err(|error| failed(&error))
}

fn failed(error: &std::io::Error) -> Error {
    Error::Failed(format!("the neighbour's connection failed: {error}"))
}

/// Sends one request and discards the answer.
///
/// # Errors
/// If the answer is an error.
fn ask(socket: &mut TcpStream, request: &str, buffer: &mut [u8]) -> Result<()> {
    let first = socket.write_all(&with_end(request)).and_then(|()| skip_answer(socket, buffer));
    match first.map_err(|error| failed(&error))? {
        b'-' => {
            let shown: String = request.chars().take(40).collect();
            Err(Error::Failed(format!("a server rejected the neighbour's request '{shown}'")))
        }
        _ => Ok(()),
    }
}

/// Creates a sorted set and a hash, of `count` members and columns.
fn fill(address: SocketAddr, count: usize) -> Result<()> {
    let (mut socket, mut buffer) = (connect(address)?, vec![0; 1 << 10]);
    for first in (0..count).step_by(PUT_AT_ONCE) {
        let numbers = first..count.min(first + PUT_AT_ONCE);
        let members = numbers.clone().map(|n| format!("{n} member:{n:012}"));
        let columns = numbers.map(|n| format!("column:{n:012} {n:064}"));
        for (command, entries) in
            [("ZADD set", members.collect::<Vec<_>>()), ("HSET hash", columns.collect())]
        {
            ask(&mut socket, &format!("{command} {}", entries.join(" ")), &mut buffer)?;
        }
    }
    Ok(())
}

/// A neighbour that sends requests until it is stopped.
struct NoisyNeighbour {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<Result<f64>>>,
}

impl NoisyNeighbour {
    /// Starts the neighbour; without a request it does nothing.
    fn start(address: SocketAddr, request: &'static str) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        if request.is_empty() {
            return Ok(Self { stop, thread: None });
        }
        let (mut socket, told) = (connect(address)?, stop.clone());
        let asks = move || {
            pin_to(CLIENT_CORE).map_err(|error| failed(&error))?;
            // On Linux this applies to the calling thread only.
            rustix::process::nice(19).map_err(|error| failed(&error.into()))?;
            let (mut buffer, mut answers, begun) = (vec![0; 1 << 20], 0.0, std::time::Instant::now());
            while !told.load(Ordering::Relaxed) {
                ask(&mut socket, request, &mut buffer)?;
                answers += 1.0;
            }
            Ok(answers / begun.elapsed().as_secs_f64())
        };
        Ok(Self { stop, thread: Some(std::thread::spawn(asks)) })
    }

    /// Stops the neighbour; returns its answers per second.
    fn stop(mut self) -> Result<Option<f64>> {
        self.stop.store(true, Ordering::Relaxed);
        let done = self.thread.take().map(std::thread::JoinHandle::join).transpose();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).transpose()
    }
}

fn judge(findings: &Findings) -> Judgement {
    let p99 = |neighbour: &str| findings.median(GET[2], OURS, Some(neighbour));
    let beside = |(name, ..): (&str, &str, &str)| {
        let (alone, beside) = p99(NOBODY).zip(p99(name))?;
        Some((format!("beside {name}"), beside / alone))
    };
    let ratios: Vec<_> = NEIGHBOURS.into_iter().skip(1).filter_map(beside).collect();
    Judgement::at_most(AIM, "p99 of GET, beside a neighbour / alone", &ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn ours_is_judged_beside_itself() {
        let answer = |times: &[f64]| {
            let mut findings = Findings::default();
            for ((name, ..), times) in NEIGHBOURS.into_iter().zip(times) {
                findings.add(
                    MeasureSpec::less(GET[2], "us"),
                    OURS,
                    Some(&AxisPoint::name("neighbour", name)),
                    50.0 * times,
                );
            }
            judge(&findings).answer
        };
        assert_eq!(answer(&[1.0, 2.0, 2.9, 0.9]), Holds);
        assert_eq!(answer(&[1.0, 2.0, 3.1, 0.9]), DoesNotHold);
        assert_eq!(answer(&[1.0]), CannotBeTested);
    }

    #[test]
    fn the_end_of_an_answer_is_found_across_reads() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut near = connect(listener.local_addr().expect("an address")).expect("a connection");
        let (mut far, _) = listener.accept().expect("the same");
        far.write_all(b"*1\r\n+PON\r\n+PONG\r\n").expect("to send");
        for size in [1, 3, 64] {
            assert_eq!(skip_answer(&mut near, &mut vec![0; size]).expect("an answer"), b'*');
            far.write_all(b"*1\r\n$7\r\n+PONG\r\r\n+PONG\r\n").expect("to send");
        }
    }
}
