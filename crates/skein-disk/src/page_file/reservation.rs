//! Places that are promised to pages that have changed, so that each of them can be written whenever it has to be.
//!
//! A disk that is full is told when a write is published, and nothing has changed then. What was published leaves the cache and
//! becomes a part of a checkpoint without any growth of the file: so a checkpoint runs on a full disk, and makes room.

use std::sync::{Arc, Mutex};

use skein_sync::locks::lock;

use super::{FreeSpaceMap, PageFile};
use crate::Result;
use crate::page::PagePlace;

/// One place that is promised. Dropped before it was redeemed, it is given back.
#[derive(Debug)]
pub(crate) struct PlaceReservation {
    places: Arc<Mutex<FreeSpaceMap>>,
    is_redeemed: bool,
}

impl PlaceReservation {
    /// Promises so many places, and sees that there are as many more as `lists`, for what a checkpoint writes of its own.
    ///
    /// # Errors
    /// The file cannot grow; nothing is promised then.
    pub(crate) fn make(
        places: &Arc<Mutex<FreeSpaceMap>>,
        file: &PageFile,
        count: usize,
        lists: usize,
    ) -> Result<Vec<Self>> {
        lock(places).reserve(file, count, lists)?;
        Ok((0..count).map(|_| Self { places: places.clone(), is_redeemed: false }).collect())
    }

    /// Takes the place, which has one reason to be kept then.
    ///
    /// # Errors
    /// The books are wrong: there is none.
    pub(crate) fn redeem(mut self) -> Result<PagePlace> {
        self.is_redeemed = true;
        lock(&self.places).take_reserved()
    }

    /// Gives back a place that was taken and not used, for a promise.
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
