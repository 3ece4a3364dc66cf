//! How large a run is, and what the user chose to be different.

use std::path::PathBuf;

use super::setting::{Setting, Settings};
use crate::sys::Clock;

/// How large a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Size {
    /// Minutes on a laptop. Shapes begin to show; caches still matter.
    Small,
    /// Data well beyond most caches.
    Medium,
    /// The size of the figures in `docs/benchmarks.md`.
    Large,
    /// The paper's own, where it names one.
    Paper,
}

impl Size {
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
pub struct Plan {
    /// How large.
    pub size: Size,
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
    pub settings: Settings,
    /// What times loops on one thread.
    pub clock: Clock,
    /// Where stores put their folders.
    pub folder: PathBuf,
    /// The seed of everything random.
    pub seed: u64,
    /// The command line that repeats it.
    pub command: String,
}

impl Plan {
    /// A small plan of two rounds, for tests to change.
    #[cfg(test)]
    pub(super) fn of_a_test() -> Self {
        Self {
            size: Size::Small,
            rounds: 2,
            count: None,
            keys: Vec::new(),
            only: Vec::new(),
            without: Vec::new(),
            settings: Settings::default(),
            clock: Clock::Wall,
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
    pub fn setting(&self, setting: &Setting, own: usize) -> usize {
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

    /// Whether a contender is to be measured.
    pub fn wants(&self, contender: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == contender);
        (self.only.is_empty() || named(&self.only)) && !named(&self.without)
    }
}
