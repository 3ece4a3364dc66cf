//! How large a run is, and what the user chose to be different.

use std::path::PathBuf;

use super::setting::{BenchSetting, BenchSettings};
use crate::rival::index;
use crate::sys::LoopClock;

/// How large a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RunSize {
    /// Minutes on a laptop. Shapes begin to show; caches still matter.
    Small,
    /// Data well beyond most caches.
    Medium,
    /// The size of the figures in `docs/benchmarks/`.
    Large,
    /// The paper's own, where it names one.
    Paper,
}

impl RunSize {
    /// One of four figures.
    pub fn pick<T>(self, [small, medium, large, paper]: [T; 4]) -> T {
        match self {
            Self::Small => small,
            Self::Medium => medium,
            Self::Large => large,
            Self::Paper => paper,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.pick(["small", "medium", "large", "paper"])
    }
}

/// What a run was asked to do.
#[derive(Debug, Clone)]
pub struct BenchPlan {
    /// How large.
    pub size: RunSize,
    /// How often the contenders take turns.
    pub rounds: usize,
    /// Instead of the experiment's own count of keys or rows.
    pub count: Option<usize>,
    /// Instead of the experiment's own key sets.
    pub keys: Vec<String>,
    /// Contenders to measure; all if empty.
    pub only: Vec<String>,
    /// Contenders to leave out.
    pub without: Vec<String>,
    /// Numbers that the user set.
    pub settings: BenchSettings,
    /// What times loops on one thread.
    pub clock: LoopClock,
    /// Where stores put their folders.
    pub folder: PathBuf,
    /// The seed of everything random.
    pub seed: u64,
    /// The command line that repeats it.
    pub command: String,
}

impl BenchPlan {
    /// A small plan of two rounds, for tests to change.
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

    /// How many keys: what the user said, or what the size says.
    pub fn keys_or(&self, by_size: [usize; 4]) -> usize {
        self.count.unwrap_or_else(|| self.size.pick(by_size))
    }

    /// A number: what the user set, or the experiment's own.
    pub fn setting(&self, setting: &BenchSetting, own: usize) -> usize {
        self.settings.get(setting).unwrap_or(own)
    }

    /// Which key sets: what the user said, or the experiment's own.
    pub fn sets_or(&self, own: &[&str]) -> Vec<String> {
        if self.keys.is_empty() {
            own.iter().map(|&name| name.to_owned()).collect()
        } else {
            self.keys.clone()
        }
    }

    /// Whether a contender, or a step of one, is to be measured. A step comes along with what it is a step of, unless it is left out itself.
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
    fn a_step_comes_along_with_what_it_is_a_step_of() {
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
