//! Promised places: each changed page in memory has one, so it can be written at any time.
//!
//! If the disk is full, the publication of a write fails and nothing is changed. After publication,
//! no eviction and no checkpoint needs the file to grow for a page. So a checkpoint succeeds on a
//! full disk, and frees space.

use std::sync::{Arc, Mutex};

use skein_sync::locks::lock;

use super::{FreeSpaceMap, PageFile};
use crate::Result;
use crate::page::PagePlace;

/// A promise of one place. It is returned if it is dropped before it was redeemed.
#[derive(Debug)]
pub(crate) struct PlaceReservation {
    places: Arc<Mutex<FreeSpaceMap>>,
    is_redeemed: bool,
}

impl PlaceReservation {
    /// Promises `count` places, and ensures that `lists` more are free for the checkpoint's own
    /// pages.
    ///
    /// # Errors
    /// The file cannot grow. Nothing is promised then.
    pub(crate) fn make(
        places: &Arc<Mutex<FreeSpaceMap>>,
        file: &PageFile,
        count: usize,
        lists: usize,
    ) -> Result<Vec<Self>> {
        lock(places).reserve(file, count, lists)?;
        Ok((0..count).map(|_| Self { places: places.clone(), is_redeemed: false }).collect())
    }

    /// Takes the place, with one reason to keep it.
    ///
    /// # Errors
    /// There is no free place; that would be a bug.
    pub(crate) fn redeem(mut self) -> Result<PagePlace> {
        self.is_redeemed = true;
        lock(&self.places).take_reserved()
    }

    /// Turns a place that was taken but not used into a promise.
    pub(crate) fn instead_of(place: PagePlace, places: &Arc<Mutex<FreeSpaceMap>>) -> Self {
        lock(places).release_to_promise(place);
        Self { places: places.clone(), is_redeemed: false }
    }
}

impl Drop for PlaceReservation {
    fn drop(&mut self) {
        if !self.is_redeemed {
            lock(&self.places).unreserve();
        }
    }
}
