//! Least recently used: a list in the order of use, and a map into it (section 2.2).
//!
//! ```text
//!   map      page ─► cell
//!   cells    first ─► ... ─► last          links are cell numbers; free cells are listed apart
//! ```

use std::collections::HashMap;

use super::{Replacement, VictimFate};
use crate::page::PageId;

const NONE: usize = usize::MAX;

#[derive(Clone, Copy, Debug)]
struct LruCell {
    page: PageId,
    before: usize,
    after: usize,
}

/// The list and the map. All operations take constant time.
#[derive(Debug)]
pub(super) struct Lru {
    cells: Vec<LruCell>,
    free: Vec<usize>,
    map: HashMap<PageId, usize>,
    /// The least recently used page.
    first: usize,
    last: usize,
}

impl Lru {
    pub(super) fn new() -> Self {
        Self { cells: Vec::new(), free: Vec::new(), map: HashMap::new(), first: NONE, last: NONE }
    }

    fn unlink(&mut self, cell: usize) {
        let LruCell { before, after, .. } = self.cells[cell];
        match before {
            NONE => self.first = after,
            before => self.cells[before].after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.cells[after].before = before,
        }
    }

    fn link_last(&mut self, cell: usize) {
        (self.cells[cell].before, self.cells[cell].after) = (self.last, NONE);
        match self.last {
            NONE => self.first = cell,
            last => self.cells[last].after = cell,
        }
        self.last = cell;
    }
}

impl Replacement for Lru {
    fn wants_uses(&self) -> bool {
        true
    }

    fn insert(&mut self, page: PageId) {
        self.remove(page);
        let new = LruCell { page, before: NONE, after: NONE };
        let cell = self.free.pop().unwrap_or_else(|| {
            self.cells.push(new);
            self.cells.len() - 1
        });
        self.cells[cell] = new;
        self.map.insert(page, cell);
        self.link_last(cell);
    }

    fn entries(&self) -> usize {
        self.map.len()
    }

    fn touch(&mut self, page: PageId) {
        if let Some(&cell) = self.map.get(&page) {
            self.unlink(cell);
            self.link_last(cell);
        }
    }

    fn remove(&mut self, page: PageId) {
        if let Some(cell) = self.map.remove(&page) {
            self.unlink(cell);
            self.free.push(cell);
        }
    }

    fn resize(&mut self, _: usize) {
        // Anew, because free cells lie between those in use.
        let mut cells = Self::new();
        let mut next = self.first;
        while let Some(cell) = self.cells.get(next) {
            cells.insert(cell.page);
            next = cell.after;
        }
        *self = cells;
    }

    fn choose_victim(
        &mut self,
        _: &mut dyn FnMut(PageId) -> bool,
        fate: &mut dyn FnMut(PageId) -> VictimFate,
    ) -> Option<PageId> {
        for _ in 0..self.map.len() {
            let page = self.cells.get(self.first)?.page;
            if fate(page) == VictimFate::Evict {
                self.remove(page);
                return Some(page);
            }
            self.touch(page);
        }
        None
    }
}
