//! The owner of each page. A check uses it to find pages that are lost or have two owners.
//!
//! ```text
//!   page id      0        1        2        3        4
//!   owner        catalog  `main`   `main`   free     none: the page is lost
//! ```

use crate::buffer::WalkStop;
use crate::page::PageId;
use crate::record::WalkResult;

/// The owners that a check has found so far.
#[derive(Debug)]
pub(crate) struct PageOwners {
    /// By page id: the index in `names` and one; 0 without an owner.
    owners: Vec<u32>,
    names: Vec<String>,
}

impl PageOwners {
    /// Returns the owners of pages with ids less than `ids`: none yet.
    pub(crate) fn of_ids(ids: usize) -> Self {
        Self { owners: vec![0; ids], names: Vec::new() }
    }

    /// Adds an owner. It owns the pages of the following claims.
    pub(crate) fn begin(&mut self, name: impl Into<String>) {
        self.names.push(name.into());
    }

    /// Notes that the current owner has a page.
    ///
    /// # Errors
    /// The page has an owner already, or there is no such page.
    pub(crate) fn claim(&mut self, page: PageId) -> WalkResult<()> {
        let Some(owner) = self.owners.get_mut(page.0 as usize) else {
            return Err(WalkStop::Damaged(
                page,
                "there is no such page, but a pointer leads to it".to_owned(),
            ));
        };
        if let Some(before) = (*owner as usize).checked_sub(1) {
            let (one, other) = (&self.names[before], &self.names[self.names.len() - 1]);
            return Err(WalkStop::Damaged(page, format!("it belongs to {one}, and again to {other}")));
        }
        *owner = self.names.len() as u32;
        Ok(())
    }

    /// Checks that every page has an owner.
    ///
    /// # Errors
    /// A page has no owner.
    pub(crate) fn check_all_owned(&self) -> WalkResult<()> {
        match self.owners.iter().zip(0..).find(|(owner, _)| **owner == 0) {
            Some((_, id)) => {
                Err(WalkStop::Damaged(PageId(id), "it is in use, but no pointer leads to it".to_owned()))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damage(result: WalkResult<()>) -> (u32, String) {
        let (page, what) = result.unwrap_err().into_damage().unwrap();
        (page.0, what)
    }

    #[test]
    fn every_page_has_exactly_one_owner() {
        let mut owners = PageOwners::of_ids(3);
        owners.begin("the catalog");
        owners.claim(PageId(0)).unwrap();
        owners.begin("the trie `main`");
        owners.claim(PageId(2)).unwrap();
        assert_eq!(
            damage(owners.check_all_owned()),
            (1, "it is in use, but no pointer leads to it".to_owned())
        );
        let twice = "it belongs to the catalog, and again to the trie `main`";
        assert_eq!(damage(owners.claim(PageId(0))), (0, twice.to_owned()));
        let missing = "there is no such page, but a pointer leads to it";
        assert_eq!(damage(owners.claim(PageId(3))), (3, missing.to_owned()));
        owners.claim(PageId(1)).unwrap();
        owners.check_all_owned().unwrap();
    }
}
