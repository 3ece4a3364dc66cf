//! Type-erased contenders: one dynamic call per loop, not one per operation.

use super::{IndexContender, IndexRole, RegisteredIndex};
use crate::Result;
use crate::keyset::PackedKeys;
use crate::sys::{LoopClock, on_threads};
use crate::workload::Script;
use crate::workload::run::{self, LoopOutcome, RunMode};

/// An index under test, behind a pointer.
pub trait DynIndex {
    /// Inserts every `step`-th key from `first` on, on the calling thread.
    fn fill(&self, keys: &PackedKeys, first: usize, step: usize, clock: LoopClock) -> LoopOutcome;

    /// Runs one script on the calling thread.
    fn run(&self, script: &Script, how: RunMode) -> LoopOutcome;

    /// Returns the index for several threads; `None` if it supports one only.
    fn threads(&self) -> Option<&dyn DynConcurrentIndex>;

    /// Returns the live bytes of its own arenas, by part.
    fn own_bytes(&self) -> Vec<(&'static str, usize)>;

    /// Returns the live bytes by finer parts, if the index can tell them apart.
    ///
    /// # Errors
    /// If the index finds itself damaged.
    fn parts(&mut self) -> std::result::Result<Vec<(&'static str, usize)>, String>;
}

/// The loops of several threads on one index. Each thread is pinned to a core; all start together.
pub trait DynConcurrentIndex: DynIndex + Sync {
    /// Inserts all keys from `threads` threads, each with its share.
    ///
    /// # Errors
    /// If the system refuses threads or pinning.
    fn fill_together(&self, keys: &PackedKeys, threads: usize) -> Result<Vec<LoopOutcome>>;

    /// Runs one script per thread.
    ///
    /// # Errors
    /// If the system refuses threads or pinning.
    fn run_together(&self, scripts: &[Script], how: RunMode) -> Result<Vec<LoopOutcome>>;
}

/// A contender of a known type.
struct TypedIndex<C> {
    index: C,
    threads: fn(&Self) -> Option<&dyn DynConcurrentIndex>,
}

impl<C: IndexContender> DynIndex for TypedIndex<C> {
    fn fill(&self, keys: &PackedKeys, first: usize, step: usize, clock: LoopClock) -> LoopOutcome {
        run::fill(&self.index, keys, first, step, clock)
    }

    fn run(&self, script: &Script, how: RunMode) -> LoopOutcome {
        run::run(&self.index, script, how)
    }

    fn threads(&self) -> Option<&dyn DynConcurrentIndex> {
        (self.threads)(self)
    }

    fn own_bytes(&self) -> Vec<(&'static str, usize)> {
        self.index.own_bytes()
    }

    fn parts(&mut self) -> std::result::Result<Vec<(&'static str, usize)>, String> {
        self.index.parts()
    }
}

impl<C: IndexContender + Sync> DynConcurrentIndex for TypedIndex<C> {
    fn fill_together(&self, keys: &PackedKeys, threads: usize) -> Result<Vec<LoopOutcome>> {
        on_threads(threads, |number| run::fill(&self.index, keys, number, threads, LoopClock::Wall))
    }

    fn run_together(&self, scripts: &[Script], how: RunMode) -> Result<Vec<LoopOutcome>> {
        on_threads(scripts.len(), |number| run::run(&self.index, &scripts[number], how))
    }
}

impl RegisteredIndex {
    const fn of<C: IndexContender>(threads: bool, make: fn(usize) -> Box<dyn DynIndex>) -> Self {
        Self {
            name: C::NAME,
            about: C::ABOUT,
            can: C::CAN,
            key_bytes: C::KEY_BYTES,
            scan_key_bytes: C::SCAN_KEY_BYTES,
            make,
            threads,
            role: IndexRole::Rival,
        }
    }

    /// Returns the entry of a contender for one thread.
    pub const fn alone<C: IndexContender>() -> Self {
        Self::of::<C>(false, |expected| Box::new(TypedIndex { index: C::new(expected), threads: |_| None }))
    }

    /// Returns the entry of a contender for several threads.
    pub const fn shared<C: IndexContender + Sync>() -> Self {
        Self::of::<C>(true, |expected| {
            Box::new(TypedIndex { index: C::new(expected), threads: |index| Some(index) })
        })
    }

    /// Returns this contender under the name of a step of an experiment that takes the contender
    /// `whole` apart.
    #[must_use]
    pub const fn as_step_of(mut self, whole: &'static str, name: &'static str) -> Self {
        self.name = name;
        self.role = IndexRole::Step(whole);
        self
    }

    /// Returns this contender under another name, for comparison with itself.
    #[must_use]
    pub const fn as_twin(mut self, name: &'static str) -> Self {
        self.name = name;
        self.role = IndexRole::Twin;
        self
    }
}
