//! Counts the instructions of every operation of every index of ours, exactly: `skein bench guard`.
//!
//! ```text
//!   guard OLD NEW ──► for each program, index and key set: valgrind --tool=callgrind PROGRAM
//!                                                                      │  bench guard-loops …
//!      dumps:  … │ loop 1 │ prepare │ loop 2 │ …  ◄── a dump at each call of `mark`
//! ```
//!
//! The child fills an index, then runs the loops, and calls `mark` before and after each. So every
//! other dump holds the instructions of one loop alone. Counts depend on neither load nor machine,
//! except that a processor may choose other functions of the C library.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::key_lengths::takes_keys;
use super::loops::{GET, GET_MANY, GridLoop, LOWER_BOUND, changes, inserts, ranges, reads};
use super::scratch::Scratch;
use crate::keyset::{self, KeySet};
use crate::rival::index::{self, DynIndex, IndexRole, RegisteredIndex};
use crate::sys::{LoopClock, on_path};
use crate::workload::run::{LoopStyle, RunMode};
use crate::workload::{OpKind, RankedKeySet, lookup, mix};
use crate::{Error, Result};

/// The loops, in the order in which they run. An index is filled anew before a loop if the loop
/// before has changed it.
const LOOPS: [GridLoop; 9] = [
    GET,
    reads("get of an absent key", LoopStyle::Independent, |asked, count, seed, share| {
        lookup::lookups(asked, count, 0.0, seed, share)
    }),
    GET_MANY,
    LOWER_BOUND,
    ranges::<100, 10, false>("scan of 100"),
    ranges::<100, 10, true>("scan of 100, back"),
    changes("update", false, |asked, count, seed, share| {
        let mut script = lookup::lookups(asked, count, 1.0, seed, share);
        script.ops.iter_mut().for_each(|op| op.kind = OpKind::Put);
        script
    }),
    inserts::<100>("insert"),
    changes("remove", true, |asked, _, seed, share| mix::removes(asked, 0.5, seed, share)),
];

/// The key sets: integers, and strings with long common prefixes.
pub const KEY_SETS: [&str; 2] = ["rand-8", "url"];

/// The command line that runs [`run_loops`] in a child.
const CHILD: [&str; 2] = ["bench", "guard-loops"];

/// The name of `mark` in the program.
const MARK: &str = "skein_bench_guard_mark";

/// The size of each index, and the number of operations of each loop.
#[derive(Debug, Clone, Copy)]
pub struct GuardSize {
    /// Keys in the index before a loop.
    pub keys: usize,
    /// Operations of a loop; a tenth for scans.
    pub operations: usize,
}

/// The instructions of one operation. Rounds differ where an index draws at random: heights of a
/// skip list, seeds of a hash.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedLoop {
    /// The index, the key set and the loop.
    pub place: String,
    /// Instructions for each operation, in the round with the fewest.
    pub least: f64,
    /// As `least`, in the round with the most.
    pub most: f64,
}

/// Separates what callgrind counts: it writes a dump at each call.
#[unsafe(export_name = "skein_bench_guard_mark")]
#[inline(never)]
extern "C" fn mark(loops: usize) {
    std::hint::black_box(loops);
}

/// Returns the names of our indexes.
pub fn indexes() -> Vec<&'static str> {
    let mut names: Vec<_> = index::all()
        .into_iter()
        .filter(|entry| entry.role == IndexRole::Ours)
        .map(|entry| entry.name)
        .collect();
    names.dedup();
    names
}

/// Runs in the child: the loops of one index on one key set. Returns a line for each loop: its
/// number of operations, and its name. Returns nothing if no index of this name takes the keys.
///
/// # Errors
/// If there is no such key set, or if the index gives a wrong answer.
pub fn run_loops(name: &str, keys: &str, size: GuardSize) -> Result<String> {
    let set = keyset::make(keys, size.keys, size.operations, 1)?;
    let takes = |entry: &&RegisteredIndex| entry.name == name && takes_keys(entry, &set).is_ok();
    let mut entries: Vec<_> = index::all().into_iter().filter(takes).collect();
    index::keep_most_specialised(&mut entries);
    let Some(&entry) = entries.first() else { return Ok(String::new()) };
    let asked = RankedKeySet::new(&set);
    let mut index = filled(entry, &set);
    let (mut lines, mut spoilt) = (String::new(), false);
    for (each, number) in LOOPS.iter().zip(0..) {
        if std::mem::replace(&mut spoilt, each.changes) {
            index = filled(entry, &set);
        }
        let prepared = each.prepare(&asked, size.operations, number);
        let mode = RunMode { clock: LoopClock::Wall, style: each.style };
        let script = &prepared.scripts[0];
        mark(script.len());
        let outcome = index.run(script, mode);
        mark(script.len());
        Error::check_answers(name, each.measure, outcome.wrong)?;
        let _ = writeln!(lines, "{} {}", script.len(), each.measure);
    }
    Ok(lines)
}

fn filled(entry: &RegisteredIndex, set: &KeySet) -> Box<dyn DynIndex> {
    let index = (entry.make)(set.keys.len());
    index.fill(&set.keys, 0, 1, LoopClock::Wall);
    index
}

/// Counts the loops of one index on one key set in `program`, which is this program or another
/// build of it, in this many rounds. Returns nothing if the index rejects the keys.
///
/// # Errors
/// If callgrind is not installed, or if the program fails, for example because it is older than
/// this command.
pub fn count(program: &Path, what: (&str, &str), size: GuardSize, rounds: u32) -> Result<Vec<CountedLoop>> {
    let mut counted: Vec<CountedLoop> = Vec::new();
    for _ in 0..rounds {
        let round = count_once(program, what, size)?;
        if counted.is_empty() {
            counted = round;
            continue;
        }
        for (all, one) in counted.iter_mut().zip(round) {
            (all.least, all.most) = (all.least.min(one.least), all.most.max(one.most));
        }
    }
    Ok(counted)
}

fn count_once(program: &Path, (index, keys): (&str, &str), size: GuardSize) -> Result<Vec<CountedLoop>> {
    let failed = |what: String| Error::Failed(format!("{}: {what}", program.display()));
    let valgrind = on_path("valgrind").ok_or_else(|| {
        Error::Input("there is no 'valgrind' on the PATH; install it, since callgrind counts".to_owned())
    })?;
    let folder = Scratch::new(&std::env::temp_dir())?;
    let dumps = folder.path().join("dump");
    let output = Command::new(valgrind)
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", dumps.display()))
        .arg(format!("--dump-before={MARK}"))
        .arg(program)
        .args(CHILD)
        .args([index, keys, &size.keys.to_string(), &size.operations.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("it ended ({}): {}", output.status, said.trim())));
    }
    let loops = String::from_utf8_lossy(&output.stdout);
    let mut counted = Vec::new();
    for (line, number) in loops.lines().zip(1..) {
        let (operations, measure) =
            line.split_once(' ').ok_or_else(|| failed(format!("it said '{line}'")))?;
        let operations: f64 = operations.parse().map_err(|_| failed(format!("it said '{line}'")))?;
        // Dump 1 ends where the first loop begins.
        let total = total_of(&numbered(&dumps, 2 * number))?;
        let place = format!("{index}, {keys}, {measure}");
        let each = total / operations;
        counted.push(CountedLoop { place, least: each, most: each });
    }
    Ok(counted)
}

/// Returns the file of a dump, which callgrind numbers from 1.
fn numbered(dumps: &Path, number: usize) -> PathBuf {
    dumps.with_extension(number.to_string())
}

/// Returns the instructions of a dump.
fn total_of(dump: &Path) -> Result<f64> {
    let text = std::fs::read_to_string(dump)
        .map_err(|error| Error::Failed(format!("callgrind wrote no {}: {error}", dump.display())))?;
    let total = text.lines().rev().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.ok_or_else(|| Error::Failed(format!("{} has no line 'totals: N'", dump.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: GuardSize = GuardSize { keys: 1000, operations: 100 };

    #[test]
    fn every_index_runs_every_loop() {
        assert_eq!(indexes().len(), 6, "{:?}", indexes());
        for index in indexes() {
            let lines = run_loops(index, "rand-8", FEW).expect("all of them take eight bytes");
            let of_scans = |line: &&str| line.contains("scan") && line.starts_with("10 ");
            assert_eq!(lines.lines().count(), LOOPS.len(), "{index}: {lines}");
            assert_eq!(lines.lines().filter(of_scans).count(), 2, "{index}: {lines}");
        }
        assert_eq!(run_loops("skein-mlp", "url", FEW).expect("the keys are too long"), "");
        assert_eq!(run_loops("no such index", "url", FEW).expect("no such index"), "");
    }

    #[test]
    fn the_total_of_a_dump_is_its_last_line() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dumps = folder.path().join("dump");
        std::fs::write(numbered(&dumps, 2), "summary: 9\nfn=x\n0 12\n\ntotals: 34567\n").expect("a file");
        assert_eq!(total_of(&numbered(&dumps, 2)).expect("it has a total").to_string(), "34567");
        std::fs::write(numbered(&dumps, 2), "fn=x\n").expect("a file");
        let error = total_of(&numbered(&dumps, 2)).expect_err("it has none").to_string();
        assert!(error.contains("dump.2") && error.contains("totals"), "{error}");
        assert!(total_of(&numbered(&dumps, 4)).expect_err("no file").to_string().contains("dump.4"));
    }
}
