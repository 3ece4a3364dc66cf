//! The layout of border and interior nodes in memory, and access to their fields.
//!
//! ```text
//!   border, full (320 bytes at W = 15)         border, solo (24 + 16 w bytes, w = 1, 2, 4, 7)
//!   ┌─────────┬─────────────┬──────┐           ┌─────────┬─────────────┬──────┐
//!   │ version │ permutation │ lens │           │ version │ permutation │ lens │
//!   ├─────────┴─────────────┴──────┤           ├─────────┴─────────────┴──────┤
//!   │ slice[W]                     │           │ slice[w]                     │
//!   ├──────────────────────────────┤           ├──────────────────────────────┤
//!   │ lv[W]  (value or link)       │           │ lv[w]                        │
//!   ├──────┬──────┬────────┬───────┤           └──────────────────────────────┘
//!   │ next │ prev │ parent │ low   │
//!   └──────┴──────┴────────┴───────┘           interior (320 bytes at W = 15)
//!                                              ┌─────────┬───────┬────────┐
//!   lens: the key lengths                      │ version │ nkeys │ parent │
//!                                              ├─────────┴───────┴────────┤
//!                                              │ key[W]                   │
//!                                              ├──────────────────────────┤
//!                                              │ child[W + 1]             │
//!                                              └──────────────────────────┘
//! ```
//!
//! A solo border node is the only node of its layer. On real paths nine layers in ten hold at most
//! seven keys. So a layer starts as a solo node of the smallest width that fits, and a wider copy
//! replaces the node as the layer grows. Only a full-width node can split. Full-width and interior
//! nodes start on a cache line. Every field is one 64-bit atomic word. Source: Masstree, section
//! 4.2, figure 2.
//!
//! # Invariants
//! 1. **Liveness.** A `Node` is used only while its memory is live: it was reached under a guard
//!    that is still held, or it is not shared yet, or the tree is borrowed mutably.
//! 2. **Shape.** The width of a border node, and whether a node is border or interior, never
//!    change. So a field's address is fixed, and `Node::size` returns the allocated size.
//! 3. **Words.** All fields are initialised before the handle is first returned.
//! 4. **Low key.** `low` of a full node never changes, and the node never holds a key below it.
//! 5. **Parent.** A node's `parent` changes only under the old parent's lock, or under the node's
//!    own lock if it has no parent. `next` changes under the node's own lock, `prev` under the left
//!    neighbour's.

use std::marker::PhantomData;
use std::ptr::NonNull;

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::reclaim::{GracePeriod, Guard, PROTECT};
use skein_sync::version::{Version, VersionWord};

use super::key_lengths::KeyLengths;
use super::permutation::SlotPermutation;
use super::variant::MasstreeSettings;
use crate::memory::{Arena, CACHE_LINE, MemoryPart, address_of, at_address, prefetch_read};

/// Bytes of an atomic word: 8, except in `loom` builds.
const WORD: usize = size_of::<AtomicU64>();

/// Words before the slices of a border node, and before the keys of an interior one.
const HEAD: usize = 3;

/// The widths of solo nodes. A layer with more keys has full-width nodes.
pub(super) const SOLO_WIDTHS: [usize; 4] = [1, 2, 4, 7];

/// Returns the smallest width of a border node that holds `count` keys.
pub(super) fn width_for<V: MasstreeSettings>(count: usize) -> usize {
    SOLO_WIDTHS.into_iter().find(|&small| small >= count && small < V::WIDTH).unwrap_or(V::WIDTH)
}

/// A node of a tree of variant `V`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node<V: MasstreeSettings>(NonNull<u8>, PhantomData<V>);

impl<V: MasstreeSettings> Node<V> {
    /// Returns the node at the address in `word`.
    ///
    /// # Safety
    /// The word came from [`Self::address`], tag bits aside, and invariant 1 holds for the node.
    #[inline(always)]
    pub(super) unsafe fn from_word(word: u64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { at_address(word & !7) }, PhantomData)
    }

    /// Returns the node at the address in `word`, or `None` if the word is 0.
    ///
    /// # Safety
    /// As for [`Self::from_word`], if the word is not 0.
    #[inline(always)]
    unsafe fn from_word_or_none(word: u64) -> Option<Self> {
        // SAFETY: the caller's promise.
        (word != 0).then(|| unsafe { Self::from_word(word) })
    }

    #[inline(always)]
    pub(super) fn address(self) -> u64 {
        address_of(self.0)
    }

    #[inline(always)]
    fn word<'a>(self, index: usize) -> &'a AtomicU64 {
        debug_assert!((index + 1) * WORD <= self.size());
        // SAFETY: callers pass indices of fields that the node has (invariant 2, checked above in
        // tests); the node is live and initialised (invariants 1 and 3).
        unsafe { self.0.cast::<AtomicU64>().add(index).as_ref() }
    }

    #[inline(always)]
    pub(super) fn version<'a>(self) -> &'a VersionWord {
        // SAFETY: the first field is a `VersionWord`, which is live and initialised (invariants 1
        // and 3).
        unsafe { self.0.cast().as_ref() }
    }

    /// Allocates a node of `size` bytes. Its first field is the version; the other fields are 0.
    fn alloc(arena: &Arena, size: usize, version: Version) -> Self {
        let pointer = arena.alloc(size, MemoryPart::Nodes);
        pointer.as_ptr().expose_provenance();
        // SAFETY: the memory is exclusively ours, `size` bytes long, and aligned to 8.
        unsafe {
            pointer.cast::<VersionWord>().write(VersionWord::new(version));
            for index in 1..size / WORD {
                pointer.cast::<AtomicU64>().add(index).write(AtomicU64::new(0));
            }
        }
        Self(pointer, PhantomData)
    }

    /// Returns the size of a node with this many words, in whole cache lines.
    const fn lines(words: usize) -> usize {
        (words * WORD).next_multiple_of(CACHE_LINE)
    }

    const INTERIOR_SIZE: usize = Self::lines(HEAD + 2 * V::WIDTH + 1);
    const FULL_SIZE: usize = Self::lines(HEAD + 2 * V::WIDTH + 4);

    /// Allocates an empty border node with `slots` slots.
    pub(super) fn new_border(arena: &Arena, slots: usize, version: Version) -> Self {
        let size = if slots == V::WIDTH { Self::FULL_SIZE } else { (HEAD + 2 * slots) * WORD };
        let node = Self::alloc(arena, size, version);
        node.word(2).store(KeyLengths::empty(slots).word(), Ordering::Relaxed);
        node.set_permutation(SlotPermutation::identity(0, slots));
        node
    }

    /// Allocates an interior node without children.
    pub(super) fn new_interior(arena: &Arena, version: Version) -> Self {
        let node = Self::alloc(arena, Self::INTERIOR_SIZE, version);
        for index in 0..V::WIDTH {
            node.set_key(index, u64::MAX);
        }
        node
    }

    /// Returns the allocated size in bytes.
    pub(super) fn size(self) -> usize {
        // SAFETY: the first three words of every node are live and initialised (invariants 1 and
        // 3).
        let (version, lengths) =
            unsafe { (self.0.cast::<VersionWord>().as_ref(), self.0.cast::<AtomicU64>().add(2).as_ref()) };
        if !version.peek().is_border() {
            return Self::INTERIOR_SIZE;
        }
        match KeyLengths::from_word(lengths.load(Ordering::Relaxed)).width() {
            slots if slots == V::WIDTH => Self::FULL_SIZE,
            slots => (HEAD + 2 * slots) * WORD,
        }
    }

    /// Frees the node.
    ///
    /// # Safety
    /// No thread can reach the node, and it is counted as `part`.
    pub(super) unsafe fn free(self, part: MemoryPart) {
        // SAFETY: allocated in `alloc` with this size (invariant 2); the rest is the caller's
        // promise.
        unsafe { Arena::free(self.0, self.size(), part) };
    }

    /// Frees the node when no thread can see it any more.
    ///
    /// # Safety
    /// The node is unlinked: no guard entered from now on can reach it.
    pub(super) unsafe fn retire(self, guard: &impl Guard) {
        unsafe fn reclaim<V: MasstreeSettings>(pointer: *mut u8, _: &GracePeriod) {
            // SAFETY: the collector passes the pointer that `retire` gave it, after the grace
            // period.
            unsafe { Node::<V>(NonNull::new_unchecked(pointer), PhantomData).free(MemoryPart::Retired) };
        }
        // SAFETY: the node is live and counted as `Nodes`; the caller guarantees that it is
        // unlinked.
        unsafe {
            Arena::recount(self.0, self.size(), MemoryPart::Nodes, MemoryPart::Retired);
            guard.defer_retire(self.0.as_ptr(), reclaim::<V>);
        }
    }

    /// Prefetches all cache lines of a full or interior node.
    #[inline(always)]
    pub(super) fn prefetch(self) {
        Self::prefetch_bytes(self.0.as_ptr(), Self::FULL_SIZE);
    }

    /// Returns how many cache lines to prefetch for a root of either kind: 1 to 3, or 0 for those
    /// of a full node.
    pub(super) fn lines_hint(self) -> u64 {
        if self.size() == Self::FULL_SIZE || self.size() == Self::INTERIOR_SIZE {
            return 0;
        }
        // A solo node may start anywhere in a line.
        self.size().div_ceil(CACHE_LINE).min(3) as u64
    }

    /// Prefetches the node at an address, as many cache lines as [`Self::lines_hint`] returned.
    #[inline(always)]
    pub(super) fn prefetch_hint(address: u64, hint: u64) {
        let node = std::ptr::without_provenance(address as usize);
        Self::prefetch_bytes(node, if hint == 0 { Self::FULL_SIZE } else { hint as usize * CACHE_LINE });
    }

    #[inline(always)]
    fn prefetch_bytes(start: *const u8, bytes: usize) {
        if !V::PREFETCH {
            return;
        }
        let mut offset = 0;
        while offset < bytes {
            prefetch_read(start.wrapping_add(offset));
            offset += CACHE_LINE;
        }
    }
}

/// Fields of border nodes.
impl<V: MasstreeSettings> Node<V> {
    #[inline(always)]
    pub(super) fn permutation(self) -> SlotPermutation {
        // Acquire: pairs with the Release in `set_permutation`; the slots it lists are filled.
        SlotPermutation::from_word(self.word(1).load(Ordering::Acquire))
    }

    #[inline(always)]
    pub(super) fn set_permutation(self, permutation: SlotPermutation) {
        // Release: pairs with the Acquire in `permutation`.
        self.word(1).store(permutation.word(), Ordering::Release);
    }

    /// Returns the slots' codes and the width.
    #[inline(always)]
    pub(super) fn key_lengths(self) -> KeyLengths {
        // Acquire: pairs with the Release in `set_key_lengths`; the live slots are filled.
        KeyLengths::from_word(self.word(2).load(Ordering::Acquire))
    }

    #[inline(always)]
    pub(super) fn set_key_lengths(self, lengths: KeyLengths) {
        // Release: pairs with the Acquire in `key_lengths`.
        self.word(2).store(lengths.word(), Ordering::Release);
    }

    #[inline(always)]
    pub(super) fn slice(self, slot: usize) -> u64 {
        // Relaxed: ordered by the Acquire of the codes, and validated by the version.
        self.word(HEAD + slot).load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn set_slice(self, slot: usize, slice: u64) {
        self.word(HEAD + slot).store(slice, Ordering::Relaxed);
    }

    /// Returns the value or link in a slot. `width` must be the width of this node.
    #[inline(always)]
    pub(super) fn lv(self, slot: usize, width: usize) -> u64 {
        self.word(HEAD + width + slot).load(PROTECT)
    }

    #[inline(always)]
    pub(super) fn set_lv(self, slot: usize, width: usize, word: u64) {
        // Release: pairs with the load in `lv`; the target of the word is initialised.
        self.word(HEAD + width + slot).store(word, Ordering::Release);
    }

    /// Returns whether the border node is full-width. Only a full-width node has neighbours and a
    /// parent, and can split.
    #[inline(always)]
    pub(super) fn is_full_width(self) -> bool {
        self.key_lengths().width() == V::WIDTH
    }

    /// Returns the right neighbour of a full border node.
    #[inline(always)]
    pub(super) fn next(self) -> Option<Self> {
        // SAFETY: neighbours are retired only after they are unlinked (invariant 1).
        unsafe { Self::from_word_or_none(self.word(HEAD + 2 * V::WIDTH).load(PROTECT)) }
    }

    pub(super) fn set_next(self, next: Option<Self>) {
        // Release: pairs with the load in `next`; the node it links is initialised.
        self.word(HEAD + 2 * V::WIDTH).store(next.map_or(0, Self::address), Ordering::Release);
    }

    /// Returns the left neighbour of a full border node.
    #[inline(always)]
    pub(super) fn prev(self) -> Option<Self> {
        // SAFETY: as for `next`.
        unsafe { Self::from_word_or_none(self.word(HEAD + 2 * V::WIDTH + 1).load(PROTECT)) }
    }

    pub(super) fn set_prev(self, prev: Option<Self>) {
        // Release: pairs with the load in `prev`.
        self.word(HEAD + 2 * V::WIDTH + 1).store(prev.map_or(0, Self::address), Ordering::Release);
    }

    /// Returns the least slice that may be in a full border node (invariant 4).
    #[inline(always)]
    pub(super) fn low(self) -> u64 {
        self.word(HEAD + 2 * V::WIDTH + 3).load(Ordering::Relaxed)
    }

    /// Sets the low key of a node that is not shared yet.
    pub(super) fn set_low(self, low: u64) {
        self.word(HEAD + 2 * V::WIDTH + 3).store(low, Ordering::Relaxed);
    }
}

/// Fields of interior nodes, and the parent of both kinds.
impl<V: MasstreeSettings> Node<V> {
    /// Returns the number of keys. The node has one child more.
    #[inline(always)]
    pub(super) fn nkeys(self) -> usize {
        // Acquire: pairs with the Release in `set_nkeys`; the children up to this count are set.
        self.word(1).load(Ordering::Acquire) as usize
    }

    pub(super) fn set_nkeys(self, nkeys: usize) {
        // Release: pairs with the Acquire in `nkeys`.
        self.word(1).store(nkeys as u64, Ordering::Release);
    }

    /// Returns a separator; `u64::MAX` past the last one.
    #[inline(always)]
    pub(super) fn key(self, index: usize) -> u64 {
        // Relaxed: validated by the version.
        self.word(HEAD + index).load(Ordering::Relaxed)
    }

    pub(super) fn set_key(self, index: usize, key: u64) {
        self.word(HEAD + index).store(key, Ordering::Relaxed);
    }

    /// Returns a child. `index` must be at most a value that [`Self::nkeys`] returned under the
    /// same guard. Each pointer that can be read there was a child while that guard was held, so it
    /// is protected.
    #[inline(always)]
    pub(super) fn child(self, index: usize) -> Self {
        // SAFETY: see above (invariant 1).
        unsafe { Self::from_word(self.word(HEAD + V::WIDTH + index).load(PROTECT)) }
    }

    pub(super) fn set_child(self, index: usize, child: Self) {
        // Release: pairs with the load in `child`.
        self.word(HEAD + V::WIDTH + index).store(child.address(), Ordering::Release);
    }

    #[inline(always)]
    fn parent_word<'a>(self) -> &'a AtomicU64 {
        let index = if self.version().peek().is_border() { HEAD + 2 * V::WIDTH + 2 } else { 2 };
        self.word(index)
    }

    /// Returns the parent of an interior or full border node; `None` for a root and for a solo
    /// node.
    pub(super) fn parent(self) -> Option<Self> {
        if self.version().peek().is_border() && !self.is_full_width() {
            return None;
        }
        // SAFETY: a parent is retired only after its children have another parent, or are retired
        // themselves (invariant 1).
        unsafe { Self::from_word_or_none(self.parent_word().load(PROTECT)) }
    }

    pub(super) fn set_parent(self, parent: Option<Self>) {
        // Release: pairs with the load in `parent`.
        self.parent_word().store(parent.map_or(0, Self::address), Ordering::Release);
    }
}
