//! Checks of a store's pages: every invariant of every trie, and that each page belongs to exactly
//! one of them.
//!
//! ```text
//!   free ids     ─┐
//!   catalog       ├─► PageOwners: no page is lost, no page has two owners
//!   tries' pages ─┘
//! ```

use skein_sync::atomic::Ordering;

use super::{DiskShared, DiskStore};
use crate::buffer::{FrozenPages, PageWriter};
use crate::catalog::Catalog;
use crate::page_owners::PageOwners;
use crate::record::{PageReader, WalkResult};
use crate::trie::{TrieCensus, exceeds_capacity};
use crate::{KeySpace, Result};

/// The sizes of a store's key spaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskCensus {
    /// [`KeySpace::Main`].
    pub main: TrieCensus,
    /// [`KeySpace::Members`], if the store has it.
    pub members: Option<TrieCensus>,
    /// Keys of [`KeySpace::Scores`] and [`KeySpace::Expiry`].
    pub set_keys: u64,
    /// Pages of these two spaces.
    pub set_pages: usize,
    /// Pages of the catalog.
    pub catalog_pages: usize,
}

impl DiskStore {
    /// Checks every invariant of all key spaces, in time proportional to their pages. Every page in
    /// use must belong to exactly one of them. Reads continue meanwhile and writes wait.
    ///
    /// # Errors
    /// The first violation of an invariant.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// store.set(b"goose", b"honks")?;
    /// assert_eq!(store.check()?.main.keys, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<DiskCensus> {
        self.shared.check()
    }

    /// Checks whether a scan that continues from `before` keys to `now` keys can continue. Damaged
    /// pages with correct checksums may have endless paths. So if the scan has returned more keys
    /// than the pages can hold, this takes the time of a [`check`](Self::check); otherwise it
    /// returns at once.
    ///
    /// # Errors
    /// The first violation of an invariant.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore, ScanRequest};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// use std::ops::Bound::{Excluded, Unbounded};
    ///
    /// let (mut last, mut seen) = (None::<Vec<u8>>, 0);
    /// loop {
    ///     let lower = last.as_deref().map_or(Unbounded, Excluded);
    ///     let found = store.walk(&ScanRequest { lower, keys: 100, ..ScanRequest::default() })?;
    ///     let before = seen;
    ///     seen += found.entries.len() as u64;
    ///     store.check_scanned(before, seen)?;
    ///     if !found.more {
    ///         break;
    ///     }
    ///     last = found.entries.into_iter().next_back().map(|entry| entry.key);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_scanned(&self, before: u64, now: u64) -> Result<()> {
        let exceeds_capacity = exceeds_capacity(self.shared.buffer.ids(), before, now);
        if exceeds_capacity { self.check().map(drop) } else { Ok(()) }
    }
}

impl DiskShared {
    /// Checks the pages as published.
    pub(super) fn check(&self) -> Result<DiskCensus> {
        let mut writer = self.buffer.write();
        // The number changes only under the writer's lock.
        self.check_as(&mut writer, self.keys.load(Ordering::Relaxed))
    }

    /// Checks the pages as a write sees them, against a number of keys of the main space.
    pub(super) fn check_as(&self, writer: &mut PageWriter<'_>, counted: u64) -> Result<DiskCensus> {
        let mut owners = PageOwners::of_ids(self.buffer.ids());
        owners.begin("the free pages");
        let free = writer.free_ids().try_for_each(|id| owners.claim(id));
        free.map_err(|stop| writer.fault(stop))?;
        let mut frozen = FrozenPages::of(writer);
        let census = self.census(&mut frozen, &mut owners).map_err(|stop| frozen.fault(stop))?;
        let keys = census.main.keys;
        if keys as u64 == counted {
            return Ok(census);
        }
        let what = format!("the trie has {keys} keys, but {counted} were counted");
        Err(self.buffer.damaged_page(self.spaces.main().root().page, &what))
    }

    /// Checks the catalog and all tries, and that they have all pages without an owner.
    fn census(&self, pages: &mut impl PageReader, owners: &mut PageOwners) -> WalkResult<DiskCensus> {
        let catalog_pages = claim_catalog(Catalog::at(self.catalog), pages, owners)?;
        let mut census = DiskCensus { catalog_pages, ..DiskCensus::default() };
        for (space, trie) in self.spaces.tries() {
            owners.begin(format!("the trie `{space}`"));
            let found = trie.check(pages, |page| owners.claim(page))?;
            if space == KeySpace::Main {
                census.main = found;
            } else {
                census.members = Some(found);
            }
        }
        for (space, set) in self.spaces.sets() {
            owners.begin(format!("the set of keys `{space}`"));
            let found = set.check(pages, |page| owners.claim(page))?;
            census.set_keys += found.keys;
            census.set_pages += found.pages();
        }
        owners.check_all_owned()?;
        Ok(census)
    }
}

/// Notes the pages of the catalog. Returns their number.
pub(super) fn claim_catalog(
    catalog: Catalog,
    pages: &mut impl PageReader,
    owners: &mut PageOwners,
) -> WalkResult<usize> {
    owners.begin("the catalog");
    let found = catalog.pages(pages)?;
    found.iter().try_for_each(|page| owners.claim(*page))?;
    Ok(found.len())
}
