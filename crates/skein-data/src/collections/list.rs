//! Reads of lists.

use std::ops::ControlFlow;

use skein_store::{ListEnd, ScanDirection};

use super::sorted_set::SetReader;
use super::views::MembersView;

/// The list of a key, as of one moment; see [`RowView::list`](super::RowView::list).
///
/// The names of its members are the positions of its elements. So an index leads to a name in
/// O(log n), and the elements behind it are a walk by name.
#[derive(Debug)]
pub struct ListReader<'r> {
    members: &'r SetReader<'r>,
}

impl<'r> ListReader<'r> {
    pub(super) fn new(members: &'r SetReader<'r>) -> Self {
        Self { members }
    }

    /// Returns the number of elements. It is 0 if the key was replaced meanwhile.
    pub fn len(&self) -> u64 {
        self.members.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the element at an index from the front.
    pub fn get(&self, index: u64) -> Option<Vec<u8>> {
        self.members.value(&self.position(index)?)
    }

    /// Calls `each` with the elements from an index on, until it breaks.
    pub fn walk_from(&self, index: u64, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) {
        if index < self.len() {
            let before = index.checked_sub(1).and_then(|before| self.position(before));
            self.values_after(before.as_deref(), |_, element| each(element));
        }
    }

    /// Calls `each` with the elements from an end on, until it breaks. From the back, each element
    /// takes a lookup.
    pub fn walk(&self, end: ListEnd, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) {
        let Some(last) = self.len().checked_sub(1) else { return };
        if end == ListEnd::Front {
            return self.walk_from(0, each);
        }
        self.members.walk(last, ScanDirection::Backward, |_, position| {
            match self.members.value(&position.to_vec()) {
                Some(element) => each(&element),
                None => ControlFlow::Break(()),
            }
        });
    }

    /// Calls `each` with the elements and their positions, until it breaks; only those behind the
    /// position `after`, if given.
    pub(crate) fn values_after(
        &self,
        after: Option<&[u8]>,
        each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) {
        self.members.values_after(after, each);
    }

    /// Takes a view of `count` elements from an index on, as they are now: to read them in steps
    /// while writers continue. The values that its steps show are the elements.
    pub fn view(&self, index: u64, count: u64) -> Option<MembersView> {
        let before = index.checked_sub(1).and_then(|before| self.position(before));
        self.members.view_members_after(before, count.min(self.len().saturating_sub(index)))
    }

    /// Returns the position of the element at an index.
    fn position(&self, index: u64) -> Option<Vec<u8>> {
        let mut found = None;
        self.members.walk(index, ScanDirection::Forward, |_, position| {
            found = Some(position.to_vec());
            ControlFlow::Break(())
        });
        found
    }
}
