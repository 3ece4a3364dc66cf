//! The contenders of an experiment and of its loops, and the notes on those that are left out.

use std::collections::BTreeMap;

use super::findings::Findings;
use super::key_lengths::in_words;
use super::loops::GridLoop;
use crate::keyset::KeySet;
use crate::rival::index::{self, IndexAbilities, IndexRole, RegisteredIndex};

pub use crate::rival::index::{
    CUCKOO_TRIE as CUCKOO, MASSTREE as OURS, MLP_INDEX as MLP, PAGE_TREE, SKIP_LIST, WORMHOLE,
};

/// The contenders that an experiment compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Participants {
    /// All contenders.
    All,
    /// Contenders with an order.
    Ordered,
    /// Contenders for several threads.
    ForThreads,
    /// One of our indexes, and the steps that lead to it.
    Steps(&'static str),
    /// Our index, and the same index under a second name.
    Twins,
    /// The contenders and steps with these names.
    Named(&'static [&'static str]),
}

impl Participants {
    /// Returns whether the experiment concerns this entry. Reports name a missing contender only if
    /// the experiment concerns it.
    pub fn concern(self, entry: &RegisteredIndex) -> bool {
        match self {
            Self::Steps(whole) => entry.role == IndexRole::Step(whole) || entry.name == whole,
            Self::Twins => entry.role == IndexRole::Twin || entry.name == OURS,
            Self::Named(names) => names.contains(&entry.name),
            _ => entry.role.is_contender(),
        }
    }

    /// Returns why a concerned entry cannot take part; `None` if it can.
    pub fn without(self, entry: &RegisteredIndex) -> Option<&'static str> {
        match self {
            Self::Ordered if !entry.can.scan => Some("has no order"),
            Self::ForThreads if !entry.threads => Some("supports one thread only"),
            _ => None,
        }
    }

    /// Returns whether the entry takes part.
    pub fn admit(self, entry: &RegisteredIndex) -> bool {
        self.concern(entry) && self.without(entry).is_none()
    }

    /// Returns the number of contenders at most, counting each name once, for progress bars.
    pub fn count(self) -> usize {
        let mut names: Vec<_> =
            index::all().into_iter().filter(|entry| self.admit(entry)).map(|entry| entry.name).collect();
        names.dedup();
        names.len()
    }
}

/// Returns the ability that the contender lacks and a loop on these keys needs; `None` if it lacks
/// nothing.
pub fn missing_ability(entry: &RegisteredIndex, each: &GridLoop, set: &KeySet) -> Option<String> {
    let lacks = |part: fn(IndexAbilities) -> bool| part(each.needs) && !part(entry.can);
    let reasons = [
        (lacks(|can| can.batches), "no batched lookup of its own"),
        (lacks(|can| can.scan), "no scans upward"),
        (lacks(|can| can.scan_back), "no scans downward"),
        (lacks(|can| can.lower_bound), "no scans that start between keys"),
        (lacks(|can| can.remove), "no removal"),
        (each.threads > 1 && !entry.threads, "one thread only"),
    ];
    if let Some((_, reason)) = reasons.into_iter().find(|(lacking, _)| *lacking) {
        return Some(reason.to_owned());
    }
    let scans = each.needs.scan || each.needs.scan_back;
    (scans && !set.within(entry.scan_key_bytes)).then(|| {
        format!(
            "scans on keys of {} only, but those of {} have {}",
            in_words(entry.scan_key_bytes),
            set.name,
            in_words((set.shortest, set.longest))
        )
    })
}

/// Notes the contenders that are left out of a loop: one note per reason, with all its contenders.
pub fn note_left_out(
    findings: &mut Findings,
    loops: &[GridLoop],
    entries: &[&RegisteredIndex],
    set: &KeySet,
) {
    let mut by_reason: BTreeMap<(Vec<&str>, String), Vec<&str>> = BTreeMap::new();
    for entry in entries {
        let mut missed: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for each in loops {
            if let Some(reason) = missing_ability(entry, each, set) {
                missed.entry(reason).or_default().push(each.measure);
            }
        }
        for (reason, measures) in missed {
            by_reason.entry((measures, reason)).or_default().push(entry.name);
        }
    }
    for ((measures, reason), names) in by_reason {
        let measures: Vec<_> = measures.iter().map(|measure| format!("'{measure}'")).collect();
        findings.note(format!("left out of {}: {} ({reason})", measures.join(", "), names.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::super::key_lengths::tests::{set, taking};
    use super::super::loops::{changes, reads, scans};
    use super::*;
    use crate::workload::Script;
    use crate::workload::run::LoopStyle;

    const LOOPS: [GridLoop; 4] = [
        scans("scan", false, |_, _, _, _| Script::default()),
        scans("lower bound", false, |_, _, _, _| Script::default()).starting_anywhere(),
        reads("lookup", LoopStyle::Independent, |_, _, _, _| Script::default()),
        changes("churn", true, |_, _, _, _| Script::default()),
    ];

    #[test]
    fn contenders_left_out_are_noted_once_per_reason() {
        let mut scans = taking("scans", (0, usize::MAX));
        scans.can = IndexAbilities { scan: true, remove: true, ..IndexAbilities::NOTHING };
        let mut eight = taking("eight", (0, usize::MAX));
        eight.can = IndexAbilities { lower_bound: true, ..scans.can };
        eight.scan_key_bytes = (8, 8);
        let (map, other) = (taking("map", (0, usize::MAX)), taking("other", (0, usize::MAX)));
        let mut findings = Findings::default();
        for _ in 0..2 {
            note_left_out(&mut findings, &LOOPS, &[&scans, &eight, &map, &other], &set(1));
        }
        assert_eq!(
            findings.notes,
            [
                "left out of 'churn': map, other (no removal)",
                "left out of 'lower bound': scans (no scans that start between keys)",
                "left out of 'scan', 'lower bound': map, other (no scans upward)",
                "left out of 'scan', 'lower bound': eight (scans on keys of 8 bytes only, but \
                 those of test have 8 to 9 bytes)",
            ]
        );
    }

    #[test]
    fn loops_on_threads_need_a_concurrent_contender() {
        let entry = taking("map", (0, usize::MAX));
        assert_eq!(missing_ability(&entry, &LOOPS[2], &set(1)), None);
        let two = GridLoop { threads: 2, ..LOOPS[2] };
        assert_eq!(missing_ability(&entry, &two, &set(1)).as_deref(), Some("one thread only"));
    }
}
