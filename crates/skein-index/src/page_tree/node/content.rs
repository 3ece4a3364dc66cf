//! The content of a node that is being made.
//!
//! ```text
//!   node N         │ a │ b │ c │ d │ e │        b is replaced by x and y
//!   content        │ a │ x │ y │ c │ d │ e │
//!   pieces         a run of N, x, y, a run of N
//! ```
//!
//! Most of a new node is that of an old one. So a content says where its children and separators
//! lie, and `build.rs` copies each run of an old node at once.

use arrayvec::ArrayVec;

use super::{Node, Separator};
use crate::page_tree::child::Child;
use crate::page_tree::key_run::RUN_PAGES;

/// The most pieces of a node: of a spliced one, and a neighbour that is merged with it.
const PIECES_MAX: usize = RUN_PAGES + 3;

/// Neighbouring children, with the separators between them.
#[derive(Clone, Copy, Debug)]
pub(in crate::page_tree) enum NodeRun {
    /// The children of a node from the first position up to the second one.
    Old(Node, usize, usize),
    New(Child),
}

/// The content of a node: at least one child, and a separator between each two.
#[derive(Debug)]
pub(in crate::page_tree) struct NodeContent<'n> {
    first: NodeRun,
    /// The further runs, with the separators before them.
    others: ArrayVec<(Separator<'n>, NodeRun), { PIECES_MAX - 1 }>,
}

impl NodeRun {
    /// Returns all children of a node.
    pub(in crate::page_tree) fn all(node: Node) -> Self {
        Self::Old(node, 0, node.children())
    }

    /// Returns the number of children, which is not 0.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Old(_, from, to) => to - from,
            Self::New(_) => 1,
        }
    }

    /// Returns the children from one position up to another one, which are within this run.
    fn part(self, from: usize, to: usize) -> Self {
        match self {
            Self::Old(node, start, _) => Self::Old(node, start + from, start + to),
            Self::New(_) => self,
        }
    }

    /// Returns the separator before the child at this position, which is not the first.
    fn separator_before<'n>(self, at: usize) -> Option<Separator<'n>> {
        match self {
            Self::Old(node, from, _) => Some(node.separator(from + at - 1)),
            Self::New(_) => None,
        }
    }
}

impl<'n> NodeContent<'n> {
    pub(in crate::page_tree) fn of(first: NodeRun) -> Self {
        Self { first, others: ArrayVec::new() }
    }

    /// Appends a run behind a separator.
    pub(in crate::page_tree) fn push(&mut self, separator: Separator<'n>, run: NodeRun) {
        self.others.push((separator, run));
    }

    /// Returns this content, then a separator and all of another content.
    pub(in crate::page_tree) fn followed_by(mut self, separator: Separator<'n>, other: &Self) -> Self {
        self.push(separator, other.first);
        self.others.extend(other.others.iter().copied());
        self
    }

    /// Returns all runs, with the separators before them.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Option<Separator<'n>>, NodeRun)> {
        let others = self.others.iter().map(|&(separator, run)| (Some(separator), run));
        std::iter::once((None, self.first)).chain(others)
    }

    /// Returns the number of children.
    pub(in crate::page_tree) fn children(&self) -> usize {
        self.runs().map(|(_, run)| run.len()).sum()
    }

    /// Returns the first child.
    pub(in crate::page_tree) fn first_child(&self) -> Child {
        match self.first {
            NodeRun::Old(node, from, _) => node.child(from),
            NodeRun::New(child) => child,
        }
    }

    /// Returns the separator before the child at a position, which is neither the first nor behind
    /// the last.
    pub(in crate::page_tree) fn separator_before(&self, at: usize) -> Separator<'n> {
        let mut at = at;
        for (separator, run) in self.runs() {
            if at < run.len() {
                let within = if at == 0 { separator } else { run.separator_before(at) };
                return within.expect("each child but the first has a separator before it");
            }
            at -= run.len();
        }
        unreachable!("the content has a child at this position");
    }

    /// Returns the children from one position up to another one.
    pub(in crate::page_tree) fn part(&self, from: usize, to: usize) -> Self {
        let mut start = 0;
        let mut parts = self.runs().filter_map(|(separator, run)| {
            let within = |at: usize| at.clamp(start, start + run.len()) - start;
            let (low, high) = (within(from), within(to));
            start += run.len();
            (low < high).then(|| (if low == 0 { separator } else { None }, run.part(low, high)))
        });
        let (_, first) = parts.next().expect("a part has a child");
        let others = parts.filter_map(|(separator, run)| Some((separator?, run))).collect();
        Self { first, others }
    }
}
