//! Places of the file, and how many reasons there are for each to be kept.
//!
//! A place is kept for the page whose present form lies there, for the last header that leads to it, and for a checkpoint under way that will. It is free when there
//! is no reason left. The file keeps no list of free places: what no header leads to is free, and is found out when the file is opened.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{GROWTH, HEADERS, PageFile};
use crate::page::Place;
use crate::{DiskError, Result};

/// Which places are free.
#[derive(Debug)]
pub(crate) struct Places {
    /// How many reasons there are, by place.
    reasons: Vec<u8>,
    free: BinaryHeap<Reverse<u32>>,
}

impl Places {
    /// The places of a file of so many pages, all but the headers' free until [`keep`](Self::keep) says otherwise and [`settle`](Self::settle) ends that.
    pub(crate) fn of_file(pages: u32) -> Self {
        let mut reasons = vec![0; pages as usize];
        reasons.iter_mut().take(HEADERS as usize).for_each(|count| *count = 1);
        Self { reasons, free: BinaryHeap::new() }
    }

    /// Gathers the free places.
    pub(crate) fn settle(&mut self) {
        let places = (0..).zip(&self.reasons);
        self.free = places.filter(|(_, reasons)| **reasons == 0).map(|(place, _)| Reverse(place)).collect();
    }

    /// A place that was free, with one reason. The file grows if there is none.
    pub(crate) fn take(&mut self, file: &PageFile) -> Result<Place> {
        if self.free.is_empty() {
            let pages = self.reasons.len() as u32;
            let more = pages.checked_add(GROWTH).ok_or(DiskError::FileFull { pages })?;
            file.grow(more)?;
            self.reasons.resize(more as usize, 0);
            self.free.extend((pages..more).map(Reverse));
        }
        let Some(Reverse(place)) = self.free.pop() else {
            return Err(DiskError::FileFull { pages: self.reasons.len() as u32 });
        };
        self.reasons[place as usize] = 1;
        Ok(Place(place))
    }

    /// One more reason to keep a place; false if the file has no such place, or a header lies there.
    #[must_use]
    pub(crate) fn keep(&mut self, place: Place) -> bool {
        match self.reasons.get_mut(place.0 as usize) {
            Some(reasons) if place.0 >= HEADERS => {
                *reasons += 1;
                true
            }
            _ => false,
        }
    }

    /// Whether a place of the file has a reason to be kept.
    pub(crate) fn is_kept(&self, place: Place) -> bool {
        self.reasons.get(place.0 as usize).is_some_and(|reasons| *reasons > 0)
    }

    /// One more reason to keep a place that was taken.
    pub(crate) fn keep_taken(&mut self, place: Place) {
        self.reasons[place.0 as usize] += 1;
    }

    /// One reason less.
    pub(crate) fn let_go(&mut self, place: Place) {
        let reasons = &mut self.reasons[place.0 as usize];
        *reasons -= 1;
        if *reasons == 0 {
            self.free.push(Reverse(place.0));
        }
    }

    /// The place after the last one that is kept.
    pub(crate) fn end(&self) -> u32 {
        self.reasons.iter().rposition(|reasons| *reasons > 0).map_or(0, |last| last as u32 + 1)
    }

    /// Cuts the file off where nothing is kept from there on, in steps in which it grows.
    pub(crate) fn cut(&mut self, file: &PageFile) -> Result<()> {
        let pages = self.end().next_multiple_of(GROWTH);
        if (pages as usize) < self.reasons.len() {
            file.cut(pages)?;
            self.reasons.truncate(pages as usize);
            self.settle();
        }
        Ok(())
    }

    /// Pages of the file, and how many of them are free.
    pub(crate) fn counts(&self) -> (u32, u32) {
        (self.reasons.len() as u32, self.free.len() as u32)
    }
}
