//! The checker: walks a quiet index and the whole table, and verifies every invariant.

use std::collections::HashSet;

use super::CuckooTrie;
use super::entry::{CuckooNodeKind, JUMP_MAX, UNDER_JUMP};
use super::lanes::SLOTS;
use super::search::NamedNode;
use super::symbols::{END, KeySymbols};
use super::table::CuckooTable;
use super::transaction::CuckooAbort;
use crate::slot::Slot;

/// What the checker counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CuckooTrieShape {
    /// Keys, each with a leaf.
    pub keys: usize,
    /// Branches, the root included.
    pub branches: usize,
    /// Jumps.
    pub jumps: usize,
    /// Symbols in jumps.
    pub jump_symbols: usize,
    /// The sum of the leaves' depths, in symbols.
    pub depths: usize,
    /// Slots of the table.
    pub slots: usize,
    /// Entries that are not in their primary buckets.
    pub secondary: usize,
}

impl CuckooTrieShape {
    /// Entries in the table.
    pub fn entries(&self) -> usize {
        self.keys + self.branches - 1 + self.jumps
    }
}

macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*));
        }
    };
}

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// Verifies the whole structure.
    ///
    /// # Errors
    /// The first violation, in words.
    pub fn check(&mut self) -> Result<CuckooTrieShape, String> {
        let mut shape = self.check_trie()?;
        let entries = self.check_table(&mut shape)?;
        ensure!(
            entries == shape.entries(),
            "{entries} entries in the table, {} in the trie",
            shape.entries()
        );
        ensure!(entries == self.entries.sum(), "{} entries counted, {entries} there", self.entries.sum());
        ensure!(
            shape.keys == self.base.len.sum(),
            "{} keys counted, {} there",
            self.base.len.sum(),
            shape.keys
        );
        Ok(shape)
    }

    /// Every entry is where its hash says, and no two nodes share both hash and color.
    fn check_table(&mut self, shape: &mut CuckooTrieShape) -> Result<usize, String> {
        let size = self.table.size();
        ensure!((CuckooTable::<V>::LEAST..=CuckooTable::<V>::MOST).contains(&size), "{size} buckets");
        shape.slots = size as usize * SLOTS;
        let places = self.table.places();
        let mut names = HashSet::new();
        let (mut entries, mut wrong) = (0, None);
        self.table.each(|bucket, slot, entry| {
            entries += 1;
            shape.secondary += usize::from(entry.is_secondary());
            let hash = CuckooTable::<V>::hash_of(entry.lane, bucket);
            if CuckooTable::<V>::home(entry.lane, bucket, places) != bucket {
                wrong = Some(format!("bucket {bucket}, slot {slot}: an entry of another bucket"));
            }
            if !names.insert((hash, entry.color())) {
                wrong =
                    Some(format!("bucket {bucket}, slot {slot}: two names of hash {hash} have one color"));
            }
        });
        wrong.map_or(Ok(entries), Err)
    }

    fn check_trie(&self) -> Result<CuckooTrieShape, String> {
        let mut shape = CuckooTrieShape::default();
        // Each with its parent, and the symbols of its name.
        let mut waiting: Vec<(NamedNode, Option<NamedNode>, Vec<u8>)> = vec![(self.root(), None, Vec::new())];
        while let Some((at, parent, name)) = waiting.pop() {
            let entry = at.node.entry;
            ensure!(at.depth as usize == name.len(), "a node of depth {} is called {name:?}", at.depth);
            if let Some(parent) = parent {
                let above = parent.node.entry;
                let color = if above.kind() == CuckooNodeKind::Jump { UNDER_JUMP } else { above.color() };
                ensure!(entry.parent() == color, "{name:?} has another parent's color");
                ensure!(Some(&entry.symbol()) == name.last(), "{name:?} ends with another symbol");
            }
            let below = |symbols: &mut dyn Iterator<Item = u8>| name.iter().copied().chain(symbols).collect();
            match entry.kind() {
                CuckooNodeKind::Branch => {
                    shape.branches += 1;
                    let depth = entry.depth() as usize;
                    ensure!(depth == name.len(), "branch {name:?} says that it is {depth} symbols deep");
                    ensure!(
                        parent.is_none() || entry.bitmap().count_ones() > 1,
                        "branch {name:?} has one child"
                    );
                    for symbol in (0..u64::BITS as u8).filter(|&symbol| entry.bitmap() >> symbol & 1 == 1) {
                        let child =
                            self.below_branch(&at, symbol).map_err(|obstacle| lost(&name, obstacle))?;
                        waiting.push((child, Some(at), below(&mut std::iter::once(symbol))));
                    }
                }
                CuckooNodeKind::Jump => {
                    shape.jumps += 1;
                    let length = entry.length();
                    shape.jump_symbols += length as usize;
                    ensure!((1..=JUMP_MAX).contains(&length), "a jump of {length} symbols");
                    let child = self.below_jump(&at).map_err(|obstacle| lost(&name, obstacle))?;
                    let kind = child.node.entry.kind();
                    ensure!(
                        !matches!(kind, CuckooNodeKind::Leaf | CuckooNodeKind::Dead),
                        "jump {name:?} leads to a leaf"
                    );
                    waiting.push((child, Some(at), below(&mut entry.jump_symbols(0, length))));
                }
                CuckooNodeKind::Leaf => {
                    shape.keys += 1;
                    shape.depths += name.len();
                    // SAFETY: a leaf; the index is borrowed mutably.
                    let record = unsafe { entry.record() }.ok_or("a leaf without a record")?;
                    let symbols = KeySymbols::of(record.key());
                    let same = (0..).zip(&name).all(|(index, &symbol)| symbols.at(index) == symbol);
                    let ended =
                        name.iter().position(|&symbol| symbol == END).is_none_or(|end| end + 1 == name.len());
                    ensure!(same && ended, "{:?} is at {name:?}", record.key());
                }
                CuckooNodeKind::Dead => return Err(format!("a dead leaf is left at {name:?}")),
            }
        }
        Ok(shape)
    }
}

fn lost(name: &[u8], obstacle: CuckooAbort) -> String {
    format!("a child of {name:?} is not there: {obstacle:?}")
}
