//! Writes to several keys: stripes against gates, in CPU time per write of the threads that do them.
//!
//! `cargo run --release -p skein-store --example multi_key`
//!
//! *Stripes* is what the store does. *Gates* stands for the other known way: every worker has a gate, which its
//! single-key writes take, and a multi-key write takes all of them; modelled by locks around a
//! scope of single-key puts, with the gates of 2 and of 64 workers.

use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};

use skein_index::memory::CachePadded;
use skein_store::{Durability, Session, Store, StoreOptions};

const KEYS: u64 = 200_000;
const PUTS: u64 = 400_000;
const ROUNDS: usize = 5;

type Gates = [CachePadded<Mutex<()>>];

/// Spreads numbers over the keys.
fn key(number: u64) -> [u8; 8] {
    (number % KEYS).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// CPU time that the calling thread has used, in nanoseconds.
fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// One thread's writes of `count` keys each; returns CPU nanoseconds per write.
fn writes(session: &mut Session, gates: &Gates, count: u64, seed: u64, n: u64) -> skein_store::Result<u64> {
    let start = cpu_ns();
    for write in 0..n {
        let keys: Vec<[u8; 8]> =
            (0..count).map(|k| key((seed + write * count + k).wrapping_mul(2_654_435_761))).collect();
        let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (&key[..], &b"12345678"[..])).collect();
        if gates.is_empty() {
            session.put_all(&pairs)?;
        } else {
            let _held: Vec<MutexGuard<'_, ()>> =
                gates.iter().map(|gate| gate.lock().unwrap_or_else(PoisonError::into_inner)).collect();
            session.write(|writer| writer.put_many(&pairs))?.0?;
        }
    }
    Ok((cpu_ns() - start) / n)
}

fn measure(store: &Store, gates: usize, threads: u64, count: u64) -> skein_store::Result<u64> {
    let gates: Vec<CachePadded<Mutex<()>>> = (0..gates).map(|_| CachePadded::default()).collect();
    let n = PUTS / count / threads;
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        let times: skein_store::Result<Vec<u64>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads)
                .map(|thread| {
                    let (mut session, gates) = (store.session(), &gates[..]);
                    scope.spawn(move || writes(&mut session, gates, count, thread * 7919, n))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
        });
        all.push(times?.iter().sum::<u64>() / threads);
    }
    all.sort_unstable();
    Ok(all[ROUNDS / 2])
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let options = StoreOptions { durability: Durability::None, ..StoreOptions::default() };
    let store = Store::open(folder.path(), options)?;
    println!("CPU ns per write, median of {ROUNDS} rounds\n\n keys  threads  stripes  2 gates  64 gates");
    for count in [4, 16, 64] {
        for threads in [1, 2] {
            let [stripes, two, many] = [0, 2, 64].map(|gates| measure(&store, gates, threads, count));
            println!("{count:5}  {threads:7}  {:7}  {:7}  {:8}", stripes?, two?, many?);
        }
    }
    Ok(())
}
