//! The checker: visits all nodes of an index without other users, and the whole table, and verifies
//! every invariant.

use std::collections::HashSet;

use super::CuckooTrieVariant;
use super::entry::{CuckooNodeKind, JUMP_MAX, UNDER_JUMP};
use super::lanes::SLOTS;
use super::search::NamedNode;
use super::symbols::{END, KeySymbols};
use super::table::CuckooTable;
use super::transaction::CuckooAbort;
use super::variant::CuckooSettings;
use crate::slot::Slot;

/// The counts of a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CuckooTrieShape {
    /// Keys, each with a leaf.
    pub keys: usize,
    /// Branches, including the root.
    pub branches: usize,
    /// Jumps.
    pub jumps: usize,
    /// Symbols in jumps.
    pub jump_symbols: usize,
    /// The sum of the leaves' depths, in symbols.
    pub depths: usize,
    /// Slots of the table.
    pub slots: usize,
    /// Entries in their secondary buckets.
    pub secondary: usize,
}

impl CuckooTrieShape {
    /// Returns the number of entries in the table.
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

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
    /// Verifies the whole structure.
    ///
    /// # Errors
    /// Describes the first violation.
    pub fn check(&mut self) -> Result<CuckooTrieShape, String> {
        let mut shape = self.check_trie()?;
        let entries = self.check_table(&mut shape)?;
        ensure!(entries == shape.entries(), "the table has {entries} entries, the trie {}", shape.entries());
        ensure!(
            entries == self.engine.entries.sum(),
            "the counter says {} entries, the table has {entries}",
            self.engine.entries.sum()
        );
        ensure!(
            shape.keys == self.base.len.sum(),
            "the counter says {} keys, the trie has {}",
            self.base.len.sum(),
            shape.keys
        );
        Ok(shape)
    }

    /// Verifies that every entry is where its hash says, and that no two nodes share hash and
    /// color.
    fn check_table(&mut self, shape: &mut CuckooTrieShape) -> Result<usize, String> {
        let size = self.engine.table.size();
        ensure!(
            (CuckooTable::<V>::LEAST..=CuckooTable::<V>::MOST).contains(&size),
            "the table has {size} buckets"
        );
        shape.slots = size as usize * SLOTS;
        let places = self.engine.table.places();
        let mut names = HashSet::new();
        let (mut entries, mut wrong) = (0, None);
        self.engine.table.each(|bucket, slot, entry| {
            entries += 1;
            shape.secondary += usize::from(entry.is_secondary());
            let hash = CuckooTable::<V>::hash_of(entry.lane, bucket);
            if CuckooTable::<V>::home(entry.lane, bucket, places) != bucket {
                wrong = Some(format!("bucket {bucket}, slot {slot}: the entry belongs to another bucket"));
            }
            if !names.insert((hash, entry.color())) {
                wrong = Some(format!(
                    "bucket {bucket}, slot {slot}: two names with hash {hash} have the same color"
                ));
            }
        });
        wrong.map_or(Ok(entries), Err)
    }

    fn check_trie(&self) -> Result<CuckooTrieShape, String> {
        let mut shape = CuckooTrieShape::default();
        // Nodes to visit, each with its parent and the symbols of its name.
        let mut waiting: Vec<(NamedNode, Option<NamedNode>, Vec<u8>)> = vec![(self.root(), None, Vec::new())];
        while let Some((at, parent, name)) = waiting.pop() {
            let entry = at.node.entry;
            ensure!(at.depth as usize == name.len(), "node {name:?} has depth {}", at.depth);
            if let Some(parent) = parent {
                let above = parent.node.entry;
                let color = if above.kind() == CuckooNodeKind::Jump { UNDER_JUMP } else { above.color() };
                ensure!(entry.parent() == color, "node {name:?} has the color of another parent");
                ensure!(
                    Some(&entry.symbol()) == name.last(),
                    "the entry of node {name:?} has another last symbol"
                );
            }
            let below = |symbols: &mut dyn Iterator<Item = u8>| name.iter().copied().chain(symbols).collect();
            match entry.kind() {
                CuckooNodeKind::Branch => {
                    shape.branches += 1;
                    let depth = entry.depth() as usize;
                    ensure!(depth == name.len(), "branch {name:?} stores the depth {depth}");
                    ensure!(
                        parent.is_none() || entry.bitmap().count_ones() > 1,
                        "branch {name:?} has fewer than two children"
                    );
                    for symbol in (0..u64::BITS as u8).filter(|&symbol| entry.bitmap() >> symbol & 1 == 1) {
                        let child = self.below_branch(&at, symbol).map_err(|abort| lost(&name, abort))?;
                        waiting.push((child, Some(at), below(&mut std::iter::once(symbol))));
                    }
                }
                CuckooNodeKind::Jump => {
                    shape.jumps += 1;
                    let length = entry.length();
                    shape.jump_symbols += length as usize;
                    ensure!((1..=JUMP_MAX).contains(&length), "jump {name:?} has {length} symbols");
                    let child = self.below_jump(&at).map_err(|abort| lost(&name, abort))?;
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
                    let record = unsafe { entry.record() }.ok_or("a leaf has no record")?;
                    let symbols = KeySymbols::of(record.key());
                    let same = (0..).zip(&name).all(|(index, &symbol)| symbols.at(index) == symbol);
                    let ended =
                        name.iter().position(|&symbol| symbol == END).is_none_or(|end| end + 1 == name.len());
                    ensure!(same && ended, "the leaf of key {:?} has the name {name:?}", record.key());
                }
                CuckooNodeKind::Dead => return Err(format!("dead leaf {name:?} was not removed")),
            }
        }
        Ok(shape)
    }
}

fn lost(name: &[u8], abort: CuckooAbort) -> String {
    format!("node {name:?} lacks a child: {abort:?}")
}
