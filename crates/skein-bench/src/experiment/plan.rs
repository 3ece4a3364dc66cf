//! The request of a run: its size, and the values that the user chose.

use std::path::PathBuf;

use super::setting::{BenchSetting, BenchSettings};
use crate::rival::index;
use crate::sys::LoopClock;

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RunSize {
    /// Takes minutes on a laptop. Curves begin to take shape; caches still matter.
    Small,
    /// The data is well beyond most caches.
    Medium,
    /// The size of the figures in `docs/benchmarks/`.
    Large,
    /// The paper's own size, if the paper names one.
    Paper,
}

impl RunSize {
    /// Returns the figure of this size, out of four.
    pub fn pick<T>(self, [small, medium, large, paper]: [T; 4]) -> T {
        match self {
            Self::Small => small,
            Self::Medium => medium,
            Self::Large => large,
            Self::Paper => paper,
        }
    }

    /// Returns the name of the size.
    pub fn name(self) -> &'static str {
        self.pick(["small", "medium", "large", "paper"])
    }
}

/// The request of a run.
#[derive(Debug, Clone)]
pub struct BenchPlan {
    /// The size.
    pub size: RunSize,
    /// The number of rounds; in each, every contender has one turn.
    pub rounds: usize,
    /// The number of keys or rows, instead of the experiment's own.
    pub count: Option<usize>,
    /// The key sets, instead of the experiment's own.
    pub keys: Vec<String>,
    /// The contenders to measure; empty for all.
    pub only: Vec<String>,
    /// Contenders to leave out.
    pub without: Vec<String>,
    /// The settings that the user chose.
    pub settings: BenchSettings,
    /// The clock for loops on one thread.
    pub clock: LoopClock,
    /// The folder in which stores create theirs.
    pub folder: PathBuf,
    /// The seed of every random number.
    pub seed: u64,
    /// The command line that repeats it.
    pub command: String,
}

impl BenchPlan {
    /// Returns a small plan of two rounds, which tests then change.
    #[cfg(test)]
    pub(super) fn of_a_test() -> Self {
        Self {
            size: RunSize::Small,
            rounds: 2,
            count: None,
            keys: Vec::new(),
            only: Vec::new(),
            without: Vec::new(),
            settings: BenchSettings::default(),
            clock: LoopClock::Wall,
            folder: PathBuf::new(),
            seed: 7,
            command: String::new(),
        }
    }

    /// Returns the number of keys: the user's, or the one for this size.
    pub fn keys_or(&self, by_size: [usize; 4]) -> usize {
        self.count.unwrap_or_else(|| self.size.pick(by_size))
    }

    /// Returns the value of a setting: the user's, or the experiment's own.
    pub fn setting(&self, setting: &BenchSetting, own: usize) -> usize {
        self.settings.get(setting).unwrap_or(own)
    }

    /// Returns the names of the key sets: the user's, or the experiment's own.
    pub fn sets_or(&self, own: &[&str]) -> Vec<String> {
        if self.keys.is_empty() {
            own.iter().map(|&name| name.to_owned()).collect()
        } else {
            self.keys.clone()
        }
    }

    /// Returns whether to measure a contender or a step of one. A step is measured together with
    /// its parent, unless the user left the step out.
    pub fn wants(&self, contender: &str) -> bool {
        let named = |list: &[String], wanted: &str| list.iter().any(|name| name == wanted);
        let comes_along = || index::parent_of_step(contender).is_some_and(|whole| named(&self.only, whole));
        let asked_for = self.only.is_empty() || named(&self.only, contender) || comes_along();
        asked_for && !named(&self.without, contender)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rival::index::{CUCKOO_TRIE, CUCKOO_TRIE_WITH_ROOM, MASSTREE};

    #[test]
    fn a_step_is_measured_with_its_parent() {
        let plan = |only: &[&str], without: &[&str]| BenchPlan {
            only: only.iter().map(ToString::to_string).collect(),
            without: without.iter().map(ToString::to_string).collect(),
            ..BenchPlan::of_a_test()
        };
        let wanted =
            |plan: BenchPlan| [MASSTREE, CUCKOO_TRIE, CUCKOO_TRIE_WITH_ROOM].map(|name| plan.wants(name));
        assert_eq!(wanted(plan(&[], &[])), [true; 3]);
        assert_eq!(wanted(plan(&[CUCKOO_TRIE], &[])), [false, true, true]);
        assert_eq!(wanted(plan(&[CUCKOO_TRIE_WITH_ROOM], &[])), [false, false, true]);
        assert_eq!(wanted(plan(&[CUCKOO_TRIE], &[CUCKOO_TRIE_WITH_ROOM])), [false, true, false]);
        assert_eq!(wanted(plan(&[MASSTREE], &[])), [true, false, false]);
    }
}
