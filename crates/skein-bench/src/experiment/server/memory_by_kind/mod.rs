//! The memory of an item of each kind, with random keys, beside Redis and Valkey.
//!
//! ```text
//!   per kind: fresh servers ─► used_memory, resident ─► N items ─► 1.5 s ─► used_memory, resident
//! ```
//!
//! Keys that ascend fill the leaves of an ordered index, and random ones do not. So the keys are
//! hexadecimal digits of a permutation of 64-bit numbers: random, and each of them once.
//!
//! | file | content |
//! | --- | --- |
//! | here | the measures and the claim |
//! | `item_kind.rs` | the kinds of items, their requests and replies |

mod item_kind;

use super::count;
use super::server_under_test::{self, LOAD_PIPELINE, ServerSelection, ServerUnderTest, row_bytes};
use super::used_memory::{growth, used_memory};
use crate::experiment::findings::MeasureSpec;
use crate::experiment::scratch::Scratch;
use crate::experiment::{Bench, Experiment, Findings, Judgement};
use crate::keyset::mix;
use crate::result::AxisPoint;
use crate::rival::server::{OURS, REDIS, VALKEY};
use crate::{Error, Result};
use item_kind::ItemKind;

const USED: MeasureSpec<'_> = MeasureSpec::less("used_memory", "B/item");
const RESIDENT: MeasureSpec<'_> = MeasureSpec::less("resident", "B/item");

/// The number of servers with items at once.
const SERVERS: u64 = 3;
/// The most bytes of an item: those of the ten members of a sorted set.
const ITEM_BYTES: u64 = 1000;

pub static MEMORY_BY_KIND: Experiment = Experiment {
    name: "server-memory",
    title: "memory of strings, small collections and elements of large ones, with random keys, \
            beside Redis and Valkey",
    source: "this project's aims",
    claim: "no item of any kind takes more memory than in Redis and in Valkey, by used_memory and by \
            resident size",
    memory: |plan| Ok(SERVERS * count(plan) as u64 * row_bytes(16, ITEM_BYTES)),
    steps: |_| ItemKind::MEASURED.len(),
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    bench.set("items", count(&bench.plan));
    let scratch = bench.scratch()?;
    ItemKind::MEASURED.into_iter().try_for_each(|kind| measure(bench, &scratch, kind))
}

/// Measures a kind on servers of its own, so that no other kind's memory is used again.
fn measure(bench: &mut Bench, scratch: &Scratch, kind: ItemKind) -> Result<()> {
    let wanted = ServerSelection::new(|can| can.families, "these requests");
    // Buffers of further connections would count.
    let wanted = ServerSelection { connections: 1, also: &[VALKEY], ..wanted };
    let mut targets = server_under_test::start_empty(bench, scratch, &wanted)?;
    bench.step(&kind.name());
    let (seed, items) = (bench.plan.seed, count(&bench.plan));
    let grown = growth(&mut targets, sizes, |target| load(target, kind, seed, items))?;
    let at = AxisPoint::name("kind", &kind.name());
    for (target, grown) in targets.iter().zip(grown) {
        for (measure, bytes) in [USED, RESIDENT].into_iter().zip(grown) {
            bench.add(measure, target.name, Some(&at), bytes / items as f64)?;
        }
    }
    Ok(())
}

/// Returns `used_memory` and the resident size.
fn sizes(target: &ServerUnderTest<'_>) -> Result<[f64; 2]> {
    let resident = target.resident_bytes()?;
    let resident = resident.ok_or_else(|| Error::Failed(format!("{} is no process", target.name)))?;
    Ok([used_memory(target.address())?, resident as f64])
}

/// Adds the items, and checks their number.
fn load(target: &mut ServerUnderTest<'_>, kind: ItemKind, seed: u64, items: usize) -> Result<()> {
    let client = target.client();
    client.begin("load", LOAD_PIPELINE);
    for number in 0..items {
        let key = format!("{:016x}", mix(seed.wrapping_add(number as u64))).into_bytes();
        client.ask_pattern(0, |out, expected| kind.add(number, &key, out, expected))?;
    }
    let (request, reply) = kind.count(items);
    client.ask_pattern(0, |out, expected| {
        out.extend_from_slice(&request);
        expected.extend_from_slice(&reply);
    })?;
    client.finish()
}

fn judge(findings: &Findings) -> Judgement {
    let beside = [REDIS, VALKEY].into_iter().flat_map(|other| {
        [USED, RESIDENT].map(|measure| {
            let ratios = findings.ratios(measure.measure, OURS, other);
            Judgement::at_most(1.0, &format!("{} of an item, ours / {other}", measure.measure), &ratios)
        })
    });
    Judgement::each_of(beside, "not measured")
}
