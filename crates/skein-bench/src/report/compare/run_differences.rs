//! The differences between two runs other than their figures. They are reasons to doubt a
//! comparison.

use std::collections::BTreeSet;

use super::setting;
use crate::report::view::RunView;
use crate::result::{Machine, RunRecord};

/// Returns the differences, one per line, each with both sides.
pub(super) fn between(before: &RunView<'_>, after: &RunView<'_>) -> Vec<String> {
    let mut doubts = Vec::new();
    let mut differ = |what: &str, one: &str, other: &str| {
        let shown = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
        if one != other {
            doubts.push(format!("{what}: {}, then {}", shown(one), shown(other)));
        }
    };
    differ("version of SkeinDB", &before.run.version, &after.run.version);
    for (what, field) in MACHINE {
        differ(what, &field(&before.run.machine), &field(&after.run.machine));
    }
    let (old, new) = (setting(before), setting(after));
    for name in old.keys().chain(new.keys()).copied().collect::<BTreeSet<_>>() {
        let value = |side: Option<&&str>| side.map_or(String::new(), |value| (*value).to_owned());
        differ(&format!("setting {name}"), &value(old.get(name)), &value(new.get(name)));
    }
    for contender in &before.run.contenders {
        let others = configuration(after.run, &contender.name);
        if !others.is_empty() {
            differ(&contender.name, &configuration(before.run, &contender.name), &others);
        }
    }
    doubts.dedup();
    doubts
}

/// A property of a machine: its name, and how to read it.
type MachineProperty = (&'static str, fn(&Machine) -> String);

const MACHINE: [MachineProperty; 6] = [
    ("processor", |machine| machine.processor.clone()),
    ("cores", |machine| machine.cores.to_string()),
    ("caches", |machine| machine.caches.join(", ")),
    ("memory", |machine| format!("{} MiB", machine.memory_bytes >> 20)),
    ("transparent huge pages", |machine| machine.huge_pages.clone()),
    ("kernel", |machine| machine.kernel.clone()),
];

/// Returns the configuration of a contender. A run may have measured it in several ways.
fn configuration(run: &RunRecord, name: &str) -> String {
    let of = run.contenders.iter().filter(|contender| contender.name == name);
    of.map(|contender| &*contender.about).collect::<Vec<_>>().join("; ")
}
