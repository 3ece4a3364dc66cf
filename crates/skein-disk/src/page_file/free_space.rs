//! Places of the file, and how many reasons there are for each to be kept.
//!
//! A place is kept for the page whose present form lies there, for the last header that leads to it, and for a checkpoint under way that will. It is free when there
//! is no reason left. The file keeps no list of free places: what no header leads to is free, and is found out when the file is opened.
//!
//! # Invariant
//! A place with a reason is never free. Each reader past the cache and each frame of a mapped page has a reason of its
//! own, so their number has no bound but memory. A count that has reached [`FOR_GOOD`] stays there: the place is never
//! used again before the file is opened anew, which is no harm, where a count that wraps would give it away.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{GROWTH, HEADERS, PageFile};
use crate::page::PagePlace;
use crate::{DiskError, Result};

/// A count of reasons that is not known any more, and so never falls.
const FOR_GOOD: u32 = u32::MAX;

/// Which places are free.
#[derive(Debug)]
pub(crate) struct FreeSpaceMap {
    /// How many reasons there are, by place.
    reasons: Vec<u32>,
    free: BinaryHeap<Reverse<u32>>,
    /// How many of the free ones are promised (`reservation.rs`).
    reserved: usize,
    /// Why the file did not grow when it was to last, and how many free places were wanted besides the promised ones.
    no_room: Option<(usize, DiskError)>,
}

impl FreeSpaceMap {
    /// The places of a file of so many pages, all but the headers' free until [`keep`](Self::keep) says otherwise and [`settle`](Self::settle) ends that.
    pub(crate) fn of_file(pages: u32) -> Self {
        let mut reasons = vec![0; pages as usize];
        reasons.iter_mut().take(HEADERS as usize).for_each(|count| *count = 1);
        Self { reasons, free: BinaryHeap::new(), reserved: 0, no_room: None }
    }

    /// Gathers the free places.
    pub(crate) fn collect_free(&mut self) {
        let places = (0..).zip(&self.reasons);
        self.free = places.filter(|(_, reasons)| **reasons == 0).map(|(place, _)| Reverse(place)).collect();
    }

    /// A place that was free and not promised, with one reason. The file grows if there is none.
    pub(crate) fn take(&mut self, file: &PageFile) -> Result<PagePlace> {
        self.grow_until_free(file, 1)?;
        self.pop()
    }

    /// A place that was promised, with one reason.
    pub(super) fn take_reserved(&mut self) -> Result<PagePlace> {
        self.unreserve();
        self.pop()
    }

    /// Promises so many places, and sees that there are as many more as `lists`.
    pub(super) fn reserve(&mut self, file: &PageFile, count: usize, lists: usize) -> Result<()> {
        self.grow_until_free(file, count + lists)?;
        self.reserved += count;
        Ok(())
    }

    pub(super) fn unreserve(&mut self) {
        assert!(self.reserved > 0, "no place is promised");
        self.reserved -= 1;
    }

    /// One reason less for a place that has no other, and a promise of it instead.
    pub(super) fn release_to_promise(&mut self, place: PagePlace) {
        self.release(place);
        self.reserved += 1;
    }

    /// Lets the file grow until it has so many free places besides the promised ones.
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
        // A smaller write may find room where a larger one found none.
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

    /// One more reason to keep a place; false if the file has no such place, or a header lies there.
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

    /// Whether a place of the file has a reason to be kept.
    pub(crate) fn is_kept(&self, place: PagePlace) -> bool {
        self.reasons.get(place.0 as usize).is_some_and(|reasons| *reasons > 0)
    }

    /// One more reason to keep a place that was taken.
    pub(crate) fn retain(&mut self, place: PagePlace) {
        let reasons = &mut self.reasons[place.0 as usize];
        *reasons = reasons.saturating_add(1);
    }

    /// One reason less.
    ///
    /// # Panics
    /// If the place has none: then the books are wrong, and no place could be given away safely.
    pub(crate) fn release(&mut self, place: PagePlace) {
        let reasons = &mut self.reasons[place.0 as usize];
        assert!(*reasons > 0, "place {} has no reason to be kept that could go", place.0);
        if *reasons != FOR_GOOD {
            *reasons -= 1;
            if *reasons == 0 {
                self.free.push(Reverse(place.0));
            }
        }
    }

    /// The place after the last one that is kept.
    pub(crate) fn end(&self) -> u32 {
        self.reasons.iter().rposition(|reasons| *reasons > 0).map_or(0, |last| last as u32 + 1)
    }

    /// Cuts the file off where nothing is kept from there on, in steps in which it grows.
    pub(crate) fn truncate_file(&mut self, file: &PageFile) -> Result<()> {
        // As many places as are promised stay, wherever the free ones are.
        let pages = (self.end() + self.reserved as u32).next_multiple_of(GROWTH);
        if (pages as usize) < self.reasons.len() {
            file.cut(pages)?;
            self.reasons.truncate(pages as usize);
            self.collect_free();
        }
        Ok(())
    }

    /// Why the file could not grow, as long as it has not the free places that were wanted then.
    pub(crate) fn no_room(&self) -> Option<DiskError> {
        let (count, error) = self.no_room.as_ref()?;
        (self.free.len() < self.reserved + count).then(|| error.clone())
    }

    /// Pages of the file, and how many of them are free.
    pub(crate) fn counts(&self) -> (u32, u32) {
        (self.reasons.len() as u32, self.free.len() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Incident: reasons were counted in a byte, without a check. Consequence: at 256 of them (readers past a small
    /// cache, or frames that wait for a grace period) a place in use counted as free, and another page was written over
    /// it: wrong answers, which the next checkpoint made permanent. Fix: the count is wide, and stays at its end for good.
    #[test]
    fn a_place_stays_kept_however_many_reasons_it_has() {
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
        places.reasons[3] = FOR_GOOD - 1;
        (0..5).for_each(|_| places.retain(place));
        (0..10).for_each(|_| places.release(place));
        assert!(places.is_kept(place), "a count that is not known never falls");
    }
}
