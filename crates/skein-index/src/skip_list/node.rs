//! Nodes. One block of memory holds a node's tower, key and first version.
//!
//! ```text
//!   │ link h-1 │ ... │ link 1 │ link 0 │ prefix 8 │ shape 8 │ value 8 │ versions 8 │ key ...    │
//!                                      ▲                                           only if longer
//!                                      └ the node's address                        than the prefix
//! ```
//!
//! The tower grows downward from the node's address. So the low links, which almost every step of a
//! search reads, lie beside the first eight bytes of the key, which the search compares first:
//! usually one cache line. A node of an 8-byte key takes 48 bytes on average, including key and
//! value: 32, and two links (section 3.1: half of the towers have one level, a quarter two, and so
//! on).
//!
//! # Invariants
//! Safety comments in this folder cite these by number.
//!
//! 1. **Shape.** The key, its prefix and the height never change after the node is made. Of the
//!    shape word, only the two flags change.
//! 2. **Value.** The value word never changes. It is the key's value while the state is `inline`.
//!    Exception: nodes of a bare list have no versions (`variant.rs`). Their two states, `inline`
//!    and `absent`, and the claim lie in the shape, and the thread that has claimed the state may
//!    write the value.
//! 3. **Towers.** A node is linked from level 0 up and marked from its top level down. So a node
//!    whose link was seen unmarked on a level was, at that moment, in the lists of all levels up to
//!    that one in which it had been linked.
//! 4. **Life.** A node is used only while it is live: it was reached under a guard that is still
//!    held, by the rule in `search.rs`; or it is not shared yet; or the index is borrowed mutably.
//! 5. **Retiring.** A node is retired once, when it is in no list and no thread will link it again.
//!    If its maker has finished linking (`BUILT`), its remover retires it. Otherwise the maker,
//!    which then finds `REMOVED`, retires it.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ptr::NonNull;

use skein_sync::atomic::{AtomicU64, Ordering as Memory};
use skein_sync::reclaim::{GracePeriod, Guard, PROTECT};
use skein_sync::spin::Backoff;

use super::link::TowerLink;
use super::node_state::SkipNodeState;
use super::variant::SkipListSettings;
use crate::memory::{Arena, MemoryPart, address_of, at_address};

/// The number of key bytes in the header.
pub(super) const PREFIX: usize = 8;
/// The size of a link in bytes.
const LINK: usize = size_of::<AtomicU64>();

const HEIGHT_SHIFT: u32 = 16;
/// The maker has linked all levels, or found that the node is being removed: it links no more.
const BUILT: u64 = 1 << 24;
/// The node is marked on all levels.
const REMOVED: u64 = 1 << 25;
/// In a bare list: the key is absent.
const ABSENT: u64 = 1 << 26;
/// In a bare list: the state is claimed.
const CLAIMED: u64 = 1 << 27;

/// The fields at a node's address.
#[repr(C)]
#[derive(Debug)]
pub(super) struct SkipNodeHeader {
    /// The first bytes of the key, padded with zeros.
    prefix: [u8; PREFIX],
    /// The key's length, the height and two flags; in a bare list also the state.
    shape: AtomicU64,
    value: AtomicU64,
}

/// The key that a search looks for, with its prefix as a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchKey<'k> {
    prefix: u64,
    pub(super) key: &'k [u8],
}

impl<'k> SearchKey<'k> {
    #[inline(always)]
    pub(super) fn of(key: &'k [u8]) -> Self {
        let prefix = key.first_chunk::<PREFIX>().copied().unwrap_or_else(|| padded(key));
        Self { prefix: u64::from_be_bytes(prefix), key }
    }
}

/// Returns the first bytes of a key, padded with zeros.
#[inline(always)]
fn padded(key: &[u8]) -> [u8; PREFIX] {
    let mut prefix = [0; PREFIX];
    let len = key.len().min(PREFIX);
    prefix[..len].copy_from_slice(&key[..len]);
    prefix
}

/// A node, represented by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node<V: SkipListSettings>(NonNull<SkipNodeHeader>, PhantomData<V>);

impl<V: SkipListSettings> Node<V> {
    /// Allocates a node with empty links.
    pub(super) fn new(arena: &Arena, height: usize, key: &[u8], state: SkipNodeState, value: u64) -> Self {
        let block = arena.alloc(Self::size_of(height, key.len()), MemoryPart::Nodes);
        let built = if height == 1 { BUILT } else { 0 };
        let shape = key.len() as u64 | (height as u64) << HEIGHT_SHIFT | built;
        // SAFETY: only this thread knows the block, which is aligned to 8 and long enough for all
        // fields.
        unsafe {
            for level in 0..height {
                block.cast::<AtomicU64>().add(level).write(AtomicU64::new(TowerLink::<V>::END.word()));
            }
            let header = block.add(height * LINK).cast::<SkipNodeHeader>();
            header.write(SkipNodeHeader {
                prefix: padded(key),
                shape: AtomicU64::new(shape),
                value: AtomicU64::new(value),
            });
            if V::VERSIONS {
                header.add(1).cast::<AtomicU64>().write(AtomicU64::new(0));
            }
            let node = Self(header, PhantomData);
            if key.len() > PREFIX {
                std::ptr::copy_nonoverlapping(key.as_ptr(), node.rest().as_ptr(), key.len());
            }
            node.init_state(state);
            node
        }
    }

    /// The offset, from the node's address, of a key that is longer than the prefix.
    pub(super) const FIXED: usize =
        size_of::<SkipNodeHeader>() + if V::VERSIONS { size_of::<AtomicU64>() } else { 0 };

    /// Returns the position of a key that is longer than the prefix.
    fn rest(self) -> NonNull<u8> {
        // SAFETY: inside the node's block, or at its end.
        unsafe { self.0.cast::<u8>().add(Self::FIXED) }
    }

    /// Returns the word of the node's [`SkipNodeState`]. REQUIRES: the list is not bare.
    #[inline(always)]
    fn versions<'a>(self) -> &'a AtomicU64 {
        debug_assert!(V::VERSIONS);
        // SAFETY: the node is live (invariant 4), and has this word behind its header.
        unsafe { self.0.add(1).cast::<AtomicU64>().as_ref() }
    }

    /// Returns the node at an address.
    ///
    /// # Safety
    /// The address must be that of [`Self::header`] of some node.
    #[inline(always)]
    pub(super) unsafe fn at(address: u64) -> Self {
        // SAFETY: the caller's contract.
        Self(unsafe { at_address(address) }, PhantomData)
    }

    #[inline(always)]
    pub(super) fn header(self) -> NonNull<SkipNodeHeader> {
        self.0
    }

    #[inline(always)]
    fn fields<'a>(self) -> &'a SkipNodeHeader {
        // SAFETY: the node is live (invariant 4).
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    fn shape(self) -> u64 {
        // Relaxed: the fields that are read from it never change (invariant 1).
        self.fields().shape.load(Memory::Relaxed)
    }

    /// Returns the number of levels of the node's tower.
    #[inline(always)]
    pub(super) fn height(self) -> usize {
        (self.shape() >> HEIGHT_SHIFT & 0xff) as usize
    }

    #[inline(always)]
    fn key_len(self) -> usize {
        (self.shape() & 0xffff) as usize
    }

    /// Returns the key.
    #[inline(always)]
    pub(super) fn key<'a>(self) -> &'a [u8] {
        let len = self.key_len();
        // SAFETY: the node is live (invariant 4). The key lies there with this length and does not
        // change (invariant 1).
        unsafe {
            let start = if len > PREFIX { self.rest() } else { self.0.cast::<u8>() };
            std::slice::from_raw_parts(start.as_ptr(), len)
        }
    }

    /// Compares the node's key with the target.
    #[inline(always)]
    pub(super) fn compare(self, target: &SearchKey<'_>) -> Ordering {
        let prefix = u64::from_be_bytes(self.fields().prefix);
        if prefix == target.prefix { self.compare_rest(target.key) } else { prefix.cmp(&target.prefix) }
    }

    /// Compares the rest of two keys with equal prefixes.
    #[inline]
    fn compare_rest(self, key: &[u8]) -> Ordering {
        let len = self.key_len();
        if len <= PREFIX || key.len() <= PREFIX {
            // One key ends within the prefix; if the other is longer, its prefix bytes there are
            // zeros.
            len.cmp(&key.len())
        } else {
            self.key()[PREFIX..].cmp(&key[PREFIX..])
        }
    }

    #[inline(always)]
    fn tower<'a>(self, level: usize) -> &'a AtomicU64 {
        debug_assert!(level < self.height());
        // SAFETY: the node is live (invariant 4), and the caller's level is below its height, so
        // this link exists.
        unsafe { self.0.cast::<AtomicU64>().sub(level + 1).as_ref() }
    }

    /// Returns the link on a level without its claim bit. REQUIRES: the level is below the height.
    #[inline(always)]
    pub(super) fn next(self, level: usize) -> TowerLink<V> {
        TowerLink::from_word(self.tower(level).load(PROTECT)).unclaimed()
    }

    /// Waits until no thread claims the node's link on the bottom level.
    pub(super) fn wait_for_claim(self) {
        let mut backoff = Backoff::new();
        // Relaxed: the loop uses nothing but the claim bit.
        while TowerLink::<V>::from_word(self.tower(0).load(Memory::Relaxed)).is_claimed() {
            backoff.wait();
        }
    }

    /// Sets a link of a node that no other thread knows.
    #[inline(always)]
    pub(super) fn init_link(self, level: usize, link: TowerLink<V>) {
        // Relaxed: published with the node.
        self.tower(level).store(link.word(), Memory::Relaxed);
    }

    /// Replaces a link. Returns false if the link is no longer `from`.
    #[inline(always)]
    pub(super) fn replace_link(self, level: usize, from: TowerLink<V>, to: TowerLink<V>) -> bool {
        // Release: pairs with the load in `next`; the node linked here is initialised. Acquire: as
        // a load in `next`.
        self.tower(level).compare_exchange(from.word(), to.word(), Memory::AcqRel, Memory::Relaxed).is_ok()
    }

    /// Marks the links of all levels from the top down. Waits while another thread claims the
    /// bottom link.
    pub(super) fn mark(self) {
        for level in (0..self.height()).rev() {
            let mut backoff = Backoff::new();
            let mut link = self.next(level);
            while !link.is_marked() && !self.replace_link(level, link, link.marked()) {
                backoff.wait();
                link = self.next(level);
            }
        }
    }

    /// Records that the maker has finished linking the node. Returns true if the maker must retire
    /// it (invariant 5).
    pub(super) fn set_built(self) -> bool {
        // AcqRel: pairs with the AcqRel in `set_removed`; the second thread sees the writes of the
        // first.
        self.fields().shape.fetch_or(BUILT, Memory::AcqRel) & REMOVED != 0
    }

    /// Returns true if the maker has finished: if the link on a level is unmarked, the node is in
    /// the list of that level.
    pub(super) fn is_built(self) -> bool {
        // Acquire: pairs with the AcqRel in `set_built`; its links are those that it was linked
        // with, or later ones.
        self.fields().shape.load(Memory::Acquire) & BUILT != 0
    }

    /// Records that the node is marked on all levels. Returns true if its remover must retire it
    /// (invariant 5).
    pub(super) fn set_removed(self) -> bool {
        // AcqRel: pairs with the AcqRel in `set_built`.
        self.fields().shape.fetch_or(REMOVED, Memory::AcqRel) & BUILT != 0
    }

    /// Returns the state: the list of versions.
    #[inline(always)]
    pub(super) fn state(self) -> SkipNodeState {
        if !V::VERSIONS {
            return state_in(self.fields().shape.load(PROTECT));
        }
        SkipNodeState::from_word(self.versions().load(PROTECT))
    }

    /// Waits until no thread claims the state, and returns it.
    pub(super) fn unclaimed_state(self) -> SkipNodeState {
        let mut backoff = Backoff::new();
        loop {
            let state = self.state();
            if !state.is_claimed() {
                return state;
            }
            backoff.wait();
        }
    }

    /// Sets the state of a node that no other thread knows.
    #[inline(always)]
    pub(super) fn init_state(self, state: SkipNodeState) {
        // Relaxed: published with the node.
        if V::VERSIONS {
            self.versions().store(state.word(), Memory::Relaxed);
        } else {
            self.fields().shape.store(with_state(self.shape(), state), Memory::Relaxed);
        }
    }

    /// Replaces the state. Returns false if it is no longer `from`.
    #[inline(always)]
    pub(super) fn exchange(self, from: SkipNodeState, to: SkipNodeState) -> bool {
        // Release: pairs with the load in `state`; the blocks that the state leads to are
        // initialised. Acquire: as a load in `state`.
        if !V::VERSIONS {
            let set = |shape| (state_in(shape) == from).then(|| with_state(shape, to));
            return self.fields().shape.fetch_update(Memory::AcqRel, Memory::Relaxed, set).is_ok();
        }
        self.versions().compare_exchange(from.word(), to.word(), Memory::AcqRel, Memory::Relaxed).is_ok()
    }

    /// Returns the value's word. REQUIRES: a state `inline` of this node was seen.
    #[inline(always)]
    pub(super) fn value(self) -> u64 {
        self.fields().value.load(PROTECT)
    }

    /// Sets the value's word of a bare node whose state the caller has claimed. Returns the
    /// previous word.
    pub(super) fn overwrite(self, value: u64) -> u64 {
        debug_assert!(!V::VERSIONS);
        // Release: pairs with the load in `value`; the data that the word owns is initialised.
        // Acquire: as that load.
        self.fields().value.swap(value, Memory::AcqRel)
    }

    fn block(self) -> NonNull<u8> {
        // SAFETY: the block begins with the links.
        unsafe { self.0.cast::<u8>().sub(self.height() * LINK) }
    }

    fn size(self) -> usize {
        Self::size_of(self.height(), self.key_len())
    }

    /// Returns the size of a node's block in bytes.
    fn size_of(height: usize, key_len: usize) -> usize {
        height * LINK + Self::FIXED + if key_len > PREFIX { key_len } else { 0 }
    }

    /// Frees the node, but not its versions.
    ///
    /// # Safety
    /// No other thread can reach the node, and it must be counted as `part`.
    pub(super) unsafe fn free(self, part: MemoryPart) {
        // SAFETY: allocated in `new` with this size; the rest is the caller's contract.
        unsafe { Arena::free(self.block(), self.size(), part) };
    }

    /// Frees the node, but not its versions, after a grace period.
    ///
    /// # Safety
    /// The caller must be the thread that has to retire the node (invariant 5), and the node must
    /// be in no list.
    pub(super) unsafe fn retire(self, guard: &impl Guard) {
        unsafe fn reclaim<V: SkipListSettings>(header: *mut u8, _: &GracePeriod) {
            // SAFETY: the collector passes the word that `retire` gave it, after the grace period.
            unsafe { Node::<V>::at(header.addr() as u64).free(MemoryPart::Retired) };
        }
        // SAFETY: the node is live and counted as `Nodes`; the caller promises that it is unlinked.
        // The collector passes the word on unchanged: it never reads through it.
        unsafe {
            Arena::recount(self.block(), self.size(), MemoryPart::Nodes, MemoryPart::Retired);
            let address = address_of(self.0) as usize;
            guard.defer_retire(std::ptr::without_provenance_mut::<u8>(address), reclaim::<V>);
        }
    }
}

/// Returns the state that a bare node's shape encodes. Its value has no stamp.
#[inline(always)]
fn state_in(shape: u64) -> SkipNodeState {
    let state = if shape & ABSENT == 0 { SkipNodeState::inline(0) } else { SkipNodeState::GONE };
    if shape & CLAIMED == 0 { state } else { state.claimed() }
}

/// Returns the shape with another state.
#[inline(always)]
fn with_state(shape: u64, state: SkipNodeState) -> u64 {
    let absent = if state.is_absent() { ABSENT } else { 0 };
    let claimed = if state.is_claimed() { CLAIMED } else { 0 };
    shape & !(ABSENT | CLAIMED) | absent | claimed
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::super::variant::SkipListStandard;
    use super::*;

    #[test]
    fn nodes_return_keys_of_every_length_and_compare_like_bytes() {
        let arena = Arena::new();
        let mut keys: Vec<Vec<u8>> = (0..40_usize)
            .flat_map(|len| [vec![0; len], vec![0xff; len], (0..len).map(|byte| byte as u8).collect()])
            .collect();
        keys.push(vec![7; crate::index::MAX_KEY_LEN]);
        let nodes: Vec<Node<SkipListStandard>> = keys
            .iter()
            .zip(0..)
            .map(|(key, value)| {
                Node::new(&arena, 1 + value as usize % 32, key, SkipNodeState::inline(1), value)
            })
            .collect();
        for ((node, key), value) in nodes.iter().zip(&keys).zip(0..) {
            assert_eq!((node.key(), node.height(), node.value()), (&**key, 1 + value as usize % 32, value));
            for other in &keys {
                assert_eq!(node.compare(&SearchKey::of(other)), key.cmp(other), "{key:?} and {other:?}");
            }
        }
        for node in nodes {
            // SAFETY: ours alone.
            unsafe { node.free(MemoryPart::Nodes) };
        }
        assert_eq!(arena.live(MemoryPart::Nodes), 0);
    }

    #[test]
    fn the_second_of_maker_and_remover_retires() {
        let arena = Arena::new();
        for maker_first in [true, false] {
            let node = Node::<SkipListStandard>::new(&arena, 2, b"key", SkipNodeState::inline(1), 0);
            let (first, second) = if maker_first {
                (node.set_built(), node.set_removed())
            } else {
                (node.set_removed(), node.set_built())
            };
            assert!(!first && second);
            // SAFETY: ours alone.
            unsafe { node.free(MemoryPart::Nodes) };
        }
    }
}
