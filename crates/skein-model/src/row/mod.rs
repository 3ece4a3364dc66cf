//! Rows: a version and either one value or columns. A row is immutable once published. It is one
//! allocation behind a thin pointer, or lies in a leaf of an index that embeds rows.
//!
//! ```text
//!   0         8        12
//!   version │ tag    │ body                                │ expires at
//!    u64      kind, 2 bits; whether it expires, 1 bit;       u64, unix ms; only if
//!    (51      body length, 29 bits                           the tag says so
//!    bits, whether it is embedded, and the stamp of the last use: see `age_clock`)
//!
//!   embedded   the tag has 2 bytes: kind, whether it expires, and 13 bits of the length field
//!   value      the bytes
//!   table      columns in one sequence of bytes (`ColumnTable`)
//!   blocks     count u32 │ footprint u64 │ pointers to column blocks (see `block`), each 8 bytes
//!   other      the length field is a code, which gives the contents and the length of the body
//!              code 0: a tombstone, without a body; exists only during a recovery
//!              codes 1, 2, 6: a sorted set, spread columns, a set; the body is a pointer to the
//!              collection (see `collection`), 8 bytes
//!              codes 3, 4, 5: the same, if an engine keeps them outside of memory; the body is a
//!              `CollectionHead`: id u64 │ count u64
//!              codes 11, 12, 13: a small sorted set, set or list; the body is its members
//!              (`PackedMembers`). The length is above the 5 bits of the code
//! ```
//!
//! From its time of expiry on, a row counts as absent: readers check the time (`OperationTime`).
//! The successors of a row keep its time unless they are made with another one.
//!
//! A put makes a new row and copies the columns that it does not set (section 4.7). So readers see
//! all columns of a put or none. Rows over [`TABLE_BYTES_MAX`] keep their columns in shared blocks,
//! so that a small put copies pointers and not bytes.
//!
//! # Files
//!
//! `alloc` makes and frees rows, `slot` gives them to an index, `draft` has the memory of rows that
//! are about to be embedded. A table (`ColumnTable`) and `block` are the two forms of columns,
//! `merge` makes rows of columns, `columns` reads them. `buffer` encodes rows for the disk engine.
//! `collection` has rows that stand for a collection, which rows in memory share
//! (`shared_collection`). `usage` counts the memory of a row, `age_clock` its last use, `use_count`
//! its frequency of use.
//!
//! # Invariants
//! 1. A [`Row`] owns its allocation. The size of the allocation follows from the tag; kind, body
//!    and time of expiry never change.
//! 2. The version is written only through `&mut Row`, hence before the row is published. The stamp
//!    above it may change at any time. So the upper 16 bits of the word, which have the stamp and the
//!    upper bits of the version, are an atomic of their own.
//! 3. The body of kind `blocks` holds pointers that each own one reference to a block, at an offset
//!    aligned to 8.
//! 4. If the tag says that the row expires, 8 bytes of time follow the body, at any alignment.
//! 5. A [`RowRef`] is made only from a row that outlives it: one behind a guard, one borrowed, or
//!    one in a [`RowBuffer`] that is borrowed.
//! 6. The body of codes 1, 2 and 6 is a pointer that owns one reference to a collection, at any
//!    alignment.
//! 7. An embedded row has the bit for it, is aligned to 2, and owns nothing. Other rows are aligned
//!    to 8. So code that serves both assumes an alignment of 2.
//! 8. A [`Row`] that is embedded lies in a draft (`draft`) and owns a share of it.
//!
//! Design: `docs/design/data-model.md`.

mod age_clock;
mod alloc;
mod block;
mod buffer;
mod collection;
mod columns;
mod draft;
mod merge;
mod shared_collection;
mod slot;
mod stamp;
mod usage;
mod use_count;

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use skein_index::memory::MemoryPart;

pub use age_clock::{AgeClock, UseNotes};
pub use alloc::RowAllocator;
pub use buffer::{RowBuffer, encode_value};
pub use collection::CollectionHead;
pub use columns::ColumnIter;
pub use shared_collection::{ResidentCollection, SharedCollection};
pub use usage::NODE_SHARE;
pub use use_count::random;

use crate::{CollectionKind, Error, Result, VALUE_BYTES_MAX};
use age_clock::{EMBEDDED, STAMP_MASK, VERSION_MASK};

const VERSION: usize = 0;
/// The upper 16 bits of the first word, which is little-endian.
const UPPER: usize = 6;
const UPPER_SHIFT: u32 = 48;
const TAG: usize = 8;
const BODY: usize = 12;

/// Offsets in the body of kind `blocks`: the number of columns (u32), the bytes of all blocks
/// (u64), and the pointers to them.
const BLOCKS_COUNT: usize = BODY;
const BLOCKS_FOOTPRINT: usize = BODY + 4;
const BLOCKS: usize = BODY + 12;

const KIND_SHIFT: u32 = 30;
const EXPIRES: u32 = 1 << 29;
const LEN_MASK: u32 = EXPIRES - 1;

/// The longest body. A value may have this length; the pointers to the blocks of a row are shorter.
const BODY_LEN_MAX: usize = LEN_MASK as usize;
const _: () = assert!(VALUE_BYTES_MAX <= BODY_LEN_MAX);

const EXPIRY: usize = size_of::<u64>();

const TOMBSTONE: u32 = 0;

/// Larger tables are cut into shared blocks.
pub const TABLE_BYTES_MAX: usize = 1 << 10;

/// The form of a row's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum RowKind {
    Value = 0,
    Table = 1,
    Blocks = 2,
    Other = 3,
}

fn tag_of(kind: RowKind, len: usize, expires: Option<u64>) -> u32 {
    (kind as u32) << KIND_SHIFT | if expires.is_some() { EXPIRES } else { 0 } | len as u32
}

/// An owned row that is not published yet.
#[derive(Debug)]
#[repr(transparent)]
pub struct Row {
    start: NonNull<u8>,
}

// SAFETY: a row consists of plain bytes, and of blocks and collections that are themselves `Send`
// and `Sync`; it changes only through `&mut` (invariant 2).
unsafe impl Send for Row {}
// SAFETY: as above.
unsafe impl Sync for Row {}

/// A row in the store. It is valid as long as its guard, or the closure that received it.
#[derive(Clone, Copy)]
pub struct RowRef<'g> {
    start: NonNull<u8>,
    row: PhantomData<&'g Row>,
}

/// A row without its lifetime, for a holder that knows why the row stays in memory. See
/// [`RowRef::pin`].
#[derive(Debug)]
pub struct PinnedRow(NonNull<u8>);

impl PinnedRow {
    /// Returns the row.
    ///
    /// # Safety
    /// The guard under which [`RowRef::pin`] was called is still held and was not refreshed, and
    /// this remains true for `'g`.
    #[inline]
    pub unsafe fn row<'g>(&self) -> RowRef<'g> {
        RowRef { start: self.0, row: PhantomData }
    }
}

// SAFETY: a `RowRef` is a `&Row`.
unsafe impl Send for RowRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for RowRef<'_> {}

impl Row {
    /// Allocates a row of version 0 with `len` bytes of unwritten body, and writes its time of
    /// expiry. The row is a draft if its index can embed it.
    fn with_body(rows: &RowAllocator, kind: RowKind, len: usize, expires: Option<u64>) -> Self {
        // `RowAllocator::value` checks values, tables are small, and `RowAllocator::merged` bounds
        // blocks.
        assert!(len <= BODY_LEN_MAX, "row bodies are bounded by the store's limits");
        let body = if kind == RowKind::Other { collection::body_len(len as u32) } else { len };
        let size = BODY + body + expires.map_or(0, |_| EXPIRY);
        let stamp = rows.ages().first_stamp();
        let draft =
            if size <= slot::EMBEDDED_MAX && !slot::owns(kind, len) { rows.take_draft() } else { None };
        let tag = tag_of(kind, len, expires);
        // SAFETY: the memory is fresh, aligned to 8 and has room for version, tag, body and time of
        // expiry.
        unsafe {
            let (start, body_start) = if let Some(start) = draft {
                start.add(VERSION).cast::<u64>().write((stamp | EMBEDDED).to_le());
                start.add(TAG).cast::<u16>().write(slot::short_of_tag(tag));
                (start, slot::EMBEDDED_BODY)
            } else {
                let start = rows.take(size);
                start.add(VERSION).cast::<u64>().write(stamp.to_le());
                start.add(TAG).cast::<u32>().write(tag);
                (start, BODY)
            };
            if let Some(expires) = expires {
                rows.note_expiring();
                start.add(body_start + body).cast::<u64>().write_unaligned(expires);
            }
            Self { start }
        }
    }

    /// Returns where the body is written.
    #[inline]
    fn body_mut(&mut self) -> NonNull<u8> {
        // SAFETY: the body lies in the row's memory.
        unsafe { self.start.add(self.as_ref().body_start()) }
    }

    /// Makes a row with one value, the concatenated parts. The caller has checked the length.
    fn value(rows: &RowAllocator, parts: &[&[u8]], expires: Option<u64>) -> Self {
        Self::of_bytes(rows, RowKind::Value, parts, expires)
    }

    /// Makes a row with the concatenated parts as its body.
    fn of_bytes(rows: &RowAllocator, kind: RowKind, parts: &[&[u8]], expires: Option<u64>) -> Self {
        let mut row = Self::with_body(rows, kind, parts.iter().map(|part| part.len()).sum(), expires);
        let mut at = row.body_mut();
        for part in parts {
            // SAFETY: the body is as long as all parts together, and fresh, so it overlaps no part.
            unsafe {
                at.copy_from_nonoverlapping(NonNull::from(*part).cast(), part.len());
                at = at.add(part.len());
            }
        }
        row
    }

    /// Makes the mark of a removed key, during a recovery.
    pub fn tombstone(rows: &RowAllocator, version: u64) -> Self {
        let mut row = Self::with_body(rows, RowKind::Other, TOMBSTONE as usize, None);
        row.set_version(version);
        row
    }

    /// Makes a row of version 0 with the contents of `row` and another time of expiry.
    fn until(rows: &RowAllocator, row: RowRef<'_>, expires: Option<u64>) -> Self {
        match row.kind() {
            RowKind::Blocks => Self::from_blocks(rows, row.blocks().to_vec(), expires),
            RowKind::Other => {
                if let Some(pointer) = row.pointer() {
                    // SAFETY: the row that is copied owns a reference (invariant 6).
                    Self::of_collection(rows, row.code(), unsafe { pointer.share() }, expires)
                } else if let Some(packed) = row.packed() {
                    Self::of_packed(rows, packed, expires)
                } else if let Some(head) = row.stored_collection() {
                    Self::of_stored(rows, head, expires)
                } else {
                    Self::tombstone(rows, 0)
                }
            }
            kind => Self::of_bytes(rows, kind, &[row.body()], expires),
        }
    }

    /// Sets the version. The row is still private (invariant 2).
    #[inline]
    pub fn set_version(&mut self, version: u64) {
        self.change_word(|word| (word & !VERSION_MASK) | (version & VERSION_MASK));
    }

    /// Sets the version, and continues the count of uses of the row that this one replaces. The row
    /// is still private.
    #[inline]
    pub fn succeed(&mut self, replaced: Option<RowRef<'_>>, version: u64, ages: &AgeClock) {
        self.set_version(version);
        if let Some(replaced) = replaced
            && ages.notes() == UseNotes::Frequency
        {
            let stamp = age_clock::stamp_after_use(ages.now(), replaced.stamp());
            self.change_word(|word| stamp | (word & !STAMP_MASK));
        }
    }

    /// Changes the first word.
    #[inline]
    fn change_word(&mut self, change: impl FnOnce(u64) -> u64) {
        // SAFETY: the row owns its memory, which starts with the word, aligned to 8.
        let word = unsafe { self.start.add(VERSION).cast::<u64>().as_mut() };
        *word = change(u64::from_le(*word)).to_le();
    }

    /// Borrows the row.
    #[inline]
    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef { start: self.start, row: PhantomData }
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        let row = self.as_ref();
        if row.is_embedded() {
            // SAFETY: an embedded row that is owned has a share of its draft (invariant 8).
            return unsafe { draft::give_back(self.start) };
        }
        if row.kind() == RowKind::Blocks {
            for i in 0..row.block_count() {
                // SAFETY: the pointer owns a reference (invariant 3), which is given up here, once.
                drop(unsafe { row.block_at(i).read() });
            }
        }
        let (size, part) =
            (row.size(), if row.is_marked_removed() { MemoryPart::Retired } else { MemoryPart::Rows });
        self.drop_collection();
        // SAFETY: `with_body` took `size` bytes (invariant 1), and `mark_removed` has counted them
        // as `part`.
        unsafe { alloc::give_back(self.start, size, part) };
    }
}

impl<'g> RowRef<'g> {
    /// Returns the row without its lifetime, for callers that hold the guard longer than the
    /// compiler can see.
    #[inline]
    pub fn pin(self) -> PinnedRow {
        PinnedRow(self.start)
    }

    #[inline]
    fn tag(self) -> u32 {
        // SAFETY: the row lives for `'g` (invariant 5) and its tag never changes (invariant 1).
        unsafe {
            if self.is_embedded() {
                slot::tag_of_short(self.start.add(TAG).cast::<u16>().read())
            } else {
                self.start.add(TAG).cast::<u32>().read()
            }
        }
    }

    /// Returns the offset of the body.
    #[inline]
    fn body_start(self) -> usize {
        if self.is_embedded() { slot::EMBEDDED_BODY } else { BODY }
    }

    #[inline]
    fn kind(self) -> RowKind {
        match self.tag() >> KIND_SHIFT {
            0 => RowKind::Value,
            1 => RowKind::Table,
            2 => RowKind::Blocks,
            _ => RowKind::Other,
        }
    }

    /// Returns the number of bytes of the body.
    #[inline]
    fn len(self) -> usize {
        match self.kind() {
            RowKind::Other => collection::body_len(self.tag() & LEN_MASK),
            _ => (self.tag() & LEN_MASK) as usize,
        }
    }

    /// Returns the number of bytes of the row.
    #[inline]
    fn size(self) -> usize {
        self.body_start() + self.len() + if self.expires() { EXPIRY } else { 0 }
    }

    #[inline]
    fn expires(self) -> bool {
        self.tag() & EXPIRES != 0
    }

    /// Returns the time at which the row expires, in milliseconds since 1970, or `None` if it does
    /// not.
    ///
    /// ```
    /// use skein_model::RowAllocator;
    ///
    /// let rows = RowAllocator::new();
    /// assert_eq!(rows.value(&[b"grey"])?.as_ref().expires_at(), None);
    /// assert_eq!(rows.value_until(&[b"grey"], Some(7_000))?.as_ref().expires_at(), Some(7_000));
    /// # Ok::<(), skein_model::Error>(())
    /// ```
    #[inline]
    pub fn expires_at(self) -> Option<u64> {
        // SAFETY: the time follows the body if the tag says so (invariant 4), and the row lives for
        // `'g` (invariant 5).
        self.expires()
            .then(|| unsafe { self.start.add(self.body_start() + self.len()).cast::<u64>().read_unaligned() })
    }

    /// Returns whether the row has expired at `now` (milliseconds since 1970). It is still present
    /// during its last millisecond.
    #[inline]
    pub fn has_expired(self, now: u64) -> bool {
        self.expires_at().is_some_and(|at| at < now)
    }

    #[inline]
    fn body(self) -> &'g [u8] {
        // SAFETY: `len` bytes of body follow the tag, and they never change once the row is visible
        // (invariants 1 and 5).
        unsafe { std::slice::from_raw_parts(self.start.add(self.body_start()).as_ptr(), self.len()) }
    }

    /// Returns the version. Every write to a key increases it, also across a removal.
    #[inline]
    pub fn version(self) -> u64 {
        // SAFETY: the row lives for `'g` (invariant 5), and these bytes do not change (invariant
        // 2).
        let (low, middle) = unsafe {
            let start = self.start.add(VERSION);
            (start.cast::<u32>().read_unaligned(), start.add(4).cast::<u16>().read_unaligned())
        };
        let lower = u64::from(u32::from_le(low)) | u64::from(u16::from_le(middle)) << 32;
        (lower | self.upper_bits()) & VERSION_MASK
    }

    /// Returns the upper 16 bits of the first word, at their position: the stamp, and the upper
    /// bits of the version.
    #[inline]
    fn upper_bits(self) -> u64 {
        // Relaxed: the version was written before the row became visible (invariant 2), and the
        // stamp is a hint.
        u64::from(u16::from_le(self.upper().load(Ordering::Relaxed))) << UPPER_SHIFT
    }

    /// Returns the upper 16 bits of the first word, as they are in memory.
    #[inline]
    fn upper(self) -> &'g AtomicU16 {
        // SAFETY: the row lives for `'g` (invariant 5), and a row is aligned to 2 (invariant 7).
        // Since the row became visible, the bits are used only as an atomic (invariant 2).
        unsafe { self.start.add(UPPER).cast::<AtomicU16>().as_ref() }
    }

    /// Returns the value, or `None` if the row has columns.
    #[inline]
    pub fn value(self) -> Option<&'g [u8]> {
        (self.kind() == RowKind::Value).then(|| self.body())
    }

    /// Returns whether the row itself has columns. Spread columns are those of a collection.
    #[inline]
    pub fn has_columns(self) -> bool {
        matches!(self.kind(), RowKind::Table | RowKind::Blocks)
    }

    /// Returns whether the row is the mark of a removed key, which exists only during a recovery.
    #[inline]
    pub fn is_tombstone(self) -> bool {
        self.kind() == RowKind::Other && self.tag() & LEN_MASK == TOMBSTONE
    }

    /// Returns whether the columns are in shared blocks.
    #[inline]
    pub fn is_large(self) -> bool {
        self.kind() == RowKind::Blocks
    }

    /// Returns whether both are the same row, not only equal ones.
    #[inline]
    pub fn is(self, other: RowRef<'_>) -> bool {
        self.start == other.start
    }

    /// Returns the value of a row, for an operation that needs one.
    ///
    /// # Errors
    /// `WrongKind` if the row has columns or is a set.
    pub fn needed_value(self) -> Result<&'g [u8]> {
        self.value().ok_or_else(|| Error::WrongKind { found: self.holds(), needed: "a value" })
    }

    /// Returns a description of the contents, for messages.
    pub fn holds(self) -> &'static str {
        match self.kind() {
            RowKind::Table | RowKind::Blocks => "columns",
            RowKind::Other => self.collection_kind().map_or("nothing", CollectionKind::contents),
            RowKind::Value => "a value",
        }
    }
}

impl std::fmt::Debug for RowRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Row");
        debug.field("version", &self.version());
        debug.field("expires_at", &self.expires_at());
        match self.value() {
            Some(value) => debug.field("value_len", &value.len()),
            None => debug.field("columns", &self.column_count()),
        };
        debug.finish()
    }
}

#[cfg(test)]
mod tests;
