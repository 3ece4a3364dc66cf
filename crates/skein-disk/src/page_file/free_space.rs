//! The free-space map: how many reasons there are to keep each place of the file.
//!
//! A place is kept if the current version of a page lies there, if the last header leads to it, if
//! that of a running checkpoint will, or if a snapshot has a former version there. A place without
//! a reason is free. The file stores no list of free places: when it is opened, every place that no
//! header leads to is free.
//!
//! # Invariant
//! A place with a reason is never free. Each uncached page and each frame of a mapped page has a
//! reason of its own, so only memory limits their number. A count that reaches [`SATURATED`] stays
//! there, and the place is not reused before the file is opened again. That does no harm, while a
//! count that wraps would free a place in use.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{GROWTH, HEADERS, PageFile};
use crate::page::PagePlace;
use crate::{DiskError, Result};

/// A count of reasons that is no longer exact, and therefore never decreases.
const SATURATED: u32 = u32::MAX;

/// The free places, and the reasons to keep the others.
#[derive(Debug)]
pub(crate) struct FreeSpaceMap {
    /// The number of reasons for each place.
    reasons: Vec<u32>,
    free: BinaryHeap<Reverse<u32>>,
    /// How many of the free places are promised (`reservation.rs`).
    reserved: usize,
    /// The last failure to grow the file, and how many free places were needed besides the promised
    /// ones.
    no_room: Option<(usize, DiskError)>,
}

impl FreeSpaceMap {
    /// Returns the map for a file of this many pages, with only the headers in use. The caller adds
    /// reasons with [`keep`](Self::keep) and ends with [`collect_free`](Self::collect_free).
    pub(crate) fn of_file(pages: u32) -> Self {
        let mut reasons = vec![0; pages as usize];
        reasons.iter_mut().take(HEADERS as usize).for_each(|count| *count = 1);
        Self { reasons, free: BinaryHeap::new(), reserved: 0, no_room: None }
    }

    /// Rebuilds the heap of free places.
    pub(crate) fn collect_free(&mut self) {
        let places = (0..).zip(&self.reasons);
        self.free = places.filter(|(_, reasons)| **reasons == 0).map(|(place, _)| Reverse(place)).collect();
    }

    /// Takes a free place that is not promised, with one reason. Grows the file if necessary.
    pub(crate) fn take(&mut self, file: &PageFile) -> Result<PagePlace> {
        self.grow_until_free(file, 1)?;
        self.pop()
    }

    /// Takes a promised place, with one reason.
    pub(super) fn take_reserved(&mut self) -> Result<PagePlace> {
        self.unreserve();
        self.pop()
    }

    /// Promises `count` places, and ensures that `lists` more are free. Grows the file if
    /// necessary.
    pub(super) fn reserve(&mut self, file: &PageFile, count: usize, lists: usize) -> Result<()> {
        self.grow_until_free(file, count + lists)?;
        self.reserved += count;
        Ok(())
    }

    pub(super) fn unreserve(&mut self) {
        assert!(self.reserved > 0, "no place is promised");
        self.reserved -= 1;
    }

    /// Turns a place with a single reason into a promise.
    pub(super) fn release_to_promise(&mut self, place: PagePlace) {
        self.release(place);
        self.reserved += 1;
    }

    /// Grows the file until it has this many free places besides the promised ones.
    fn grow_until_free(&mut self, file: &PageFile, count: usize) -> Result<()> {
        while self.free.len() < self.reserved + count {
            let pages = self.reasons.len() as u32;
            let more = pages.checked_add(GROWTH).ok_or(DiskError::FileFull { pages })?;
            if let Err(error) = file.grow(more) {
                self.no_room = Some((count, error.clone()));
                return Err(error);
            }
            self.reasons.resize(more as usize, 0);
            self.free.extend((pages..more).map(Reverse));
        }
        // A smaller write may fit where a larger one failed.
        self.no_room = self.no_room.take().filter(|(wanted, _)| *wanted > count);
        Ok(())
    }

    fn pop(&mut self) -> Result<PagePlace> {
        let Some(Reverse(place)) = self.free.pop() else {
            return Err(DiskError::FileFull { pages: self.reasons.len() as u32 });
        };
        self.reasons[place as usize] = 1;
        Ok(PagePlace(place))
    }

    /// Adds a reason to keep a place. Returns false if the file has no such place or a header lies
    /// there.
    #[must_use]
    pub(crate) fn keep(&mut self, place: PagePlace) -> bool {
        match self.reasons.get_mut(place.0 as usize) {
            Some(reasons) if place.0 >= HEADERS => {
                *reasons = reasons.saturating_add(1);
                true
            }
            _ => false,
        }
    }

    /// Returns whether a place has a reason to be kept.
    pub(crate) fn is_kept(&self, place: PagePlace) -> bool {
        self.reasons.get(place.0 as usize).is_some_and(|reasons| *reasons > 0)
    }

    /// Adds a reason to keep a place that has one already.
    pub(crate) fn retain(&mut self, place: PagePlace) {
        let reasons = &mut self.reasons[place.0 as usize];
        *reasons = reasons.saturating_add(1);
    }

    /// Removes a reason.
    ///
    /// # Panics
    /// If the place has no reason: then the counts are wrong, and no place could be reused safely.
    pub(crate) fn release(&mut self, place: PagePlace) {
        let reasons = &mut self.reasons[place.0 as usize];
        assert!(*reasons > 0, "place {} has no reason that could be removed", place.0);
        if *reasons != SATURATED {
            *reasons -= 1;
            if *reasons == 0 {
                self.free.push(Reverse(place.0));
            }
        }
    }

    /// Returns the place behind the last one in use.
    pub(crate) fn end(&self) -> u32 {
        self.reasons.iter().rposition(|reasons| *reasons > 0).map_or(0, |last| last as u32 + 1)
    }

    /// Cuts the file off behind the last place in use, rounded up to the step of growth.
    pub(crate) fn truncate_file(&mut self, file: &PageFile) -> Result<()> {
        // Leaves as many places as are promised, wherever the free ones are.
        let pages = (self.end() + self.reserved as u32).next_multiple_of(GROWTH);
        if (pages as usize) < self.reasons.len() {
            file.cut(pages)?;
            self.reasons.truncate(pages as usize);
            self.collect_free();
        }
        Ok(())
    }

    /// Returns the last failure to grow the file, as long as the free places that were needed then
    /// are missing.
    pub(crate) fn no_room(&self) -> Option<DiskError> {
        let (count, error) = self.no_room.as_ref()?;
        (self.free.len() < self.reserved + count).then(|| error.clone())
    }

    /// Returns the number of reasons of each place, the free places and the number of promises.
    #[cfg(test)]
    pub(crate) fn census(&self) -> (Vec<u32>, Vec<u32>, usize) {
        (self.reasons.clone(), self.free.iter().map(|place| place.0).collect(), self.reserved)
    }

    /// Returns the number of pages of the file and of free ones.
    pub(crate) fn counts(&self) -> (u32, u32) {
        (self.reasons.len() as u32, self.free.len() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Incident: reasons were counted in an unchecked byte. Consequence: with 256 reasons (uncached
    /// readers beside a small cache, or frames in a grace period) a place in use counted as free,
    /// and another page overwrote it. Reads returned wrong values, and the next checkpoint made
    /// them permanent. Fix: the count is wide, and stays at its maximum.
    #[test]
    fn a_place_is_kept_with_any_number_of_reasons() {
        let mut places = FreeSpaceMap::of_file(4);
        let place = PagePlace(3);
        assert!(places.keep(place));
        (0..70_000).for_each(|_| places.retain(place));
        places.collect_free();
        assert_eq!(places.counts(), (4, 1));
        for _ in 0..70_000 {
            assert!(places.is_kept(place));
            places.release(place);
        }
        assert_eq!(places.counts(), (4, 1));
        places.release(place);
        assert_eq!((places.counts(), places.is_kept(place)), ((4, 2), false));
        places.reasons[3] = SATURATED - 1;
        (0..5).for_each(|_| places.retain(place));
        (0..10).for_each(|_| places.release(place));
        assert!(places.is_kept(place), "a saturated count never decreases");
    }
}
