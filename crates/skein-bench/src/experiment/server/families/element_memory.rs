//! The memory that an element takes in a list, set, stream, hash or sorted set.

use super::super::count;
use super::super::server_under_test::{LOAD_PIPELINE, ServerUnderTest};
use super::super::used_memory::{growth, used_memory};
use super::request_family::{FamilyRequest, RequestFamily};
use super::start;
use crate::Result;
use crate::experiment::findings::MeasureSpec;
use crate::experiment::scratch::Scratch;
use crate::experiment::{Bench, Findings, Judgement};
use crate::keyset::SeededRandom;
use crate::result::AxisPoint;
use crate::rival::server::OURS;

const MEMORY: MeasureSpec<'_> = MeasureSpec::less("memory", "B/element");

/// The kinds of keys, with the requests that add elements.
pub const KINDS: [(&str, RequestFamily); 5] = [
    ("list", RequestFamily::ListPush),
    ("set", RequestFamily::SetAdd),
    ("stream", RequestFamily::StreamAdd),
    ("hash", RequestFamily::HashSet),
    ("sorted set", RequestFamily::SortedSetAdd),
];

/// Measures each kind on servers of its own, so that no other kind's memory is used again.
///
/// # Errors
/// If a server fails or answers wrongly.
pub fn measure(bench: &mut Bench, scratch: &Scratch) -> Result<()> {
    let mut order: Vec<u32> = (0..count(&bench.plan) as u32).collect();
    SeededRandom::new(bench.plan.seed).shuffle(&mut order);
    for (kind, family) in KINDS {
        // Buffers of further connections would count.
        let mut targets = start(bench, scratch, 1)?;
        let used = |target: &ServerUnderTest<'_>| used_memory(target.address()).map(|bytes| [bytes]);
        let grown = growth(&mut targets, used, |target| load(target, family, &order))?;
        for (target, [bytes]) in targets.iter().zip(grown) {
            let each = bytes / order.len() as f64;
            bench.add(MEMORY, target.name, Some(&AxisPoint::name("kind", kind)), each)?;
        }
    }
    Ok(())
}

/// Adds the elements.
fn load(target: &mut ServerUnderTest<'_>, family: RequestFamily, order: &[u32]) -> Result<()> {
    let client = target.client();
    client.begin("load", LOAD_PIPELINE);
    for &number in order {
        let request = FamilyRequest { number, present: false };
        client.ask_pattern(0, |out, expected| family.ask(request, out, expected))?;
    }
    client.finish()
}

/// Judges that no kind takes more memory than in `other`.
pub fn judge(findings: &Findings, other: &str) -> Judgement {
    let ratios = findings.ratios(MEMORY.measure, OURS, other);
    Judgement::at_most(1.0, "bytes of an element, ours / Redis", &ratios)
}
