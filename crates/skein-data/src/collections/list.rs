//! Reads of lists.

use std::cell::OnceCell;
use std::ops::ControlFlow;

use skein_model::{ChunkElements, ListEnd, ListLayout, Members as _, ScanDirection};

use super::sorted_set::SetReader;
use super::views::MembersView;
use crate::Result;

/// The list of a key, as of one moment; see [`RowView::list`](super::RowView::list).
#[derive(Debug)]
pub struct ListReader<'r> {
    members: &'r SetReader<'r>,
    /// `None` if there are no elements.
    layout: OnceCell<Option<ListLayout>>,
}

impl<'r> ListReader<'r> {
    pub(super) fn new(members: &'r SetReader<'r>) -> Self {
        Self { members, layout: OnceCell::new() }
    }

    fn layout(&self) -> Option<&ListLayout> {
        // Reads of members do not fail: `SetReader` keeps the error.
        self.layout.get_or_init(|| ListLayout::read(self.members).unwrap_or_default()).as_ref()
    }

    /// Returns the number of elements. It is 0 if the key was replaced meanwhile. Takes O(log n).
    pub fn len(&self) -> u64 {
        self.layout().map_or(0, ListLayout::len)
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the element at an index from the front. Takes O(log n).
    pub fn get(&self, index: u64) -> Option<Vec<u8>> {
        let mut found = None;
        self.walk_from(index, |element| {
            found = Some(element.to_vec());
            ControlFlow::Break(())
        });
        found
    }

    /// Calls `each` with the elements from an index on, until it breaks.
    pub fn walk_from(&self, index: u64, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) {
        let Some((after, mut skipped)) = self.place(index) else { return };
        let walked = self.members.walk_names(after.as_deref(), &mut |name, value| {
            let mut elements = ChunkElements::of(name, value);
            elements.by_ref().take(std::mem::take(&mut skipped)).for_each(drop);
            elements.try_for_each(&mut each)
        });
        walked.unwrap_or_default();
    }

    /// Calls `each` with the elements from an end on, until it breaks.
    pub fn walk(&self, end: ListEnd, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) {
        if end == ListEnd::Front {
            return self.walk_from(0, each);
        }
        let Some(last) = self.members.len().checked_sub(1) else { return };
        self.members.walk(last, ScanDirection::Backward, |_, member| {
            let name = member.to_vec();
            let Ok(Some(value)) = self.members.value(&name) else { return ControlFlow::Break(()) };
            let elements: Vec<&[u8]> = ChunkElements::of(&name, &value).collect();
            elements.into_iter().rev().try_for_each(&mut each)
        });
    }

    /// Calls `each` with the elements until it breaks; only with those behind a cursor, if given.
    /// Returns the cursor behind the element at which it broke.
    pub(crate) fn elements_after(
        &self,
        cursor: Option<&[u8]>,
        mut each: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Option<Vec<u8>> {
        let (after, mut skipped) = cursor.map_or((None, 0), |cursor| {
            let (after, skipped) = ChunkElements::place_of(cursor);
            (Some(after), skipped)
        });
        let mut next = None;
        let walked = self.members.walk_names(after, &mut |name, value| {
            let mut passed = std::mem::take(&mut skipped);
            for element in ChunkElements::of(name, value).skip(passed) {
                passed += 1;
                if each(element).is_break() {
                    next = Some(ChunkElements::cursor(name, passed));
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        walked.unwrap_or_default();
        next
    }

    /// Takes a view of `count` elements from an index on, as they are now: to read them in steps
    /// while writers continue.
    pub fn view(&self, index: u64, count: u64) -> Option<ElementsView> {
        let left = count.min(self.len().saturating_sub(index));
        let (after, skipped) = self.place(index).unwrap_or_default();
        let members = self.members.view_members_after(after, self.members.len())?;
        Some(ElementsView { members, skipped, rest: Vec::new(), left })
    }

    /// Checks the form of the list. Takes O(n).
    ///
    /// # Errors
    /// The first violated invariant.
    pub fn check(&self) -> std::result::Result<(), String> {
        ListLayout::check(self.members).unwrap_or(Ok(()))
    }

    /// Returns the name after which a walk finds the element at an index, and the number of
    /// elements that lie between. `None` if there is no such element.
    fn place(&self, index: u64) -> Option<(Option<Vec<u8>>, usize)> {
        let layout = self.layout()?;
        let place = layout.find(self.members, index).ok()??;
        Some((Some(place.name_before().to_vec()), usize::try_from(place.offset()).ok()?))
    }
}

/// Elements of a list as they were at one moment; see [`ListReader::view`]. A view keeps the
/// elements that writers replace meanwhile, so drop it as soon as possible.
#[derive(Default)]
pub struct ElementsView {
    members: MembersView,
    /// The number of elements of the first chunk that precede the view.
    skipped: usize,
    /// The elements of the last chunk that no step has shown.
    rest: Vec<u8>,
    /// The elements that no step has shown.
    left: u64,
}

impl ElementsView {
    /// Returns how many elements no step has shown.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the bytes that the view uses besides itself, about.
    pub fn memory(&self) -> usize {
        self.members.memory() + self.rest.capacity()
    }

    /// Calls `each` with the next elements until it breaks, and visits about `most` elements.
    /// Returns whether there are more.
    ///
    /// # Errors
    /// A page of the disk engine cannot be read or is damaged.
    pub fn step(&mut self, most: usize, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<bool> {
        let Self { members, skipped, rest, left } = self;
        if *left == 0 {
            return Ok(false);
        }
        let mut shown = 0;
        let mut show = |element: &[u8]| {
            *left -= 1;
            shown += 1;
            let is_over = each(element).is_break() || *left == 0 || shown >= most;
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let begun = std::mem::take(rest);
        let mut elements = ChunkElements::rest(&begun);
        let mut flow = elements.try_for_each(&mut show);
        rest.extend_from_slice(elements.as_bytes());
        let mut more = true;
        if flow.is_continue() {
            more = members.step(most, |name, value| {
                let mut elements = ChunkElements::of(name, value);
                elements.by_ref().take(std::mem::take(skipped)).for_each(drop);
                flow = elements.try_for_each(&mut show);
                rest.extend_from_slice(elements.as_bytes());
                flow
            })?;
        }
        Ok(*left > 0 && (more || flow.is_break()))
    }
}
