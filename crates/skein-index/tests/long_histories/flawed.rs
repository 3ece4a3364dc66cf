//! Indexes that are wrong on purpose, so that the tests show that the checker notices.

use std::ops::Bound;

use skein_index::{
    Boxed, Change, Collector, Computed, Guard, MemoryUsage, OrderedIndex, Refused, Slot, Wormhole,
};

use crate::record::Value;

/// What an index does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// `compute` writes what it decided after others may have written.
    LateDecision,
    /// `remove` answers what was there a moment before.
    SecondRemoval,
    /// `insert` answers what was there a moment before.
    LateAnswer,
    /// `remove_range` names what was there a moment before.
    RangeNamesTooMany,
    /// `get_many` takes the answer for one key for all.
    OneAnswerForAll,
}

type Inner = Wormhole<Boxed<Value>>;

#[derive(Debug)]
pub struct Flawed {
    pub inner: Inner,
    pub flaw: Flaw,
}

impl Flawed {
    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }
}

type Answer<'g> = Option<<Boxed<Value> as Slot>::Ref<'g>>;

impl OrderedIndex<Boxed<Value>> for Flawed {
    type Cursor<'g, G: Guard + 'g> = <Inner as OrderedIndex<Boxed<Value>>>::Cursor<'g, G>;

    fn collector(&self) -> &Collector {
        self.inner.collector()
    }

    fn get<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Answer<'g> {
        self.inner.get(key, guard)
    }

    fn get_many<'g, G: Guard>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g G,
        mut found: impl FnMut(usize, Answer<'g>),
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
        value: Boxed<Value>,
        guard: &'g G,
    ) -> Result<Answer<'g>, Refused> {
        let before = self.inner.get(key, guard);
        let done = self.inner.insert(key, value, guard)?;
        Ok(if self.has(Flaw::LateAnswer) { before } else { done })
    }

    fn remove<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Answer<'g> {
        let before = self.inner.get(key, guard);
        let done = self.inner.remove(key, guard);
        if self.has(Flaw::SecondRemoval) { before } else { done }
    }

    fn compute<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Answer<'_>) -> Change<Boxed<Value>>,
        guard: &'g G,
    ) -> Result<Computed<'g, Boxed<Value>>, Refused> {
        if !self.has(Flaw::LateDecision) {
            return self.inner.compute(key, change, guard);
        }
        let before = self.inner.get(key, guard);
        let changed = match change(before) {
            Change::Keep => false,
            Change::Put(value) => {
                self.inner.insert(key, value, guard)?;
                true
            }
            Change::Remove => {
                self.inner.remove(key, guard);
                before.is_some()
            }
        };
        Ok(Computed { before, changed })
    }

    fn cursor<'g, G: Guard>(&'g self, guard: &'g G) -> Self::Cursor<'g, G> {
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

    fn taken(&self) -> usize {
        self.inner.taken()
    }
}
