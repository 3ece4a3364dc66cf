//! The numbers below a bound in random order, each written in some way. No number repeats, and the
//! source stores none of them.
//!
//! Drawing numbers with replacement and dropping the duplicates would give the same distribution:
//! every order of every choice of numbers is equally likely.

use super::{KeyRequest, KeySource};
use crate::Result;
use crate::keyset::NumberPermutation;

/// Returns a source of the numbers below `items`. `write` must write no two of them alike.
pub fn numbered(
    request: &KeyRequest,
    items: u64,
    write: impl FnMut(u64, &mut Vec<u8>) + 'static,
) -> Box<dyn KeySource> {
    Box::new(Numbered { order: NumberPermutation::new(items, request.seed_of(0)), next: 0, write })
}

struct Numbered<W> {
    order: NumberPermutation,
    next: u64,
    write: W,
}

impl<W: FnMut(u64, &mut Vec<u8>)> KeySource for Numbered<W> {
    fn next(&mut self, key: &mut Vec<u8>) -> Result<bool> {
        if self.next == self.order.items() {
            return Ok(false);
        }
        (self.write)(self.order.at(self.next), key);
        self.next += 1;
        Ok(true)
    }

    fn repeats(&self) -> bool {
        false
    }

    fn space(&self) -> Option<u64> {
        Some(self.order.items())
    }
}
