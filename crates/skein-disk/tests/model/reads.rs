//! The reads of a sequence.

use std::ops::Bound;

use skein_disk::{KeySpace, Result, ScanRequest, WalkDirection};

use crate::oracle::{OracleMap, OracleState};
use crate::sequence::{Sequence, SequenceStep};

/// Keys per request when the whole store is read.
const KEYS_PER_REQUEST: usize = 37;

impl Sequence {
    pub fn get(&mut self) -> SequenceStep {
        let space = self.space();
        let key = self.known_key(space);
        let found = self.store().space(space)?.get(&key)?;
        assert_eq!(found.as_ref(), self.expected(space).get(&key), "get");
        Ok(())
    }

    pub fn get_many(&mut self) -> SequenceStep {
        let space = self.space();
        let keys: Vec<_> = (0..=self.draw.below(20)).map(|_| self.known_key(space)).collect();
        let wanted: Vec<_> = keys.iter().map(|key| &key[..]).collect();
        let found = self.store().space(space)?.get_many(&wanted, usize::MAX)?;
        for (at, key) in keys.iter().enumerate() {
            let expected = self.expected(space).get(key).map(|value| &value[..]);
            assert_eq!(found.get(at).map(|entry| entry.1), expected, "one of many keys");
        }
        Ok(())
    }

    pub fn range(&mut self) -> SequenceStep {
        let space = self.space();
        if !self.is_ordered(space) {
            return self.get();
        }
        let (one, other, keys) = (self.key(), self.key(), 1 + self.draw.below(20));
        let (least, greatest) = if one < other { (&one, &other) } else { (&other, &one) };
        let lower = [Bound::Unbounded, Bound::Included(&least[..]), Bound::Excluded(&least[..])];
        let upper = [Bound::Unbounded, Bound::Included(&greatest[..])];
        let (lower, upper) = (self.draw.of(&lower), self.draw.of(&upper));
        let direction = self.draw.of(&[WalkDirection::Forward, WalkDirection::Backward]);
        if one == other && matches!(lower, Bound::Excluded(_)) {
            return Ok(());
        }
        let found = self.store().space(space)?.range(&ScanRequest {
            lower,
            upper,
            direction,
            keys,
            bytes: 1 << 22,
            values: true,
        })?;
        let mut expected: Vec<_> = self.expected(space).range::<[u8], _>((lower, upper)).collect();
        if direction == WalkDirection::Backward {
            expected.reverse();
        }
        let entries: Vec<_> = found.entries.iter().map(|entry| (&entry.key, &entry.value)).collect();
        assert!(entries[..] == expected[..entries.len().min(expected.len())], "range");
        assert_eq!(found.more, entries.len() < expected.len(), "whether a range has more keys");
        Ok(())
    }

    pub fn cursor(&mut self) -> SequenceStep {
        let space = self.space();
        if !self.is_ordered(space) {
            return self.get();
        }
        let mut cursor = self.store().space(space)?.cursor()?;
        for (key, value) in self.expected(space) {
            let entry = cursor.next()?.expect("the cursor has one more key");
            assert!((&entry.key, &entry.value) == (key, value), "cursor");
        }
        assert!(cursor.next()?.is_none(), "the cursor has one key more");
        Ok(())
    }

    /// Reads all keys of all spaces.
    pub fn read_all(&self) -> Result<OracleState> {
        let mut all = OracleState::default();
        for space in self.spaces() {
            self.read_space(*space, all.of_mut(*space))?;
        }
        Ok(all)
    }

    fn read_space(&self, space: KeySpace, all: &mut OracleMap) -> Result<()> {
        let (reader, mut last) = (self.store().space(space)?, None::<Vec<u8>>);
        loop {
            let lower = last.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(&key[..]));
            let (upper, direction) = (Bound::Unbounded, WalkDirection::Forward);
            let request =
                ScanRequest { lower, upper, direction, keys: KEYS_PER_REQUEST, bytes: 1 << 20, values: true };
            let found = reader.walk(&request)?;
            last = found.entries.last().map(|entry| entry.key.clone());
            for entry in found.entries {
                assert!(all.insert(entry.key, entry.value).is_none(), "a walk returns a key twice");
            }
            if !found.more {
                return Ok(());
            }
        }
    }
}
