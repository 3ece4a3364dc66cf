//! A census of the file's places: each is in use by the table, by the headers, by snapshots, or
//! free.

use std::collections::BTreeSet;

use skein_sync::locks::lock;

use crate::buffer::BufferManager;
use crate::page::{PageId, PagePlace};
use crate::page_file::HEADERS;

/// The expected reasons and promises.
#[derive(Debug)]
struct PlaceCensus {
    reasons: Vec<u32>,
    promised: usize,
}

impl PlaceCensus {
    fn add(&mut self, place: PagePlace) {
        self.reasons[place.0 as usize] += 1;
    }
}

impl BufferManager {
    /// Checks that each place has exactly the reasons of the table, the headers and the kept
    /// versions, that the places without a reason are free, and that each frame lies at the page's
    /// place or is dirty and has a promise. Nobody may use the store meanwhile.
    pub(crate) fn check_places(&self) {
        let (reasons, free, promised) = lock(&self.places).census();
        let mut census = PlaceCensus { reasons: vec![0; reasons.len()], promised: 0 };
        (0..HEADERS).for_each(|place| census.add(PagePlace(place)));
        self.count_headers(&mut census);
        self.count_table(&mut census);
        self.count_kept(&mut census);
        for (place, (is, expected)) in reasons.iter().zip(&census.reasons).enumerate() {
            assert_eq!(is, expected, "reasons of place {place}");
        }
        let count = free.len();
        let free: BTreeSet<u32> = free.into_iter().collect();
        assert_eq!(free.len(), count, "a place is free twice");
        for (place, reasons) in (0..).zip(&reasons) {
            assert_eq!(free.contains(&place), *reasons == 0, "place {place}");
        }
        assert_eq!(promised, census.promised, "promises");
        assert!(promised <= free.len(), "{promised} promises for {} places", free.len());
    }

    fn count_headers(&self, census: &mut PlaceCensus) {
        let durable = lock(&self.durable);
        let pages = durable.places.iter().copied().map(PagePlace).filter(|place| place.0 != 0);
        let lists = durable.maps.iter().chain(&durable.header.directories);
        pages.chain(lists.copied()).for_each(|place| census.add(place));
    }

    fn count_table(&self, census: &mut PlaceCensus) {
        for id in (0..self.table.len()).map(PageId) {
            let entry = self.table.get(id).unwrap();
            entry.place().into_iter().for_each(|place| census.add(place));
            let Some(frame) = self.pin(entry) else { continue };
            census.promised += usize::from(frame.is_dirty());
            assert!(frame.is_dirty() || frame.place() == entry.place(), "the place of page {}", id.0);
        }
    }

    fn count_kept(&self, census: &mut PlaceCensus) {
        for (place, _) in self.kept_places() {
            match place {
                Some(place) => census.add(place),
                None => census.promised += 1,
            }
        }
    }
}
