//! Cursors: from page to page by way of their parents.
//!
//! ```text
//!   parent   .. │ sep 3 │ child 3 │ sep 4 │ child 4 │ ..     both never move: a node does not change
//!                           │                 │
//!                           ▼                 ▼
//!                        this page         the next page, asked for while this one is scanned
//! ```
//!
//! Pages are not linked to each other. The parent leads to the next page, and the separator between
//! both is where it starts. If the next page was replaced meanwhile, or the parent has no further
//! child, the cursor searches for that separator. So a cursor never returns a key twice, and never
//! passes a key that stays.
//!
//! A cursor keeps the order of its page's keys. It checks the page's version at each step, and
//! searches for its key again if the page has changed.

use std::marker::PhantomData;

use skein_sync::reclaim::{Guard, PROTECT};
use skein_sync::version::Version;

use super::latch::page_of;
use super::lookup::PagePlace;
use super::node::Node;
use super::page::{Page, SLOTS_MAX};
use super::variant::{PageTreeSettings, PageTreeVariant};
use crate::cursor::{CursorMoves, CursorPosition};
use crate::index::MAX_KEY_LEN;
use crate::slot::Slot;

/// The steps in one page after which a cursor asks for the next page.
const STEPS_BEFORE_NEXT: u8 = 2;

/// A position in a [`PageTree`](super::PageTree).
#[derive(Debug)]
pub struct PageTreeCursor<'g, S: Slot, G: Guard, V: PageTreeSettings> {
    index: &'g PageTreeVariant<S, V>,
    guard: PhantomData<&'g G>,
    view: Option<PageView>,
    position: CursorPosition<()>,
    /// The key, if the position is on one.
    key: Vec<u8>,
    /// The page whose prefix begins `key`.
    prefixed: Option<Page>,
}

/// A page at one moment.
#[derive(Debug)]
struct PageView {
    place: PagePlace,
    version: Version,
    live: usize,
    order: [u64; SLOTS_MAX / 8],
    /// The cursor's rank. Past the end, it is `live` forward, and wraps around backward.
    rank: usize,
    steps: u8,
}

/// Where in a page a scan starts.
#[derive(Clone, Copy, Debug)]
enum PageStart<'k> {
    /// At the end that the scan reaches first.
    End,
    /// At this key or next to it.
    Key { key: &'k [u8], inclusive: bool },
}

// SAFETY: a cursor holds an index that is `Sync`, and addresses that the guard keeps alive. If the
// guard may move to another thread, so may the cursor.
unsafe impl<S: Slot, G: Guard + Sync, V: PageTreeSettings> Send for PageTreeCursor<'_, S, G, V> {}

impl PageView {
    /// Views a page. Returns `None` if it changes meanwhile or is deleted.
    fn of(place: PagePlace, start: PageStart<'_>, forward: bool) -> Option<Self> {
        let page = place.page;
        let version = page.version().stable();
        if version.is_deleted() {
            return None;
        }
        let live = page.live();
        let mut order = [0; SLOTS_MAX / 8];
        for (copy, word) in order.iter_mut().zip(page.order()) {
            // Pairs with the Release in `lanes::insert`, so the entries are visible.
            *copy = word.load(PROTECT);
        }
        let rank = match start {
            PageStart::End if forward => 0,
            PageStart::End => live.wrapping_sub(1),
            PageStart::Key { key, inclusive } => {
                let (rank, slot) = page.rank(&key[page.prefix_len()..], live);
                let equal = slot.is_some();
                match (forward, equal && inclusive) {
                    (_, true) => rank,
                    (true, false) => rank + usize::from(equal),
                    (false, false) => rank.wrapping_sub(1),
                }
            }
        };
        let view = Self { place, version, live, order, rank, steps: 0 };
        (!page.version().changed(version)).then_some(view)
    }

    #[inline(always)]
    fn slot(&self) -> usize {
        usize::from((self.order[self.rank / 8] >> (self.rank % 8 * 8)) as u8)
    }

    /// Moves one rank on. Asks for the next page if the scan seems to go on.
    #[inline(always)]
    fn step(&mut self, forward: bool) {
        self.rank = if forward { self.rank + 1 } else { self.rank.wrapping_sub(1) };
        if self.steps < STEPS_BEFORE_NEXT {
            self.steps += 1;
            if self.steps == STEPS_BEFORE_NEXT
                && let Some((node, at)) = self.place.beside(forward)
            {
                node.child(at).prefetch(usize::MAX);
            }
        }
    }
}

impl PagePlace {
    /// Returns the position of the next page, if it has the same parent.
    #[inline(always)]
    fn beside(&self, forward: bool) -> Option<(Node, usize)> {
        let (node, at) = self.parent?;
        let next = if forward { at + 1 } else { at.checked_sub(1)? };
        (next < node.children()).then_some((node, next))
    }

    /// Returns the separator between this page and the next.
    fn fence(&self, forward: bool) -> Option<Vec<u8>> {
        let (node, at) = match (self.parent, forward) {
            (Some((node, at)), true) if at + 1 < node.children() => (node, at),
            (Some((node, at)), false) if at > 0 => (node, at - 1),
            (_, true) => self.outer_upper?,
            (_, false) => self.outer_lower?,
        };
        Some(node.separator(at).to_vec())
    }

    /// Returns the next page and the way to it, if it has the same parent.
    #[inline]
    fn next(&self, forward: bool) -> Option<Self> {
        let (node, at) = self.beside(forward)?;
        // SAFETY: loaded from a live node under the cursor's guard.
        let page = unsafe { page_of(node.child(at)) }?;
        Some(Self { page, parent: Some((node, at)), ..*self })
    }
}

impl<'g, S: Slot, G: Guard, V: PageTreeSettings> PageTreeCursor<'g, S, G, V> {
    pub(super) fn new(index: &'g PageTreeVariant<S, V>, _guard: &'g G) -> Self {
        Self {
            index,
            guard: PhantomData,
            view: None,
            position: CursorPosition::Fresh,
            key: Vec::new(),
            prefixed: None,
        }
    }

    /// Moves to the first key from `key` on, in the given direction.
    fn seek_from(&mut self, key: &[u8], inclusive: bool, forward: bool) -> bool {
        // No key in the index is longer than the limit. So the longest allowed prefix of `key`
        // replaces it. Forward, that prefix itself is below `key` and must be excluded.
        let (key, inclusive) =
            if key.len() > MAX_KEY_LEN { (&key[..MAX_KEY_LEN], !forward) } else { (key, inclusive) };
        self.seek_place(key, false, PageStart::Key { key, inclusive }, forward)
    }

    /// Views the page for `key`, or for the keys just below it, and settles there.
    fn seek_place(&mut self, key: &[u8], below: bool, start: PageStart<'_>, forward: bool) -> bool {
        loop {
            let place = self.index.locate_place(key, below);
            let Some(view) = PageView::of(place, start, forward) else { continue };
            self.view = Some(view);
            if let Some(done) = self.settle(forward) {
                return done;
            }
        }
    }

    /// Stands on the key at the view's rank, or on the next key in the given direction. Returns
    /// `None` if the first page has changed.
    fn settle(&mut self, forward: bool) -> Option<bool> {
        let mut first = true;
        loop {
            let Some(view) = &mut self.view else { return Some(self.move_off_end(forward)) };
            if view.rank < view.live {
                if self.load() {
                    return Some(true);
                }
                if first {
                    return None;
                }
                // The start of the page is the fence behind which the cursor goes on.
                let fence = self.view.as_ref().and_then(|view| view.place.fence(!forward));
                return Some(self.seek_fence(fence, forward));
            }
            let place = view.place;
            let next = place.next(forward).and_then(|next| PageView::of(next, PageStart::End, forward));
            match next {
                Some(next) => self.view = Some(next),
                None => return Some(self.seek_fence(place.fence(forward), forward)),
            }
            first = false;
        }
    }

    /// Goes on behind a separator, or off the end if there is none.
    fn seek_fence(&mut self, fence: Option<Vec<u8>>, forward: bool) -> bool {
        match fence {
            Some(fence) => {
                let start = PageStart::Key { key: &fence, inclusive: forward };
                self.seek_place(&fence, !forward, start, forward)
            }
            None => self.move_off_end(forward),
        }
    }

    /// Loads key and value at the view's rank. Returns false if the page has changed.
    #[inline(always)]
    fn load(&mut self) -> bool {
        let Some(view) = &self.view else { return false };
        let (page, slot) = (view.place.page, view.slot());
        let word = page.value::<S>(slot);
        if page.version().changed(view.version) {
            return false;
        }
        self.set_key(page, slot);
        self.position = CursorPosition::On((), word);
        true
    }

    #[inline(always)]
    fn set_key(&mut self, page: Page, slot: usize) {
        if self.prefixed == Some(page) {
            self.key.truncate(page.prefix_len());
        } else {
            self.key.clear();
            self.key.extend_from_slice(page.prefix());
            self.prefixed = Some(page);
        }
        self.key.extend_from_slice(page.rest(slot));
    }

    /// Seeks again from the cursor's key, because its page has changed.
    #[cold]
    fn resume(&mut self, forward: bool) -> bool {
        self.prefixed = None;
        let key = std::mem::take(&mut self.key);
        self.seek_from(&key, false, forward)
    }

    fn move_off_end(&mut self, forward: bool) -> bool {
        self.position = CursorPosition::off_end(forward);
        self.view = None;
        false
    }
}

// SAFETY: a word is loaded from a page under the guard that the cursor borrows.
unsafe impl<'g, S: Slot, G: Guard, V: PageTreeSettings> CursorMoves<'g, S> for PageTreeCursor<'g, S, G, V> {
    type Key = ();

    #[inline(always)]
    fn position(&self) -> &CursorPosition<()> {
        &self.position
    }

    #[inline(always)]
    fn bytes<'k>(&'k self, (): &'k ()) -> &'k [u8] {
        &self.key
    }

    fn seek_to(&mut self, key: &[u8], forward: bool) -> bool {
        self.position = CursorPosition::Fresh;
        self.seek_from(key, true, forward)
    }

    fn move_to_last(&mut self) -> bool {
        self.position = CursorPosition::Fresh;
        loop {
            let place = self.index.locate_last();
            let Some(view) = PageView::of(place, PageStart::End, false) else { continue };
            self.view = Some(view);
            if let Some(done) = self.settle(false) {
                return done;
            }
        }
    }

    #[inline]
    fn step(&mut self, (): (), forward: bool) -> bool {
        let Some(view) = &mut self.view else { return self.resume(forward) };
        if view.place.page.version().changed(view.version) {
            return self.resume(forward);
        }
        view.step(forward);
        if view.rank < view.live && self.load() {
            return true;
        }
        match self.settle(forward) {
            Some(done) => done,
            None => self.resume(forward),
        }
    }
}
