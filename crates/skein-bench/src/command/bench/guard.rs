//! `skein bench guard`: compares the instructions of two builds, operation by operation.

use std::fmt::Write as _;
use std::path::PathBuf;

use skein_bench::experiment::instructions::{
    CountedLoop, GuardSize, KEY_SETS, count, indexes, run_loops as loops,
};

use skein_terminal::console;
use skein_terminal::exit::{Exit, Failure};

/// Count the instructions of every operation of every index in two builds of this program, and fail
/// if the second needs more. Needs valgrind.
#[derive(clap::Args)]
pub struct BenchGuardArgs {
    /// The build before: a program `skein-bench` that has this command.
    old: PathBuf,
    /// The build after; this program if it is not given.
    new: Option<PathBuf>,
    /// The greatest growth that is not a failure, in per cent.
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT")]
    most: f64,
    /// Indexes to count, by name; all if none is named.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// Keys in each index.
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    keys: u32,
    /// Rounds of each build. An operation has grown if its fewest instructions now are more than
    /// its most before.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Operations of each loop.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    operations: u32,
}

/// Run the loops that `skein bench guard` counts.
#[derive(clap::Args)]
pub struct BenchGuardLoopsArgs {
    index: String,
    key_set: String,
    keys: usize,
    operations: usize,
}

/// Runs `skein bench guard`.
pub fn run(args: &BenchGuardArgs) -> Result<Exit, Failure> {
    let all = indexes();
    if let Some(unknown) = args.only.iter().find(|name| !all.contains(&name.as_str())) {
        return Err(Failure::usage(format!("there is no index '{unknown}'; there are: {}", all.join(", "))));
    }
    // Not a link in `/proc`, which is valgrind under valgrind.
    let new = args.new.clone().or_else(|| std::env::current_exe().ok());
    let new = new.ok_or_else(|| Failure::usage("name the build after, too".to_owned()))?;
    console::print(&format!("{:>9} {:>9} {:>7}  instructions of one operation\n", "old", "new", "change"))?;
    let size = GuardSize { keys: args.keys as usize, operations: args.operations as usize };
    let wanted = all.iter().filter(|name| args.only.is_empty() || args.only.iter().any(|only| only == *name));
    let (mut met, mut grown) = (0, 0);
    for index in wanted {
        for keys in KEY_SETS {
            let [before, after] =
                [&args.old, &new].map(|program| count(program, (index, keys), size, args.rounds));
            let (before, after) = (before.map_err(crate::failure)?, after.map_err(crate::failure)?);
            let comparison = compared(&before, &after, args.most);
            (met, grown) = (met + comparison.met, grown + comparison.grown);
            console::print(&comparison.text)?;
        }
    }
    if met == 0 {
        return Err(Failure::new("the two builds have no operation in common".to_owned()));
    }
    if grown > 0 {
        return Err(Failure::new(format!("{grown} operations need over {} % more instructions", args.most)));
    }
    Ok(Exit::Ok)
}

/// The loops of one index on one key set, in two builds.
struct GuardComparison {
    /// A line for each loop.
    text: String,
    /// Loops that both builds have.
    met: usize,
    /// Those of them that grew beyond the limit.
    grown: usize,
}

/// Compares loops. Growth of more than `most` per cent is beyond the limit.
fn compared(before: &[CountedLoop], after: &[CountedLoop], most: f64) -> GuardComparison {
    let mut comparison = GuardComparison { text: String::new(), met: 0, grown: 0 };
    let GuardComparison { text, met, grown } = &mut comparison;
    for new in after {
        let Some(old) = before.iter().find(|old| old.place == new.place) else {
            let _ = writeln!(text, "{:>9} {:>9.1} {:>7}  {}", "none", new.least, "", new.place);
            continue;
        };
        let change = 100.0 * (new.least / old.least - 1.0);
        let grew = new.least > old.most * (1.0 + most / 100.0);
        let mark = if grew { "  GREW" } else { "" };
        (*met, *grown) = (*met + 1, *grown + usize::from(grew));
        let _ = writeln!(text, "{:>9.1} {:>9.1} {change:>+6.1}%  {}{mark}", old.least, new.least, new.place);
    }
    for gone in before.iter().filter(|old| after.iter().all(|new| new.place != old.place)) {
        let _ = writeln!(text, "{:>9.1} {:>9} {:>7}  {}", gone.least, "none", "", gone.place);
    }
    comparison
}

/// Runs `skein bench guard-loops`.
pub fn run_loops(args: &BenchGuardLoopsArgs) -> Result<Exit, Failure> {
    let size = GuardSize { keys: args.keys, operations: args.operations };
    super::show(&loops(&args.index, &args.key_set, size).map_err(crate::failure)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_beyond_the_limit_is_found() {
        let counted = |place: &str, least, most| CountedLoop { place: place.to_owned(), least, most };
        let before = [counted("a", 100.0, 100.0), counted("b", 100.0, 100.4), counted("c", 100.0, 103.0)];
        let after = [counted("b", 101.5, 101.5), counted("c", 101.5, 105.0), counted("a", 100.9, 100.9)];
        let after = [&after[..], &[counted("new", 9.0, 9.0)]].concat();
        let before = [&before[..], &[counted("gone", 8.0, 8.0)]].concat();
        let GuardComparison { text, met, grown } = compared(&before, &after, 1.0);
        assert_eq!((met, grown), (3, 1));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[0].ends_with("+1.5%  b  GREW"), "{text}");
        assert!(lines[1].ends_with("+1.5%  c") && lines[2].ends_with("+0.9%  a"), "{text}");
        assert!(lines[3].contains("none       9.0") && lines[4].contains("8.0      none"), "{text}");
    }
}
