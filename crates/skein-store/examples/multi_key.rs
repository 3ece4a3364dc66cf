//! Compares stripes with gates for writes to several keys: CPU time per write, and the effect on
//! concurrent single-key writes.
//!
//! `cargo run --release -p skein-store --example multi_key`
//!
//! *Stripes* is the method of the store. *Gates* is the other known method: every worker has a
//! gate, which its single-key writes take, and a multi-key write takes all gates. Here gates are
//! modelled by locks around a sequence of single-key puts, with the gates of 2 and of 64 workers.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use skein_index::memory::CachePadded;
use skein_store::{Durability, Session, Store, StoreOptions};

const KEYS: u64 = 200_000;
const PUTS: u64 = 400_000;
const ROUNDS: usize = 5;
/// How long single puts are counted.
const WINDOW: Duration = Duration::from_millis(300);
/// The number of keys of a concurrent write.
const BESIDE: u64 = 16;

type Gates = [CachePadded<Mutex<()>>];

/// Distributes numbers over the keys.
fn key(number: u64) -> [u8; 8] {
    (number % KEYS).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// Returns the CPU time of the calling thread, in nanoseconds.
fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Runs writes of `count` keys each on one thread. Returns CPU nanoseconds per write.
fn writes(session: &mut Session, gates: &Gates, count: u64, seed: u64, n: u64) -> skein_store::Result<u64> {
    let start = cpu_ns();
    for write in 0..n {
        write_once(session, gates, count, seed + write * count)?;
    }
    Ok((cpu_ns() - start) / n)
}

/// Runs one write of `count` keys, with stripes if there are no gates.
fn write_once(session: &mut Session, gates: &Gates, count: u64, first: u64) -> skein_store::Result<()> {
    let keys: Vec<[u8; 8]> = (0..count).map(|k| key((first + k).wrapping_mul(2_654_435_761))).collect();
    let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (&key[..], &b"12345678"[..])).collect();
    if gates.is_empty() {
        session.put_all(&pairs)?;
    } else {
        let _held: Vec<MutexGuard<'_, ()>> = gates.iter().map(hold).collect();
        session.write(|writer| writer.put_many(&pairs))?.0?;
    }
    Ok(())
}

fn hold(gate: &CachePadded<Mutex<()>>) -> MutexGuard<'_, ()> {
    gate.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns thousands of single puts per second by one worker, which uses the first gate, and of
/// multi-key writes by another worker, if `beside`.
fn single_puts(store: &Store, gates: &Gates, beside: bool) -> skein_store::Result<[u64; 2]> {
    let stop = AtomicBool::new(!beside);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| -> skein_store::Result<u64> {
            let mut session = store.session();
            let mut write = 0;
            while !stop.load(Ordering::Relaxed) {
                write_once(&mut session, gates, BESIDE, write * BESIDE)?;
                write += 1;
            }
            Ok(write)
        });
        let mut session = store.session();
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < WINDOW {
            for _ in 0..64 {
                let _own = gates.first().map(hold);
                session.write(|writer| writer.put(&key(done * 31), b"12345678").map(drop))?.0?;
                done += 1;
            }
        }
        let took = start.elapsed().as_micros() as u64;
        stop.store(true, Ordering::Relaxed);
        let several = other.join().expect("no thread panics")?;
        Ok([done, several].map(|count| count * 1_000 / took))
    })
}

fn gates(count: usize) -> Vec<CachePadded<Mutex<()>>> {
    (0..count).map(|_| CachePadded::default()).collect()
}

/// Returns the median of several rounds.
fn median(mut round: impl FnMut() -> skein_store::Result<u64>) -> skein_store::Result<u64> {
    let mut all = (0..ROUNDS).map(|_| round()).collect::<skein_store::Result<Vec<u64>>>()?;
    all.sort_unstable();
    Ok(all[ROUNDS / 2])
}

fn measure(store: &Store, gates: &Gates, threads: u64, count: u64) -> skein_store::Result<u64> {
    let n = PUTS / count / threads;
    median(|| {
        let times: skein_store::Result<Vec<u64>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads)
                .map(|thread| {
                    let mut session = store.session();
                    scope.spawn(move || writes(&mut session, gates, count, thread * 7919, n))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
        });
        Ok(times?.iter().sum::<u64>() / threads)
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let options = StoreOptions { durability: Durability::None, ..StoreOptions::default() };
    let store = Store::open(folder.path(), options)?;
    let schemes = [gates(0), gates(2), gates(64)];
    println!("CPU ns per write, median of {ROUNDS} rounds\n\n keys  threads  stripes  2 gates  64 gates");
    for count in [4, 16, 64] {
        for threads in [1, 2] {
            let [stripes, two, many] =
                [0, 1, 2].map(|scheme| measure(&store, &schemes[scheme], threads, count));
            println!("{count:5}  {threads:7}  {:7}  {:7}  {:8}", stripes?, two?, many?);
        }
    }
    println!(
        "\nthousands per second, one thread each\n\n                              stripes  2 gates  64 gates"
    );
    for (beside, place, name) in [
        (false, 0, "single puts alone"),
        (true, 0, "single puts beside ..."),
        (true, 1, "... writes of 16 keys"),
    ] {
        let rate = |scheme: usize| median(|| Ok(single_puts(&store, &schemes[scheme], beside)?[place]));
        let [stripes, two, many] = [0, 1, 2].map(rate);
        println!("{name:<30}{:7}  {:7}  {:8}", stripes?, two?, many?);
    }
    Ok(())
}
