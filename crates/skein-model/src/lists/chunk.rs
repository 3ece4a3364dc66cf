//! A chunk: some neighbouring elements of a list, in the value of one member.
//!
//! ```text
//!   count (2 bytes, little-endian) │ length │ element │ length │ element │ …      lengths: `texts`
//! ```

use super::ListEnd;
use super::layout::is_chunk_name;
use crate::texts::{Texts, push_text, text_len};

/// The bytes of the count.
const HEAD: usize = 2;

/// A chunk in memory, as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Chunk(Vec<u8>);

impl Chunk {
    pub(super) fn empty() -> Self {
        Self(vec![0; HEAD])
    }

    /// Returns the chunk that a member's value holds.
    pub(super) fn of(value: &[u8]) -> Self {
        Self(value.to_vec())
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn count(&self) -> u64 {
        count_in(&self.0)
    }

    /// Returns the bytes of the chunk with one more element.
    pub(super) fn bytes_with(&self, element: &[u8]) -> usize {
        self.0.len() + text_len(element)
    }

    pub(super) fn elements(&self) -> Texts<'_> {
        Texts::of(self.0.get(HEAD..).unwrap_or_default())
    }

    fn set_count(&mut self, count: u64) {
        self.0[..HEAD].copy_from_slice(&(count as u16).to_le_bytes());
    }

    /// Returns where the bytes of an element begin.
    fn start_of(&self, index: u64) -> usize {
        let mut elements = self.elements();
        for _ in 0..index {
            elements.next();
        }
        self.0.len() - elements.as_bytes().len()
    }

    /// Adds an element at an end.
    pub(super) fn push(&mut self, end: ListEnd, element: &[u8]) {
        match end {
            ListEnd::Front => self.insert(0, element),
            ListEnd::Back => {
                push_text(&mut self.0, element);
                self.set_count(self.count() + 1);
            }
        }
    }

    /// Inserts an element before the one at `index`.
    pub(super) fn insert(&mut self, index: u64, element: &[u8]) {
        let count = self.count();
        self.insert_text(self.start_of(index), element);
        self.set_count(count + 1);
    }

    /// Replaces the element at `index`.
    pub(super) fn replace(&mut self, index: u64, element: &[u8]) {
        let (start, end) = (self.start_of(index), self.start_of(index + 1));
        self.0.drain(start..end);
        self.insert_text(start, element);
    }

    /// Inserts the bytes of an element.
    fn insert_text(&mut self, start: usize, element: &[u8]) {
        let before = self.0.len();
        push_text(&mut self.0, element);
        let added = self.0.len() - before;
        self.0[start..].rotate_right(added);
    }

    /// Splits off the elements from `index` on.
    pub(super) fn split_off(&mut self, index: u64) -> Self {
        let (start, count) = (self.start_of(index), self.count());
        let mut rest = Self::empty();
        rest.0.extend_from_slice(&self.0[start..]);
        rest.set_count(count - index);
        self.truncate(index);
        rest
    }

    /// Removes the elements from `index` on.
    pub(super) fn truncate(&mut self, index: u64) {
        self.0.truncate(self.start_of(index));
        self.set_count(index);
    }

    /// Appends the elements of another chunk.
    pub(super) fn append(&mut self, other: &Self) {
        let count = self.count() + other.count();
        self.0.extend_from_slice(&other.0[HEAD..]);
        self.set_count(count);
    }

    /// Returns the chunk without the elements at these indexes, which ascend.
    pub(super) fn without(&self, indexes: &[u64]) -> Self {
        let (mut kept, mut dropped) = (Self::empty(), indexes.iter().copied().peekable());
        for (index, element) in (0..).zip(self.elements()) {
            if dropped.next_if_eq(&index).is_none() {
                kept.push(ListEnd::Back, element);
            }
        }
        kept
    }

    /// Splits the chunk into chunks of at most `most` bytes; a single element may have more.
    pub(super) fn split_evenly(&self, most: usize) -> Vec<Self> {
        // Pieces of about the same size leave room in each.
        let pieces = self.0.len().div_ceil(most);
        let wanted = (HEAD + self.0.len().div_ceil(pieces)).min(most);
        let mut chunks = vec![Self::empty()];
        for element in self.elements() {
            let last = chunks.last().filter(|last| last.count() == 0 || last.bytes_with(element) <= wanted);
            if last.is_none() {
                chunks.push(Self::empty());
            }
            if let Some(last) = chunks.last_mut() {
                last.push(ListEnd::Back, element);
            }
        }
        chunks
    }
}

/// Returns the number of elements in the value of a chunk.
pub(crate) fn count_in(value: &[u8]) -> u64 {
    value.first_chunk().map_or(0, |head| u64::from(u16::from_le_bytes(*head)))
}

/// Returns whether these bytes are a chunk that a list may have.
pub(crate) fn is_chunk(value: &[u8]) -> bool {
    let mut elements = Texts::of(value.get(HEAD..).unwrap_or_default());
    let count = elements.by_ref().count() as u64;
    count > 0 && count == count_in(value) && elements.as_bytes().is_empty()
}

/// Returns the number of bytes of a chunk, or of none, with one more element.
pub(crate) fn len_with(chunk: &[u8], element: &[u8]) -> usize {
    chunk.len().max(HEAD) + text_len(element)
}

/// Adds an element at an end of a chunk, or begins one.
pub(crate) fn push_element(chunk: &mut Vec<u8>, end: ListEnd, element: &[u8]) {
    chunk.resize(chunk.len().max(HEAD), 0);
    let mut longer = Chunk(std::mem::take(chunk));
    longer.push(end, element);
    *chunk = longer.0;
}

/// Appends the elements of a chunk to another one.
pub(crate) fn append_chunk(to: &mut Vec<u8>, value: &[u8]) {
    if to.is_empty() {
        to.extend_from_slice(&[0; HEAD]);
    }
    let count = count_in(to) + count_in(value);
    to.extend_from_slice(value.get(HEAD..).unwrap_or_default());
    to[..HEAD].copy_from_slice(&(count as u16).to_le_bytes());
}

/// The elements in a member of a list, in order.
#[derive(Clone, Debug)]
pub struct ChunkElements<'c>(Texts<'c>);

impl<'c> ChunkElements<'c> {
    /// Returns the elements in the member with this name and value. The member with the ordinals
    /// has no elements.
    pub fn of(name: &[u8], value: &'c [u8]) -> Self {
        let elements = if is_chunk_name(name) { value.get(HEAD..).unwrap_or_default() } else { &[] };
        Self(Texts::of(elements))
    }

    /// Returns a cursor behind so many elements of the chunk with this name.
    pub fn cursor(name: &[u8], passed: usize) -> Vec<u8> {
        // A chunk has fewer elements than bytes, and those of one element are the longer ones.
        [name, &(passed as u16).to_be_bytes()].concat()
    }

    /// Returns the name after which a walk begins with the chunk that a cursor is in, and the number
    /// of its elements that are passed. A cursor from elsewhere leads to some place of the list.
    pub fn place_of(cursor: &[u8]) -> (&[u8], usize) {
        match cursor.split_last_chunk::<HEAD>() {
            Some((name, passed)) if is_chunk_name(name) => {
                (&name[..name.len() - 1], usize::from(u16::from_be_bytes(*passed)))
            }
            _ => (cursor, 0),
        }
    }

    /// Returns the elements that [`as_bytes`](Self::as_bytes) has kept.
    pub fn rest(bytes: &'c [u8]) -> Self {
        Self(Texts::of(bytes))
    }

    /// Returns the bytes of the elements of a chunk that are left.
    pub fn as_bytes(&self) -> &'c [u8] {
        self.0.as_bytes()
    }
}

impl<'c> Iterator for ChunkElements<'c> {
    type Item = &'c [u8];

    #[inline]
    fn next(&mut self) -> Option<&'c [u8]> {
        self.0.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(elements: &[&[u8]]) -> Chunk {
        let mut chunk = Chunk::empty();
        for element in elements {
            chunk.push(ListEnd::Back, element);
        }
        chunk
    }

    fn in_order(chunk: &Chunk) -> Vec<&[u8]> {
        let elements: Vec<_> = chunk.elements().collect();
        assert_eq!(elements.len() as u64, chunk.count());
        elements
    }

    #[test]
    fn a_chunk_changes_as_a_vector_does() {
        let mut changed = chunk(&[b"b", b"", b"d"]);
        changed.push(ListEnd::Front, b"a");
        changed.insert(2, &[b'x'; 200]);
        assert_eq!(in_order(&changed), [&b"a"[..], b"b", &[b'x'; 200], b"", b"d"]);
        changed.replace(2, b"c");
        assert_eq!(in_order(&changed), [&b"a"[..], b"b", b"c", b"", b"d"]);
        assert_eq!(in_order(&changed.without(&[0, 3])), [b"b", b"c", b"d"]);
        let rest = changed.split_off(2);
        assert_eq!((in_order(&changed).len(), in_order(&rest).len()), (2, 3));
        changed.append(&rest);
        assert_eq!(in_order(&changed), [&b"a"[..], b"b", b"c", b"", b"d"]);
        assert_eq!(changed.bytes_with(b"abc"), changed.as_bytes().len() + 4);
    }

    #[test]
    fn a_chunk_is_split_into_pieces_with_room() {
        let pieces = chunk(&[&[b'x'; 30][..]; 10]).split_evenly(200);
        let counts: Vec<u64> = pieces.iter().map(Chunk::count).collect();
        assert_eq!(counts, [5, 5]);
        let pieces = chunk(&[b"a", &[b'x'; 900], b"b"]).split_evenly(100);
        assert_eq!(pieces.iter().map(Chunk::count).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn a_cursor_leads_into_its_chunk() {
        let name = super::super::layout::chunk_name(7);
        let cursor = ChunkElements::cursor(&name, 300);
        assert_eq!(ChunkElements::place_of(&cursor), (&name[..8], 300));
        assert!(name[..8] < name[..]);
        assert_eq!(ChunkElements::place_of(b"no cursor"), (&b"no cursor"[..], 0));
    }

    #[test]
    fn the_member_with_the_ordinals_has_no_elements() {
        assert_eq!(ChunkElements::of(b"", b"ordinals").count(), 0);
        let packed = chunk(&[b"a", b"b"]);
        let name = super::super::layout::chunk_name(7);
        assert_eq!(ChunkElements::of(&name, packed.as_bytes()).collect::<Vec<_>>(), [b"a", b"b"]);
    }

    #[test]
    fn chunks_are_joined_and_recognized() {
        let (one, other) = (chunk(&[b"a", b""]), chunk(&[b"c"]));
        let mut joined = Vec::new();
        append_chunk(&mut joined, one.as_bytes());
        append_chunk(&mut joined, other.as_bytes());
        assert_eq!(joined, chunk(&[b"a", b"", b"c"]).as_bytes());
        let mut pushed = Vec::new();
        for (end, element) in [(ListEnd::Back, &b""[..]), (ListEnd::Front, b"a"), (ListEnd::Back, b"c")] {
            let len = len_with(&pushed, element);
            push_element(&mut pushed, end, element);
            assert_eq!(pushed.len(), len);
        }
        assert_eq!(joined, pushed);
        assert!(is_chunk(&joined) && !is_chunk(&joined[..joined.len() - 1]));
        assert!(!is_chunk(b"") && !is_chunk(Chunk::empty().as_bytes()) && !is_chunk(&[2, 0, 1, b'a']));
    }
}
