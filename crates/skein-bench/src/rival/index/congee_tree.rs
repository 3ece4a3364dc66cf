//! `congee`: an adaptive radix tree with optimistic lock coupling (the papers' ART-OLC), for keys
//! of 8 bytes.

use std::cell::RefCell;

use congee::U64Congee;
use congee::epoch::{self, Guard};

use super::key_repr::word;
use super::{IndexAbilities, IndexContender, RegisteredIndex};

pub static ENTRIES: [RegisteredIndex; 1] = [RegisteredIndex::shared::<Congee>()];

struct Congee(U64Congee<usize>);

thread_local! {
    /// The buffer that its scans fill.
    static FOUND: RefCell<Vec<([u8; 8], usize)>> = const { RefCell::new(Vec::new()) };
}

impl IndexContender for Congee {
    const NAME: &'static str = "congee";
    const ABOUT: &'static str = "congee 0.4, U64Congee<usize>; keys of 8 bytes only, scans upward only";
    const CAN: IndexAbilities =
        IndexAbilities { scan: true, lower_bound: true, remove: true, ..IndexAbilities::NOTHING };
    const KEY_BYTES: (usize, usize) = (8, 8);
    type Pin<'a> = Guard;

    fn new(_expected: usize) -> Self {
        Self(U64Congee::new())
    }

    fn pin(&self) -> Guard {
        epoch::pin()
    }

    fn insert(&self, pin: &Guard, key: &[u8], value: u64) {
        self.0.insert(word(key), value as usize, pin).expect("memory for a node");
    }

    fn get(&self, pin: &Guard, key: &[u8]) -> Option<u64> {
        self.0.get(word(key), pin).map(|value| value as u64)
    }

    fn remove(&self, pin: &Guard, key: &[u8]) -> bool {
        self.0.remove(word(key), pin).is_some()
    }

    fn scan(&self, pin: &Guard, from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        FOUND.with_borrow_mut(|buffer| {
            if buffer.len() < count {
                buffer.resize(count, ([0; 8], 0));
            }
            let found = self.0.range(word(from), u64::MAX, &mut buffer[..count], pin);
            for (key, value) in &buffer[..found] {
                each(key, *value as u64);
            }
            // A range excludes its end, so the greatest key needs a lookup of its own.
            let last = if found < count { self.0.get(u64::MAX, pin) } else { None };
            if let Some(value) = last {
                each(&[u8::MAX; 8], value as u64);
            }
        });
    }
}
