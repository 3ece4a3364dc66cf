//! The runner of an experiment: provides the plan, collects the figures, and writes the result
//! lines.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use super::findings::{Findings, Judgement, MeasureSpec};
use super::progress::RunProgress;
use super::scratch::Scratch;
use super::{BenchPlan, Experiment};
use crate::result::{
    AxisPoint, ClaimVerdict, Machine, ResultLine, ResultNote, ResultSink, RunRecord, SCHEMA,
};
use crate::rival::index;
use crate::{Error, Result};

/// The context that an experiment runs in.
#[derive(Debug)]
pub struct Bench {
    /// The user's request.
    pub plan: BenchPlan,
    /// The figures and notes so far.
    pub findings: Findings,
    /// Parameters for the report: size, counts, key sets.
    pub setting: BTreeMap<String, String>,
    progress: RunProgress,
}

impl Bench {
    /// Begins a step of the progress bar.
    pub fn step(&self, what: &str) {
        self.progress.step(what);
    }

    /// Records a parameter for the report.
    pub fn set(&mut self, name: &str, value: impl std::fmt::Display) {
        self.setting.insert(name.to_owned(), value.to_string());
    }

    /// Adds one round's figure.
    ///
    /// # Errors
    /// If the figure is not finite, for instance because a loop took no time.
    pub fn add(
        &mut self,
        place: MeasureSpec<'_>,
        contender: &str,
        at: Option<&AxisPoint>,
        figure: f64,
    ) -> Result<()> {
        if !figure.is_finite() {
            return Err(Error::Failed(format!(
                "{contender}, {}: the figure is {figure}, which is not a finite number",
                place.measure
            )));
        }
        self.findings.add(place, contender, at, figure);
        Ok(())
    }

    /// Creates a folder for this run, on the disk that the user chose.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn scratch(&mut self) -> Result<Scratch> {
        let scratch = Scratch::new(&self.plan.folder)?;
        self.set("folder", scratch.path().display());
        Ok(scratch)
    }

    /// Sets the latency curve of a cell: pairs of a quantile and its figure.
    pub fn curve(&mut self, measure: &str, contender: &str, at: Option<&AxisPoint>, curve: Vec<(f64, f64)>) {
        let cell =
            self.findings.cells.iter_mut().find(|cell| {
                cell.measure == measure && cell.contender == contender && cell.at.as_ref() == at
            });
        if let Some(cell) = cell {
            cell.quantiles = curve;
        }
    }

    /// Returns those of the contenders concerned that the user wants and that `takes` admits. Notes
    /// the others as absent, with the reason.
    pub fn contenders(
        &mut self,
        concerned: impl Iterator<Item = &'static index::RegisteredIndex>,
        takes: impl Fn(&index::RegisteredIndex) -> std::result::Result<(), String>,
    ) -> Vec<&'static index::RegisteredIndex> {
        let mut taken: Vec<&'static index::RegisteredIndex> = Vec::new();
        for entry in concerned {
            if !self.plan.wants(entry.name) {
                continue;
            }
            match takes(entry) {
                Ok(()) => taken.push(entry),
                Err(why) => self.findings.absent(entry.name, why),
            }
        }
        index::keep_most_specialised(&mut taken);
        self.findings.absent.retain(|absent| taken.iter().all(|entry| entry.name != absent.name));
        if taken.iter().any(|entry| entry.role == index::IndexRole::Rival) {
            self.note_absent(index::absent());
        }
        for entry in &taken {
            self.findings.contender(entry.name, entry.about);
        }
        taken
    }

    /// Returns those of the concerned stores that the user wants, given the name and the
    /// description of each. Notes those that the user wants but this build does not have.
    ///
    /// # Errors
    /// If no store is left.
    pub fn stores<S>(
        &mut self,
        absent: Vec<(&'static str, String)>,
        mut concerned: Vec<&'static S>,
        described: fn(&S) -> (&'static str, &'static str),
    ) -> Result<Vec<&'static S>> {
        self.note_absent(absent);
        let names: Vec<_> = concerned.iter().map(|store| described(store).0).collect();
        concerned.retain(|store| self.plan.wants(described(store).0));
        for (name, about) in concerned.iter().map(|store| described(store)) {
            self.findings.contender(name, about);
        }
        if concerned.is_empty() {
            let names = names.join(", ");
            return Err(Error::Input(format!("no store is left to measure; choose from: {names}")));
        }
        Ok(concerned)
    }

    /// Notes the contenders that the user wants but this build does not have.
    fn note_absent(&mut self, absent: Vec<(&'static str, String)>) {
        for (name, why) in absent {
            if self.plan.wants(name) {
                self.findings.absent(name, why);
            }
        }
    }
}

/// Runs an experiment and writes its results.
///
/// # Errors
/// If the experiment needs more memory than is free, if a contender gives a wrong answer, or if a
/// system call fails. Figures found before the error are still written.
pub fn run(
    experiment: &Experiment,
    plan: &BenchPlan,
    machine: &Machine,
    quiet: bool,
    sink: &mut ResultSink,
) -> Result<RunRecord> {
    check_memory(experiment, plan)?;
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("{}-{}-{:03}", experiment.name, started.as_secs(), started.subsec_millis());
    let mut bench = Bench {
        plan: plan.clone(),
        findings: Findings { run: name.clone(), ..Findings::default() },
        setting: BTreeMap::new(),
        progress: RunProgress::new(experiment.name, (experiment.steps)(plan), quiet),
    };
    bench.set("size", plan.size.name());
    bench.set("rounds", plan.rounds);
    bench.set("seed", plan.seed);
    let done = (experiment.run)(&mut bench);
    let took = bench.progress.finish();
    bench.set("took", format!("{:.0} s", took.as_secs_f64()));
    let judgement = match &done {
        Ok(()) => (experiment.judge)(&bench.findings),
        Err(error) => Judgement::untested(format!("the run ended early: {error}")),
    };
    let run = RunRecord {
        schema: SCHEMA,
        run: name.clone(),
        experiment: experiment.name.to_owned(),
        title: experiment.title.to_owned(),
        source: experiment.source.to_owned(),
        claim: experiment.claim.to_owned(),
        started_unix_s: started.as_secs(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: plan.command.clone(),
        setting: bench.setting,
        machine: machine.clone(),
        contenders: bench.findings.contenders,
        absent: bench.findings.absent,
    };
    sink.write(&ResultLine::Run(run.clone()))?;
    for cell in bench.findings.cells {
        sink.write(&ResultLine::Cell(cell))?;
    }
    for text in bench.findings.notes {
        sink.write(&ResultLine::Note(ResultNote { run: name.clone(), text }))?;
    }
    for Judgement { answer, why, cell, .. } in judgement.each() {
        sink.write(&ResultLine::Verdict(ClaimVerdict { run: name.clone(), answer, why, cell }))?;
    }
    done.map(|()| run)
}

/// Runs an experiment that makes folders, at the plan of a test. Returns the lines that it wrote,
/// and its result.
#[cfg(test)]
pub fn run_in_test(experiment: &Experiment, plan: BenchPlan) -> (Vec<ResultLine>, Result<RunRecord>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = BenchPlan { folder: folder.path().join("made"), ..plan };
    let results = folder.path().join("results.jsonl");
    let mut sink = ResultSink::append(&results).expect("a file");
    let done = run(experiment, &plan, &Machine::default(), true, &mut sink);
    assert_eq!(std::fs::read_dir(&plan.folder).expect("made").count(), 0, "folders stay behind");
    (crate::result::read(&results).expect("readable"), done)
}

/// Returns an error if the experiment would not fit in memory.
fn check_memory(experiment: &Experiment, plan: &BenchPlan) -> Result<()> {
    let needed = (experiment.memory)(plan)?;
    let Ok(available) = crate::machine::free_memory() else { return Ok(()) };
    if needed <= available {
        return Ok(());
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    Err(Error::Input(format!(
        "the experiment needs about {:.1} GiB of memory at this size, but {:.1} GiB are available; {}",
        gib(needed),
        gib(available),
        greatest_count_that_fits(experiment, plan, available)
    )))
}

/// Returns advice with the greatest count that would fit.
fn greatest_count_that_fits(experiment: &Experiment, plan: &BenchPlan, available: u64) -> String {
    let fits = |count: usize| {
        let smaller = BenchPlan { count: Some(count), ..plan.clone() };
        (experiment.memory)(&smaller).is_ok_and(|needed| needed <= available)
    };
    let count = (10..36).rev().map(|power| 1 << power).find(|&count| fits(count));
    count.map_or("no smaller --count fits either".to_owned(), |count| format!("--count {count} would fit"))
}
