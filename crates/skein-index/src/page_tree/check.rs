//! The checker: walks a quiet index and verifies every invariant of pages and nodes. And the keys
//! that divide the index into parts.

use std::ops::Range;

use super::child::{Child, Target};
use super::node::Node;
use super::page::Page;
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::slot::Slot;

/// What [`PageTreeVariant::check`] counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct PageTreeStats {
    /// Keys.
    pub keys: usize,
    /// Pages.
    pub pages: usize,
    /// Bytes of pages.
    pub page_bytes: usize,
    /// Slots of pages, with and without keys.
    pub slots: usize,
    /// Nodes.
    pub nodes: usize,
    /// Bytes of nodes.
    pub node_bytes: usize,
    /// Levels of nodes.
    pub levels: usize,
}

/// The range of a page or a node: from the first bound up to the second, not included.
#[derive(Clone, Debug)]
struct Fences {
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
}

impl<S: Slot, V: PageTreeSettings> PageTreeVariant<S, V> {
    /// Verifies the structure, and counts its parts. No thread may be writing, which the mutable
    /// borrow proves.
    ///
    /// # Errors
    /// Returns a description of the first violation.
    pub fn check(&mut self) -> Result<PageTreeStats, String> {
        let mut stats = PageTreeStats::default();
        let root = self.engine.root();
        // SAFETY: the index is borrowed mutably, so its contents are live.
        if let Target::Node(node) = unsafe { root.target() } {
            stats.levels = node.level().into();
        }
        self.check_child(root, &Fences { lower: None, upper: None }, stats.levels, &mut stats)?;
        let counted = self.base.len.sum();
        if counted != stats.keys {
            return Err(format!("{} keys, but the counter says {counted}", stats.keys));
        }
        Ok(stats)
    }

    fn check_child(
        &self,
        child: Child,
        fences: &Fences,
        level: usize,
        stats: &mut PageTreeStats,
    ) -> Result<(), String> {
        // SAFETY: as in `check`.
        match unsafe { child.target() } {
            Target::Page(page) if level == 0 => self.check_page(page, fences, stats),
            Target::Node(node) if level == usize::from(node.level()) => self.check_node(node, fences, stats),
            _ => Err(format!("a child at level {level} is of another level")),
        }
    }

    fn check_node(&self, node: Node, fences: &Fences, stats: &mut PageTreeStats) -> Result<(), String> {
        let version = node.version().peek();
        if version.is_deleted() || version.is_locked() {
            return Err("a node is deleted or locked".into());
        }
        stats.nodes += 1;
        stats.node_bytes += node.size();
        if node.children() > V::FANOUT {
            return Err(format!("a node has {} children", node.children()));
        }
        fences.check_known(&node.prefix_of_range(fences.lower.as_deref()), node.known())?;
        let mut lower = fences.lower.clone();
        for at in 0..node.children() {
            let last = at + 1 == node.children();
            let upper = if last { fences.upper.clone() } else { Some(node.separator(at).to_vec()) };
            let child = Fences { lower, upper };
            child.check_order()?;
            self.check_child(node.child(at), &child, usize::from(node.level()) - 1, stats)?;
            lower = child.upper;
        }
        Ok(())
    }

    fn check_page(&self, page: Page, fences: &Fences, stats: &mut PageTreeStats) -> Result<(), String> {
        let version = page.version().peek();
        if version.is_deleted() || version.is_locked() {
            return Err("a page is deleted or locked".into());
        }
        stats.pages += 1;
        stats.page_bytes += page.size();
        stats.slots += page.slots();
        stats.keys += page.live();
        if page.live() > V::WIDTH || page.used() > page.slots() || page.live() > page.used() {
            return Err(format!("a page of {} slots has {} of {}", page.slots(), page.live(), page.used()));
        }
        fences.check_known(page.prefix(), page.prefix_len())?;
        let mut before: Option<Vec<u8>> = None;
        for rank in 0..page.live() {
            let slot = page.slot_of(rank);
            let key = [page.prefix(), page.rest(slot)].concat();
            if before.as_ref().is_some_and(|before| *before >= key) || !fences.include(&key) {
                return Err(format!("the key {} is out of order", key.escape_ascii()));
            }
            if page.tag(slot) != self.tag(&key) {
                return Err(format!("the key {} has a wrong tag", key.escape_ascii()));
            }
            if page.rank(page.rest(slot), page.live()) != (rank, Some(slot)) {
                return Err(format!("the key {} has a wrong head", key.escape_ascii()));
            }
            before = Some(key);
        }
        Self::check_heap(page)?;
        let tagged = (0..page.slots()).filter(|&slot| page.tag(slot) != 0).count();
        if tagged != page.live() {
            return Err(format!("{tagged} slots of a page have tags, and {} have keys", page.live()));
        }
        Ok(())
    }

    /// Checks that the entries of a page and its hole share no bytes, and that all other bytes are
    /// counted as dead.
    fn check_heap(page: Page) -> Result<(), String> {
        let slots = (0..page.live()).map(|rank| page.slot_of(rank));
        let mut parts: Vec<_> = slots.map(|slot| page.entry_range::<S>(slot)).collect();
        let live: usize = parts.iter().map(Range::len).sum();
        parts.push(page.hole());
        parts.retain(|part| !part.is_empty());
        parts.sort_by_key(|part| part.start);
        if let Some((one, next)) =
            parts.iter().zip(parts.iter().skip(1)).find(|(one, next)| one.end > next.start)
        {
            return Err(format!("the bytes {one:?} and {next:?} of a page overlap"));
        }
        if live != page.heap_bytes() {
            return Err(format!(
                "the entries of a page have {live} bytes, and it counts {}",
                page.heap_bytes()
            ));
        }
        Ok(())
    }

    /// Returns keys that divide the index into about `parts` parts of similar size, in order.
    pub(super) fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut level: Vec<Node> = node_of(self.engine.root()).into_iter().collect();
        // A level has the separators of all levels above it, too.
        while !level.is_empty() && found.len() < 8 * parts {
            found.extend(
                level.iter().flat_map(|node| (1..node.children()).map(|at| node.separator(at - 1).to_vec())),
            );
            level = level
                .iter()
                .flat_map(|node| (0..node.children()).filter_map(|at| node_of(node.child(at))))
                .collect();
        }
        found.sort();
        let parts = parts.clamp(1, found.len() + 1);
        (1..parts).map(|part| found[part * (found.len() + 1) / parts - 1].clone()).collect()
    }
}

/// Returns the node that a link leads to, if it is one. The caller holds a guard.
fn node_of(child: Child) -> Option<Node> {
    // SAFETY: loaded from the root or from a live node.
    match unsafe { child.target() } {
        Target::Node(node) => Some(node),
        Target::Page(_) => None,
    }
}

impl Fences {
    fn check_order(&self) -> Result<(), String> {
        match (&self.lower, &self.upper) {
            (Some(lower), Some(upper)) if lower >= upper => {
                Err(format!("the separator {} is out of order", upper.escape_ascii()))
            }
            _ => Ok(()),
        }
    }

    fn include(&self, key: &[u8]) -> bool {
        self.lower.as_deref().is_none_or(|lower| lower <= key)
            && self.upper.as_deref().is_none_or(|upper| key < upper)
    }

    /// Checks that all keys between the fences begin with the first `known` bytes of `prefix`.
    fn check_known(&self, prefix: &[u8], known: usize) -> Result<(), String> {
        let shares = |fence: &Option<Vec<u8>>| {
            known == 0 || fence.as_ref().is_some_and(|fence| fence.starts_with(&prefix[..known]))
        };
        if shares(&self.lower) && shares(&self.upper) {
            Ok(())
        } else {
            Err(format!("a range does not share the prefix {}", prefix.escape_ascii()))
        }
    }
}

impl Node {
    /// Returns bytes that begin with those that all keys of the node's range share.
    fn prefix_of_range(self, lower: Option<&[u8]>) -> Vec<u8> {
        if self.children() > 1 { self.separator(0).to_vec() } else { lower.unwrap_or_default().to_vec() }
    }
}
