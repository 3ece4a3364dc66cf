//! Checks all invariants of a counted set: every page, key, count and separator.

use std::collections::BTreeSet;
use std::ops::{Bound, RangeBounds};

use super::descent::{damaged, key_page};
use super::key_page::{CountedChild, KEY_HEAD, KeyPage};
use super::long_key::load_key;
use super::{CountedSet, SET_KEY_MOST};
use crate::page::PageId;
use crate::record::{PageReader, WalkResult};
use crate::trie::OverflowChain;

/// The size of a counted set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CountedSetCensus {
    /// Keys.
    pub(crate) keys: u64,
    /// Pages without children.
    pub(crate) leaves: usize,
    /// Pages with children.
    pub(crate) inner_pages: usize,
    /// Pages with the rests of long keys and separators.
    pub(crate) overflow_pages: usize,
    /// Bytes in use in the leaves.
    pub(crate) leaf_bytes: usize,
    /// Pages on each path from the root.
    pub(crate) depth: usize,
}

impl CountedSetCensus {
    /// Returns the number of all pages.
    pub(crate) fn pages(&self) -> usize {
        self.leaves + self.inner_pages + self.overflow_pages
    }
}

/// A page that is still to be checked, with its parent's statements about it.
struct UncheckedPage {
    id: PageId,
    /// The level and the number of keys; unknown for the root.
    expected: Option<(u8, u64)>,
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
}

struct CountedSetCheck<C> {
    census: CountedSetCensus,
    seen: BTreeSet<PageId>,
    unchecked: Vec<UncheckedPage>,
    /// Called with each page.
    claim: C,
}

impl CountedSet {
    /// Checks the whole set, in time proportional to its pages, and calls `claim` with each page.
    ///
    /// # Errors
    /// The first violation of an invariant, with its page; those of `claim`.
    pub(crate) fn check(
        self,
        pages: &mut impl PageReader,
        claim: impl FnMut(PageId) -> WalkResult<()>,
    ) -> WalkResult<CountedSetCensus> {
        let root = UncheckedPage { id: self.root, expected: None, lower: None, upper: None };
        let depth = usize::from(key_page(pages, self.root)?.level()) + 1;
        let census = CountedSetCensus { depth, ..CountedSetCensus::default() };
        let mut check = CountedSetCheck { census, seen: BTreeSet::new(), unchecked: vec![root], claim };
        while let Some(next) = check.unchecked.pop() {
            check.page(pages, &next)?;
        }
        Ok(check.census)
    }
}

impl<C: FnMut(PageId) -> WalkResult<()>> CountedSetCheck<C> {
    fn page(&mut self, pages: &mut impl PageReader, next: &UncheckedPage) -> WalkResult<()> {
        let id = next.id;
        self.note(id, id)?;
        let page = key_page(pages, id)?;
        let chains = check_content(&page).and_then(|chains| next.check(&page).map(|()| chains));
        let chains = chains.map_err(damaged(id))?;
        let (level, len) = (page.level(), page.len());
        if level == 0 {
            self.census.leaves += 1;
            self.census.leaf_bytes += page.used();
            self.census.keys += len as u64;
        } else {
            self.census.inner_pages += 1;
        }
        for chain in chains {
            for page in chain.pages(pages)? {
                self.note(page, id)?;
                self.census.overflow_pages += 1;
            }
        }
        if level == 0 { next.check_keys(pages, len) } else { self.children(pages, next, len) }
    }

    /// Notes a page, which no other pointer may lead to.
    fn note(&mut self, page: PageId, by: PageId) -> WalkResult<()> {
        if self.seen.insert(page) {
            return (self.claim)(page);
        }
        Err(damaged(by)(format!("page {} has another owner, too", page.0)))
    }

    /// Checks the separators of a page, and adds its children.
    fn children(
        &mut self,
        pages: &mut impl PageReader,
        parent: &UncheckedPage,
        len: usize,
    ) -> WalkResult<()> {
        let mut lower = parent.lower.clone();
        for at in 0..len {
            let mut upper = parent.upper.clone();
            if at + 1 < len {
                let separator = upper.insert(Vec::new());
                load_key(pages, parent.id, at + 1, separator)?;
                let after = lower.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                parent.check_key(separator, at + 1, after)?;
            }
            let page = key_page(pages, parent.id)?;
            let CountedChild { page: id, count } = page.counted_child(at).map_err(damaged(parent.id))?;
            // No level is below that of a leaf.
            let level = page.level().saturating_sub(1);
            let lower = std::mem::replace(&mut lower, upper.clone());
            self.unchecked.push(UncheckedPage { id, expected: Some((level, count)), lower, upper });
        }
        Ok(())
    }
}

impl UncheckedPage {
    /// Checks the parent's statements about the page.
    fn check(&self, page: &KeyPage<'_>) -> Result<(), String> {
        let (level, len, total) = (page.level(), page.len(), page.total());
        match self.expected {
            None if level > 0 && len < 2 => Err("the root has only one child".to_owned()),
            Some(_) if len == 0 => Err("it has no keys".to_owned()),
            Some(expected) if expected != (level, total) => Err(format!(
                "it has level {level} and {total} keys, but the page above it expects level {} and {}",
                expected.0, expected.1
            )),
            _ => Ok(()),
        }
    }

    /// Checks that the keys of a leaf rise and lie between its separators.
    fn check_keys(&self, pages: &mut impl PageReader, len: usize) -> WalkResult<()> {
        let (mut key, mut last) = (Vec::new(), Vec::new());
        for at in 0..len {
            key.clear();
            load_key(pages, self.id, at, &mut key)?;
            let after = match &self.lower {
                _ if at > 0 => Bound::Excluded(&last[..]),
                Some(lower) => Bound::Included(&lower[..]),
                None => Bound::Unbounded,
            };
            self.check_key(&key, at, after)?;
            std::mem::swap(&mut key, &mut last);
        }
        Ok(())
    }

    fn check_key(&self, key: &[u8], at: usize, after: Bound<&[u8]>) -> WalkResult<()> {
        let before = self.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        if key.len() <= SET_KEY_MOST && (after, before).contains(key) {
            return Ok(());
        }
        Err(damaged(self.id)(format!("key {at} is not in order, or outside of the separators")))
    }
}

/// Checks the bytes of a page. Returns the rests of its long keys.
fn check_content(page: &KeyPage<'_>) -> Result<Vec<OverflowChain>, String> {
    let (mut places, mut chains) = (Vec::new(), Vec::new());
    for at in 0..page.len() {
        let tail = page.tail(at)?;
        if at < page.head().first_key() && tail.len > 0 {
            return Err("its first child has a separator".to_owned());
        }
        if page.heads()[at][tail.len.min(KEY_HEAD)..].iter().any(|byte| *byte != 0) {
            return Err(format!("the head of key {at} is not filled up with zeros"));
        }
        places.push((tail.from, tail.size()));
        chains.extend(tail.chain);
    }
    places.sort_unstable();
    if let Some(pair) = places.windows(2).find(|pair| pair[0].0 + pair[0].1 > pair[1].0) {
        return Err(format!("two keys share byte {}", pair[1].0));
    }
    let live: usize = places.iter().map(|(_, size)| size).sum();
    let head = page.head();
    if live + head.dead != head.heap {
        return Err(format!("its tails have {live} bytes, but its head says {head:?}"));
    }
    Ok(chains)
}
