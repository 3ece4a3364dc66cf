//! The keys of neighbouring pages, as one sequence that is cut into new pages.

use std::ops::{Range, RangeInclusive};

use arrayvec::ArrayVec;

use super::node::{Separator, shared};
use super::page::{Page, PageShape};
use crate::slot::Slot;

/// The most pages of a run.
pub(super) const RUN_PAGES: usize = 32;

/// The ranks at which new pages begin, but for the first.
pub(super) type Cuts = ArrayVec<usize, { RUN_PAGES - 1 }>;

/// The keys of one page, or of some neighbours, as one sequence.
pub(super) struct KeyRun {
    pages: ArrayVec<Page, RUN_PAGES>,
}

impl KeyRun {
    /// Returns the keys of at least one and at most [`RUN_PAGES`] pages.
    pub(super) fn of(pages: impl IntoIterator<Item = Page>) -> Self {
        Self { pages: pages.into_iter().collect() }
    }

    pub(super) fn pages(&self) -> &[Page] {
        &self.pages
    }

    pub(super) fn len(&self) -> usize {
        self.pages.iter().map(|page| page.live()).sum()
    }

    /// Returns the bytes of the pages.
    pub(super) fn size(&self) -> usize {
        self.pages.iter().map(|page| page.size()).sum()
    }

    /// Returns the page of a rank, and the rank in it.
    fn place(&self, rank: usize) -> (Page, usize) {
        let mut within = rank;
        for &page in &self.pages[..self.pages.len() - 1] {
            let live = page.live();
            if within < live {
                return (page, within);
            }
            within -= live;
        }
        (self.pages[self.pages.len() - 1], within)
    }

    fn rest<'a>(&self, rank: usize) -> &'a [u8] {
        let (page, rank) = self.place(rank);
        page.rest(page.slot_of(rank))
    }

    pub(super) fn key<'a>(&self, rank: usize) -> Separator<'a> {
        let (page, _) = self.place(rank);
        Separator::new(page.prefix(), self.rest(rank))
    }

    /// Returns the bytes that the prefixes of all pages share.
    pub(super) fn prefix<'a>(&self) -> &'a [u8] {
        let first = self.pages[0].prefix();
        let len = self.pages[1..].iter().map(|page| shared(first, page.prefix())).min();
        &first[..len.unwrap_or(first.len())]
    }

    /// Returns the bytes of all entries behind the prefix that the pages share. About, if a page is
    /// not locked. So two pages whose prefixes differ much do not merge.
    pub(super) fn heap_bytes(&self) -> usize {
        let shared_len = self.prefix().len();
        let bytes = |page: &Page| page.heap_bytes() + page.live() * (page.prefix_len() - shared_len);
        self.pages.iter().map(bytes).sum()
    }

    /// Returns the shape of the pages of an index with such keys.
    pub(super) fn standard<S: Slot>(&self, width: usize) -> PageShape {
        PageShape::standard::<S>(self.len(), self.heap_bytes(), self.prefix().len(), width)
    }

    /// Returns the part of some ranks in each page.
    pub(super) fn parts(&self, ranks: Range<usize>) -> impl Iterator<Item = (Page, Range<usize>)> {
        let mut before = 0;
        self.pages.iter().map(move |&page| {
            let (start, live) = (before, page.live());
            before += live;
            let within = |rank: usize| rank.clamp(start, start + live) - start;
            (page, within(ranks.start)..within(ranks.end))
        })
    }

    pub(super) fn bytes<S: Slot>(&self, ranks: Range<usize>, prefix_len: usize) -> usize {
        self.parts(ranks).map(|(page, ranks)| page.bytes::<S>(ranks, prefix_len)).sum()
    }

    /// Returns the bytes of keys that lie in their pages, but would not in a page with a prefix of so many
    /// bytes.
    pub(super) fn bytes_elsewhere(&self, ranks: Range<usize>, prefix_len: usize) -> usize {
        self.parts(ranks).map(|(page, ranks)| page.bytes_elsewhere(ranks, prefix_len)).sum()
    }

    /// Returns the rank among these whose separator is the shortest, the nearest to the middle of
    /// them.
    pub(super) fn shortest_cut(&self, cuts: RangeInclusive<usize>) -> usize {
        let middle = cuts.start().midpoint(*cuts.end());
        let shared_at =
            |cut: usize| self.place(cut).0.prefix_len() + shared(self.rest(cut - 1), self.rest(cut));
        cuts.min_by_key(|&cut| (shared_at(cut), cut.abs_diff(middle))).unwrap_or(middle)
    }

    /// Returns the ranks of each page that begins at a cut, and of the first.
    pub(super) fn between(&self, cuts: &[usize]) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([self.len()]);
        starts.zip(ends).map(|(start, end)| start..end)
    }
}
