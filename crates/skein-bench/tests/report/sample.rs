//! A sample results file with some of everything: made up, but in the shape of real runs.

use skein_bench::result::{
    AbsentContender, AxisPoint, Better, ClaimAnswer, ClaimVerdict, ContenderRecord, Machine, ProbeSummary,
    ResultCell, ResultLine, ResultNote, RunRecord, SCHEMA,
};

/// Contenders among indexes, with their relative rates.
pub const INDEXES: [(&str, f64); 9] = [
    ("skein-masstree", 1.46),
    ("masstree-crate", 0.67),
    ("crossbeam-skiplist", 0.28),
    ("btreemap", 0.91),
    ("btreemap-rwlock", 0.83),
    ("congee", 1.31),
    ("scc-treeindex", 0.74),
    ("hashbrown", 3.62),
    ("papaya", 2.41),
];

/// A generator of pseudo-random figures, always the same.
struct Wobble(u64);

impl Wobble {
    /// Returns a factor between 1 - `part` and 1 + `part`.
    fn near_one(&mut self, part: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1.0 + part * (f64::from((self.0 >> 33) as u32) / f64::from(1_u32 << 30) - 1.0)
    }

    fn rounds(&mut self, median: f64, part: f64) -> Vec<f64> {
        (0..5).map(|_| median * self.near_one(part)).collect()
    }
}

/// Returns the machine of all runs.
pub fn machine() -> Machine {
    let reads = [
        (16, 1.4),
        (32, 1.4),
        (64, 4.1),
        (512, 4.4),
        (2048, 9.8),
        (16_384, 24.0),
        (65_536, 61.0),
        (262_144, 92.0),
        (1_048_576, 104.0),
    ];
    Machine {
        processor: "Example 9000 (family 25, model 1)".into(),
        cores: 8,
        caches: ["L1 32K", "L2 512K", "L3 32768K"].map(str::to_owned).into(),
        memory_bytes: 67_430_105_088,
        huge_pages: "madvise".into(),
        kernel: "6.1.0-18-amd64".into(),
        probe: Some(ProbeSummary {
            read_ns_by_footprint: reads.map(|(kib, ns)| (kib << 10, ns)).into(),
            mlp_c: 0.052,
            mlp_c_small_pages: 0.114,
            huge_share: 0.98,
        }),
    }
}

pub fn run(name: &str, title: &str, source: &str, claim: &str, contenders: &[&str]) -> RunRecord {
    let about = |name: &&str| ContenderRecord {
        name: (*name).to_owned(),
        about: format!("{name} 1.2.3, in its documented configuration for many threads"),
    };
    let setting =
        [("keys", "5000000"), ("rounds", "5"), ("seed", "1"), ("size", "medium"), ("took", "214 s")];
    RunRecord {
        schema: SCHEMA,
        run: format!("{name}-1763719859-123"),
        experiment: name.to_owned(),
        title: title.to_owned(),
        source: source.to_owned(),
        claim: claim.to_owned(),
        started_unix_s: 1_763_719_859,
        version: "0.1.0".into(),
        command: format!("skein bench run {name} --size medium --rounds 5"),
        setting: setting.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        machine: machine(),
        contenders: contenders.iter().map(about).collect(),
        absent: vec![
            AbsentContender {
                name: "rocksdb".into(),
                why: "not installed: apt-get install librocksdb-dev".into(),
            },
            AbsentContender { name: "HOT".into(), why: "no package offers it".into() },
        ],
    }
}

/// Collects the lines of one run.
pub struct SampleBuilder {
    lines: Vec<ResultLine>,
    run: String,
    wobble: Wobble,
}

impl SampleBuilder {
    pub fn new(run: RunRecord) -> Self {
        let name = run.run.clone();
        Self { wobble: Wobble(name.len() as u64), run: name, lines: vec![ResultLine::Run(run)] }
    }

    fn add(&mut self, measure: (&str, &str, Better), contender: &str, at: Option<AxisPoint>, median: f64) {
        let rounds = self.wobble.rounds(median, 0.07);
        self.cell(measure, contender, at, rounds, Vec::new());
    }

    pub fn cell(
        &mut self,
        (measure, unit, better): (&str, &str, Better),
        contender: &str,
        at: Option<AxisPoint>,
        rounds: Vec<f64>,
        quantiles: Vec<(f64, f64)>,
    ) {
        self.lines.push(ResultLine::Cell(ResultCell {
            run: self.run.clone(),
            measure: measure.into(),
            unit: unit.into(),
            better,
            contender: contender.into(),
            at,
            rounds,
            quantiles,
        }));
    }

    pub fn end(mut self, answer: ClaimAnswer, why: &str) -> Vec<ResultLine> {
        self.lines.push(ResultLine::Verdict(ClaimVerdict {
            run: self.run,
            answer,
            why: why.into(),
            cell: None,
        }));
        self.lines
    }
}

fn names() -> Vec<&'static str> {
    INDEXES.iter().map(|(name, _)| *name).collect()
}

/// Returns bars over key sets, with one contender missing at one of them, latencies, and memory of
/// one round.
fn lookup() -> Vec<ResultLine> {
    let claim = "Masstree looks up at least 1.3 times as fast as the crate masstree";
    let mut run =
        SampleBuilder::new(run("lookup", "lookups one by one", "SkeinDB's own targets", claim, &names()));
    for (set, slow) in [("rand-8", 1.0), ("decimal", 0.92), ("url", 0.35)] {
        for (name, rate) in INDEXES {
            if (name, set) == ("congee", "url") {
                continue;
            }
            let at = || Some(AxisPoint::name("key set", set));
            run.add(("lookup", "Mops/s", Better::More), name, at(), rate * slow);
            run.cell(
                ("memory in all", "B/key", Better::Less),
                name,
                at(),
                vec![60.0 / rate.sqrt()],
                Vec::new(),
            );
            let middle = 700.0 / rate / slow;
            let quantiles = [0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0]
                .map(|quantile: f64| (quantile, middle * (0.4 + 0.6 / (1.000_1 - quantile).powf(0.45))));
            let rounds = run.wobble.rounds(middle, 0.03);
            run.cell(("lookup, latency", "ns", Better::Less), name, at(), rounds, quantiles.into());
        }
    }
    let note = "the machine was busy with other work in round 3".to_owned();
    run.lines.push(ResultLine::Note(ResultNote { run: run.run.clone(), text: note }));
    run.end(ClaimAnswer::Holds, "lookup, ours / masstree-crate: rand-8: 2.18, decimal: 2.18, url: 2.20 (at least 1.3 is claimed); insert, ours / masstree-crate: rand-8: 2.01")
}

/// Returns lines over threads and over a wide range of sizes.
fn scaling() -> Vec<ResultLine> {
    let claim = "at 16 cores Masstree does 12.7 times the gets of one core";
    let source = "Masstree (EuroSys 2012), figure 10 and section 6.5";
    let mut run = SampleBuilder::new(run(
        "masstree-fig10",
        "gets from one thread to all cores",
        source,
        claim,
        &names(),
    ));
    for threads in 1..=8 {
        let threads = f64::from(threads);
        for (name, rate) in INDEXES {
            if name == "btreemap" || (name == "papaya" && (3.5..5.5).contains(&threads)) {
                continue;
            }
            let held_up = if name == "btreemap-rwlock" { 1.0 + 0.1 * threads } else { threads.powf(0.95) };
            run.add(
                ("get", "Mops/s", Better::More),
                name,
                Some(AxisPoint::number("threads", threads)),
                rate * held_up,
            );
        }
    }
    for keys in [10_000.0, 40_000.0, 160_000.0, 640_000.0, 2_560_000.0, 10_240_000.0_f64] {
        for (name, rate) in INDEXES {
            let at = Some(AxisPoint::number("keys", keys));
            run.add(("lookup, dependent", "Mops/s", Better::More), name, at, rate * 14.0 / keys.ln());
        }
    }
    run.end(ClaimAnswer::CannotBeTested, "a claim about 16 cores says little about 8")
}

/// Returns a measure without an axis, with many contenders and long names.
fn crowd() -> Vec<ResultLine> {
    let names: Vec<String> = (1..=15)
        .map(|number| match number {
            1 => "skein".to_owned(),
            2 => "redis".to_owned(),
            3 => "memcached".to_owned(),
            4 => "a contender whose name is far too long for any chart, with all of its options".to_owned(),
            _ => format!("store-number-{number}"),
        })
        .collect();
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    let claim = "the server answers at least as many requests as others";
    let mut run = SampleBuilder::new(run(
        "server",
        "requests over loopback",
        "SkeinDB's own targets",
        claim,
        &borrowed,
    ));
    for (number, name) in (1_u32..).zip(&borrowed) {
        run.add(("GET", "requests/s", Better::More), name, None, 1_200_000.0 / f64::from(number));
        run.add(("startup", "s", Better::Less), name, None, 0.004 * f64::from(number));
        run.add(("change since yesterday", "%", Better::Neither), name, None, f64::from(number) - 6.0);
    }
    run.end(ClaimAnswer::DoesNotHold, "GET, ours / redis: 0.87 (at least 1 is claimed)")
}

/// Returns all lines.
pub fn lines() -> Vec<ResultLine> {
    [lookup(), scaling(), crowd()].concat()
}
