//! `skein-bench index`: inserts, lookups, scans and memory of ordered indexes.
//!
//! One round of one contender: an empty index is filled with all keys, then asked in several loops, then
//! dropped; contenders take turns. Loops with two threads stand beside the same loops in two processes,
//! because two cores of a shared machine rarely do twice the work of one.

mod loops;

use std::path::PathBuf;

use skein_index::{Inline, Masstree};

use crate::counting::weigh;
use crate::keyset::{KeySet, Keys};
use crate::report::Report;
use crate::rival::{Contender, LockedBTree, Ours};
use crate::sys::{Clock, in_two_processes, on_two_threads, pinned};
use loops::{dependent, fill, independent, many, scans};

/// Options of `skein-bench index`.
#[derive(clap::Args)]
pub struct Args {
    /// The key set: `rand-8`, or `file:PATH` for a file with a key on each line.
    #[arg(long, default_value = "rand-8")]
    keys: String,
    /// How many keys.
    #[arg(long, default_value_t = 1_000_000)]
    count: usize,
    /// How many lookups per loop.
    #[arg(long, default_value_t = 1_000_000)]
    queries: usize,
    /// How often the contenders take turns.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Contenders to measure, of those that this build has; all if none is named. The first listed is what
    /// ratios are taken of.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The clock of the loops on one thread; loops on two always take the time of day.
    #[arg(long, value_enum, default_value = "wall")]
    clock: Clock,
    /// Leave out the loops with two threads and two processes.
    #[arg(long)]
    one_thread: bool,
    /// Leave out the memory pass.
    #[arg(long)]
    no_memory: bool,
    /// Append results to this file, as JSON lines.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What the steps of a run share.
struct Run<'a> {
    set: &'a KeySet,
    two: bool,
    clock: Clock,
    report: Report,
}

/// A contender, known by name, with its type erased.
struct Entry {
    name: &'static str,
    longest: usize,
    round: fn(&mut Run<'_>) -> Result<(), String>,
    memory: fn(&mut Run<'_>),
}

fn entry<C: Contender>() -> Entry {
    Entry { name: C::NAME, longest: C::LONGEST, round: round::<C>, memory: memory::<C> }
}

/// Every contender of this build that takes the key set.
fn contenders(#[cfg_attr(not(feature = "rivals"), allow(unused_variables))] words: bool) -> Vec<Entry> {
    vec![
        entry::<Ours<Masstree<Inline<u64>>>>(),
        #[cfg(feature = "rivals")]
        entry::<crate::rival::MasstreeCrate>(),
        #[cfg(feature = "rivals")]
        if words { entry::<crate::rival::SkipListWords>() } else { entry::<crate::rival::SkipListBytes>() },
        entry::<LockedBTree>(),
    ]
}

/// Runs the experiment and prints its report.
pub fn run(args: &Args) -> Result<(), String> {
    let mut entries = contenders(args.keys == "rand-8");
    if let Some(unknown) =
        args.only.iter().find(|name| entries.iter().all(|entry| entry.name != name.as_str()))
    {
        let known: Vec<_> = entries.iter().map(|entry| entry.name).collect();
        return Err(format!(
            "there is no contender '{unknown}' in this build; there are: {}",
            known.join(", ")
        ));
    }
    if !args.only.is_empty() {
        entries.retain(|entry| args.only.iter().any(|name| name == entry.name));
    }
    let longest = entries.iter().map(|entry| entry.longest).min().unwrap_or(usize::MAX);
    eprintln!("making the key set {} ...", args.keys);
    let set = KeySet::make(&args.keys, args.count, args.queries, longest)?;
    let setting = format!(
        "{} keys of {}, {} queries, {} rounds, {:?} clock",
        set.keys.len(),
        set.name,
        set.queries.len(),
        args.rounds,
        args.clock
    );
    let mut run =
        Run { set: &set, two: !args.one_thread, clock: args.clock, report: Report::new("index", setting) };
    if set.too_long > 0 {
        run.report.note(format!(
            "{} keys longer than {longest} bytes were left out, because a contender takes none",
            set.too_long
        ));
    }
    if !args.no_memory {
        for entry in &entries {
            eprintln!("memory: {}", entry.name);
            (entry.memory)(&mut run);
        }
    }
    for round in 1..=args.rounds {
        for entry in &entries {
            eprintln!("round {round}: {}", entry.name);
            (entry.round)(&mut run)?;
        }
    }
    run.say_batch_ratio();
    println!("{}", run.report.table());
    match &args.json {
        Some(path) => run.report.append_json(path),
        None => Ok(()),
    }
}

/// Live bytes per key, keys and values included.
fn memory<C: Contender>(run: &mut Run<'_>) {
    let keys = &run.set.keys;
    let (index, allocated) = weigh(|| {
        let index = C::new();
        fill(&index, keys, 0, 1, Clock::Wall);
        index
    });
    #[allow(clippy::cast_precision_loss)] // Far below 2^52.
    let bytes = (allocated + index.own_bytes().cast_signed()) as f64 / keys.len() as f64;
    run.report.add(C::NAME, "memory", "B/key", bytes);
}

#[allow(clippy::needless_pass_by_value)] // the shape that `map_err` wants
fn failed(error: std::io::Error) -> String {
    format!("cannot set up a loop: {error}")
}

fn round<C: Contender>(run: &mut Run<'_>) -> Result<(), String> {
    let (set, clock, unit) = (run.set, run.clock, "Mops/s");
    let index = C::new();
    let rate = pinned(0, || fill(&index, &set.keys, 0, 1, clock)).map_err(failed)?;
    run.report.add(C::NAME, "insert", unit, rate);
    let outcome = pinned(0, || independent(&index, set, 0, clock)).map_err(failed)?;
    run.note_wrong(C::NAME, "lookup", outcome.wrong);
    run.report.add(C::NAME, "lookup", unit, outcome.rate);
    let outcome = pinned(0, || dependent(&index, set, clock)).map_err(failed)?;
    run.note_wrong(C::NAME, "lookup, dependent", outcome.wrong);
    run.report.add(C::NAME, "lookup, dependent", unit, outcome.rate);
    if C::BATCHES {
        let outcome = pinned(0, || many(&index, set, clock)).map_err(failed)?;
        run.note_wrong(C::NAME, "get_many(32)", outcome.wrong);
        run.report.add(C::NAME, "get_many(32)", unit, outcome.rate);
    }
    let outcome = pinned(0, || scans(&index, set, clock)).map_err(failed)?;
    run.note_wrong(C::NAME, "scan of 100", outcome.wrong);
    run.report.add(C::NAME, "scan of 100", "Mkeys/s", outcome.rate);
    if run.two {
        let apart = in_two_processes(|n| independent(&index, set, n, Clock::Wall).rate).map_err(failed)?;
        let together = on_two_threads(|n| independent(&index, set, n, Clock::Wall).rate).map_err(failed)?;
        run.add_two(C::NAME, "lookup", together, apart);
        drop(index);
        run.two_inserts::<C>(&set.keys)?;
    }
    Ok(())
}

impl Run<'_> {
    fn note_wrong(&mut self, contender: &str, measure: &str, wrong: usize) {
        if wrong > 0 {
            self.report.note(format!("WRONG: {contender} gave {wrong} wrong answers in '{measure}'"));
        }
    }

    /// Says what a batch gains over asking one by one.
    fn say_batch_ratio(&mut self) {
        let contenders: Vec<_> = self.report.cells.iter().map(|cell| cell.contender).collect();
        for name in contenders {
            let batch = self.report.median(name, "get_many(32)");
            if let (Some(batch), Some(single)) = (batch, self.report.median(name, "lookup, dependent")) {
                self.report.note(format!(
                    "{name}: get_many(32) is {:.2} times its dependent lookup",
                    batch / single
                ));
            }
        }
    }

    /// Two threads fill one index with half of the keys each. Two processes fill one index each with all of the
    /// keys, so that the trees grow through the same sizes: a smaller tree would take its inserts faster.
    fn two_inserts<C: Contender>(&mut self, keys: &Keys) -> Result<(), String> {
        let apart = in_two_processes(|_| fill(&C::new(), keys, 0, 1, Clock::Wall)).map_err(failed)?;
        let shared = C::new();
        let together = on_two_threads(|n| fill(&shared, keys, n, 2, Clock::Wall)).map_err(failed)?;
        self.add_two(C::NAME, "insert", together, apart);
        Ok(())
    }

    fn add_two(&mut self, contender: &'static str, measure: &str, together: [f64; 2], apart: [f64; 2]) {
        let (together, apart) = (together[0] + together[1], apart[0] + apart[1]);
        self.report.add(contender, &format!("{measure}, 2 threads"), "Mops/s", together);
        self.report.add(contender, &format!("{measure}, 2 processes"), "Mops/s", apart);
        self.report.add(contender, &format!("{measure}, threads/proc."), "", together / apart);
    }
}
