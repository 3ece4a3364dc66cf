//! A contender whose type is forgotten: one dynamic call per loop, none per operation.

use super::{Contender, Entry, Role};
use crate::Result;
use crate::keyset::Keys;
use crate::sys::{Clock, on_threads};
use crate::workload::Script;
use crate::workload::run::{self, How, Outcome};

/// An index that is being measured.
pub trait Running {
    /// Inserts every `step`-th key from `first` on, on the calling thread.
    fn fill(&self, keys: &Keys, first: usize, step: usize, clock: Clock) -> Outcome;

    /// Runs one script on the calling thread.
    fn run(&self, script: &Script, how: How) -> Outcome;

    /// The same from several threads at once, where the contender allows that.
    fn threads(&self) -> Option<&dyn Threads>;

    /// Live bytes of its own arenas, by part.
    fn own_bytes(&self) -> Vec<(&'static str, usize)>;

    /// The same by finer parts, if it knows them.
    ///
    /// # Errors
    /// If it finds itself damaged on the way.
    fn parts(&mut self) -> std::result::Result<Vec<(&'static str, usize)>, String>;
}

/// What several threads do to one index at once, each pinned to a core and started together.
pub trait Threads: Running + Sync {
    /// Each of `threads` inserts its share of the keys.
    ///
    /// # Errors
    /// If the system refuses threads or pinning.
    fn fill_together(&self, keys: &Keys, threads: usize) -> Result<Vec<Outcome>>;

    /// A thread per script.
    ///
    /// # Errors
    /// As above.
    fn run_together(&self, scripts: &[Script], how: How) -> Result<Vec<Outcome>>;
}

struct Alone<C>(C);

struct Shared<C>(C);

impl<C: Contender> Running for Alone<C> {
    fn fill(&self, keys: &Keys, first: usize, step: usize, clock: Clock) -> Outcome {
        run::fill(&self.0, keys, first, step, clock)
    }

    fn run(&self, script: &Script, how: How) -> Outcome {
        run::run(&self.0, script, how)
    }

    fn threads(&self) -> Option<&dyn Threads> {
        None
    }

    fn own_bytes(&self) -> Vec<(&'static str, usize)> {
        self.0.own_bytes()
    }

    fn parts(&mut self) -> std::result::Result<Vec<(&'static str, usize)>, String> {
        self.0.parts()
    }
}

impl<C: Contender + Sync> Running for Shared<C> {
    fn fill(&self, keys: &Keys, first: usize, step: usize, clock: Clock) -> Outcome {
        run::fill(&self.0, keys, first, step, clock)
    }

    fn run(&self, script: &Script, how: How) -> Outcome {
        run::run(&self.0, script, how)
    }

    fn threads(&self) -> Option<&dyn Threads> {
        Some(self)
    }

    fn own_bytes(&self) -> Vec<(&'static str, usize)> {
        self.0.own_bytes()
    }

    fn parts(&mut self) -> std::result::Result<Vec<(&'static str, usize)>, String> {
        self.0.parts()
    }
}

impl<C: Contender + Sync> Threads for Shared<C> {
    fn fill_together(&self, keys: &Keys, threads: usize) -> Result<Vec<Outcome>> {
        on_threads(threads, |number| run::fill(&self.0, keys, number, threads, Clock::Wall))
    }

    fn run_together(&self, scripts: &[Script], how: How) -> Result<Vec<Outcome>> {
        on_threads(scripts.len(), |number| run::run(&self.0, &scripts[number], how))
    }
}

impl Entry {
    const fn of<C: Contender>(rank: u32, threads: bool, make: fn(usize) -> Box<dyn Running>) -> Self {
        Self {
            name: C::NAME,
            about: C::ABOUT,
            can: C::CAN,
            key_bytes: C::KEY_BYTES,
            scan_key_bytes: C::SCAN_KEY_BYTES,
            rank,
            make,
            threads,
            role: Role::Contender,
        }
    }

    /// A contender for one thread; `rank` orders reports.
    pub const fn alone<C: Contender>(rank: u32) -> Self {
        Self::of::<C>(rank, false, |expected| Box::new(Alone(C::new(expected))))
    }

    /// A contender that several threads may use at once.
    pub const fn shared<C: Contender + Sync>(rank: u32) -> Self {
        Self::of::<C>(rank, true, |expected| Box::new(Shared(C::new(expected))))
    }

    /// This contender as a step of an experiment that takes a structure, the contender of this name, apart.
    #[must_use]
    pub const fn as_step_of(mut self, whole: &'static str) -> Self {
        self.role = Role::Step(whole);
        self
    }

    /// This contender under another name, to be measured beside itself.
    #[must_use]
    pub const fn as_twin(mut self, name: &'static str) -> Self {
        self.name = name;
        self.role = Role::Twin;
        self
    }
}
