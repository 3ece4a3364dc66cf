//! Indexes with deliberate flaws, to show that the checker notices them.

use std::ops::Bound;

use skein_index::{
    Boxed, Collector, ComputeAction, Computed, Guard, IndexError, MemoryUsage, OrderedIndex, Slot, Wormhole,
};

use crate::record::UniqueValue;

/// The flaw of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// `compute` writes its decision late, after other threads may have written.
    LateDecision,
    /// `remove` returns the value that was present a moment before.
    SecondRemoval,
    /// `insert` returns the value that was present a moment before.
    LateAnswer,
    /// `remove_range` reports the keys that were present a moment before.
    RangeNamesTooMany,
    /// `get_many` returns one key's answer for all keys.
    OneAnswerForAll,
}

type SoundIndex = Wormhole<Boxed<UniqueValue>>;

#[derive(Debug)]
pub struct Flawed {
    pub inner: SoundIndex,
    pub flaw: Flaw,
}

impl Flawed {
    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }
}

type ValueAnswer<'g> = Option<<Boxed<UniqueValue> as Slot>::Ref<'g>>;

impl OrderedIndex<Boxed<UniqueValue>> for Flawed {
    type IndexCursor<'g, G: Guard + 'g> =
        <SoundIndex as OrderedIndex<Boxed<UniqueValue>>>::IndexCursor<'g, G>;

    fn collector(&self) -> &Collector {
        self.inner.collector()
    }

    fn get<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> ValueAnswer<'g> {
        self.inner.get(key, guard)
    }

    fn get_many<'g, G: Guard>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g G,
        mut found: impl FnMut(usize, ValueAnswer<'g>),
    ) {
        if self.has(Flaw::OneAnswerForAll) {
            let first = keys.first().and_then(|key| self.inner.get(key, guard));
            (0..keys.len()).for_each(|at| found(at, first));
        } else {
            self.inner.get_many(keys, guard, found);
        }
    }

    fn insert<'g, G: Guard>(
        &'g self,
        key: &[u8],
        value: Boxed<UniqueValue>,
        guard: &'g G,
    ) -> Result<ValueAnswer<'g>, IndexError> {
        let before = self.inner.get(key, guard);
        let done = self.inner.insert(key, value, guard)?;
        Ok(if self.has(Flaw::LateAnswer) { before } else { done })
    }

    fn remove<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> ValueAnswer<'g> {
        let before = self.inner.get(key, guard);
        let done = self.inner.remove(key, guard);
        if self.has(Flaw::SecondRemoval) { before } else { done }
    }

    fn remove_if<'g, G: Guard>(
        &'g self,
        key: &[u8],
        condition: impl FnOnce(&UniqueValue) -> bool,
        guard: &'g G,
    ) -> ValueAnswer<'g> {
        self.inner.remove_if(key, condition, guard)
    }

    fn compute<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(ValueAnswer<'_>) -> ComputeAction<Boxed<UniqueValue>>,
        guard: &'g G,
    ) -> Result<Computed<'g, Boxed<UniqueValue>>, IndexError> {
        if !self.has(Flaw::LateDecision) {
            return self.inner.compute(key, change, guard);
        }
        let before = self.inner.get(key, guard);
        let changed = match change(before) {
            ComputeAction::Keep => false,
            ComputeAction::Put(value) => {
                self.inner.insert(key, value, guard)?;
                true
            }
            ComputeAction::Remove => {
                self.inner.remove(key, guard);
                before.is_some()
            }
        };
        Ok(Computed { before, changed })
    }

    fn cursor<'g, G: Guard>(&'g self, guard: &'g G) -> Self::IndexCursor<'g, G> {
        self.inner.cursor(guard)
    }

    fn remove_range<G: Guard>(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        mut each: impl FnMut(&[u8]),
        guard: &G,
    ) -> usize {
        if !self.has(Flaw::RangeNamesTooMany) {
            return self.inner.remove_range(bounds, each, guard);
        }
        let named: Vec<Vec<u8>> =
            skein_index::range(&self.inner, bounds, guard).map(|(key, _)| key).collect();
        self.inner.remove_range(bounds, |_| {}, guard);
        for key in &named {
            each(key);
        }
        named.len()
    }

    fn len(&self) -> usize {
        OrderedIndex::len(&self.inner)
    }

    fn split_points<G: Guard>(&self, parts: usize, guard: &G) -> Vec<Vec<u8>> {
        self.inner.split_points(parts, guard)
    }

    fn memory(&self) -> MemoryUsage {
        OrderedIndex::memory(&self.inner)
    }

    fn allocated_bytes(&self) -> usize {
        self.inner.allocated_bytes()
    }
}
