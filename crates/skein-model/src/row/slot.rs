//! Rows as the values of an index: behind a pointer, or embedded in a leaf.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::LazyLock;

use skein_index::Slot;
use skein_index::memory::{copy_short, prefetch_lines};

use super::age_clock::EMBEDDED;
use super::{BODY, EXPIRES, LEN_MASK, Row, RowAllocator, RowKind, RowRef, TAG, VERSION, collection};

/// The most bytes of a row that is embedded. A longer row would make pages long, which a change
/// copies.
pub(super) const EMBEDDED_MAX: usize = 256;

/// The offset of the body in an embedded row, whose tag is short.
pub(super) const EMBEDDED_BODY: usize = TAG + size_of::<u16>();

/// The bits of the length field in a short tag. The field of packed members has their length above
/// 5 bits for a code.
const SHORT_LEN_BITS: u32 = 13;
const SHORT_LEN_MASK: u32 = (1 << SHORT_LEN_BITS) - 1;
const _: () = assert!((EMBEDDED_MAX << 5) - 1 <= SHORT_LEN_MASK as usize);

/// How far kind and expiry lie further below in a short tag.
const SHORT_SHIFT: u32 = EXPIRES.trailing_zeros() - SHORT_LEN_BITS;

/// Returns the tag of a short tag.
#[inline]
pub(super) fn tag_of_short(short: u16) -> u32 {
    let short = u32::from(short);
    (short & !SHORT_LEN_MASK) << SHORT_SHIFT | short & SHORT_LEN_MASK
}

/// Returns the short tag of a row that is small enough.
#[inline]
pub(super) fn short_of_tag(tag: u32) -> u16 {
    ((tag & !LEN_MASK) >> SHORT_SHIFT | tag & LEN_MASK) as u16
}

/// Returns whether a row with this kind and length field owns what lies elsewhere.
#[inline]
pub(super) fn owns(kind: RowKind, len: usize) -> bool {
    kind == RowKind::Blocks || kind == RowKind::Other && collection::is_pointer(len as u32)
}

/// The rows of drafts that went to an index that does not embed. That is rare: a row that one store
/// made was put into another one.
static STRAYS: LazyLock<RowAllocator> = LazyLock::new(RowAllocator::new);

impl Row {
    /// Returns the same row outside of a draft.
    #[cold]
    fn outside(self) -> Self {
        let row = self.as_ref();
        let mut moved = Self::until(&STRAYS, row, row.expires_at());
        moved.set_version(row.version());
        moved.as_ref().restamp(row.stamp());
        moved
    }
}

// SAFETY: the word is the address of the row's allocation, which the row owned. The caller keeps
// the `RowRef` that `borrow` makes within the life of the allocation. Rows are `Send` and `Sync`.
// An embedded row is the same bytes elsewhere, and owns nothing (invariant 7).
unsafe impl Slot for Row {
    type Ref<'g> = RowRef<'g>;
    const OWNS: bool = true;

    #[inline(always)]
    fn into_word(self) -> u64 {
        let row = if self.as_ref().is_embedded() { self.outside() } else { self };
        let word = row.start.as_ptr().expose_provenance() as u64;
        std::mem::forget(row);
        word
    }

    #[inline(always)]
    unsafe fn from_word(word: u64) -> Self {
        // SAFETY: `into_word` made the word from a pointer that is not null.
        let start = unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(word as usize)) };
        Self { start }
    }

    #[inline(always)]
    unsafe fn borrow<'g>(word: u64) -> RowRef<'g> {
        // SAFETY: as in `from_word`; the caller guarantees `'g`.
        let start = unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(word as usize)) };
        RowRef { start, row: PhantomData }
    }

    /// Fetches the first two cache lines: the head, and a value of usual size.
    #[inline(always)]
    fn prefetch(word: u64) {
        prefetch_lines::<2, _>(std::ptr::without_provenance::<u8>(word as usize));
    }

    const EMBEDS: bool = true;

    #[inline]
    fn embedded_size(&self) -> Option<usize> {
        let (row, size) = (self.as_ref(), self.as_ref().size());
        if row.is_embedded() {
            return Some(size);
        }
        let owns = owns(row.kind(), (row.tag() & LEN_MASK) as usize);
        (size <= EMBEDDED_MAX && !owns).then(|| size - (BODY - EMBEDDED_BODY))
    }

    #[inline]
    unsafe fn embed(self, to: NonNull<u8>) {
        let row = self.as_ref();
        if row.is_embedded() {
            // SAFETY: the caller gives room for the row, which is not shared yet.
            return unsafe { copy_short(self.start, to, row.size()) };
        }
        // SAFETY: the caller gives room for the row. It is not shared yet, as this one is not.
        unsafe {
            let word = self.start.add(VERSION).cast::<u64>().read();
            to.add(VERSION).cast::<u64>().write_unaligned(word | EMBEDDED.to_le());
            to.add(TAG).cast::<u16>().write(short_of_tag(row.tag()));
            copy_short(self.start.add(BODY), to.add(EMBEDDED_BODY), row.size() - BODY);
        }
    }

    #[inline]
    unsafe fn embedded_size_at(row: NonNull<u8>) -> usize {
        RowRef { start: row, row: PhantomData }.size()
    }

    /// The stamp may change, which lies in the last 16 bits of the first word (invariant 2).
    const EMBEDDED_ATOMIC: usize = TAG;
}
