//! Changes of a page under its lock, and copies into a new page.

use std::ops::Range;

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use skein_sync::reclaim::GraceClock;

use super::Page;
use super::entry::{EntryKey, EntrySizes, EntryValue, NEAR, copy_value, near_or_far, padded};
use crate::memory::{Arena, copy_short};
use crate::page_tree::lanes::{self, BYTES, PAIRS};
use crate::slot::Slot;

impl Page {
    fn set_live(self, live: usize) {
        // Release: pairs with the Acquire in `live`; ranks below `live` are written.
        self.head().live.store(live as u8, Ordering::Release);
        self.disturb();
    }

    /// Notes that the page is written. The caller must hold the lock.
    #[inline(always)]
    fn disturb(self) {
        self.head().quiet.store(false, Ordering::Relaxed);
    }

    /// Replaces the value of a slot's key. The caller must hold the lock, and there must be
    /// [room](Self::has_room_for) for an entry with it, if entries have values.
    pub(in crate::page_tree) fn set_value<S: Slot>(
        self,
        slot: usize,
        value: EntryValue<S>,
        clock: &GraceClock,
    ) {
        self.disturb();
        if S::EMBEDS {
            let (key, old) = (self.key_of(slot), self.entry_at(slot).load(Ordering::Relaxed));
            let (old_len, size) = (self.bury::<S>(slot), self.entry_size_with(slot, &value));
            let (position, entry) =
                if self.has_hole(size, clock) { self.take_hole(size) } else { self.reserve(size) };
            // SAFETY: the end of the heap is as in `write_entry`. No reader has the entry of a hole
            // whose period has passed (invariant 8).
            unsafe { key.write_with(value, entry) };
            // SeqCst: pairs with the load in `entry`, and precedes the one of the clock in
            // `leave_hole`.
            self.entry_at(slot).store(position, Ordering::SeqCst);
            self.leave_hole(old, old_len, clock);
        } else if let EntryValue::Word(word) = value {
            // Release: pairs with the load in `value`; what the word points to is initialised.
            self.value_at(slot).store(word, Ordering::Release);
        }
    }

    /// Returns whether the heap has room for this many bytes.
    pub(in crate::page_tree) fn has_room(self, bytes: usize) -> bool {
        let head = self.head();
        usize::from(head.heap_used.load(Ordering::Relaxed)) + bytes <= head.heap_size.into()
    }

    /// Returns whether a new value of a key can get an entry of this size: at the end of the heap or
    /// in the hole.
    pub(in crate::page_tree) fn has_room_for(self, bytes: usize, clock: &GraceClock) -> bool {
        self.has_room(bytes) || self.has_hole(bytes, clock)
    }

    /// Returns whether there is a slot that was never used.
    pub(in crate::page_tree) fn has_slot(self) -> bool {
        self.used() < self.slots()
    }

    /// Adds a key at a rank. The caller must hold the lock, or the page is not shared yet; it must
    /// have room.
    pub(in crate::page_tree) fn add<S: Slot>(
        self,
        rank: usize,
        key: EntryKey<'_>,
        tag: u8,
        value: EntryValue<S>,
    ) {
        let (slot, live) = (self.used(), self.live());
        let key_head = key.head(self.prefix_len());
        self.add_entry(slot, key, value);
        self.head().used.store(slot as u8 + 1, Ordering::Relaxed);
        lanes::insert::<PAIRS>(self.heads(), rank, live, key_head.into());
        lanes::insert::<BYTES>(self.order(), rank, live, slot as u64);
        lanes::set::<BYTES>(self.tags(), slot, tag.into());
        self.set_live(live + 1);
    }

    /// Gives a slot that is not published yet its entry and value.
    fn add_entry<S: Slot>(self, slot: usize, key: EntryKey<'_>, value: EntryValue<S>) {
        assert!(slot < self.slots(), "a page must have a slot for a new key");
        if !S::EMBEDS
            && let EntryValue::Word(word) = value
        {
            self.value_at(slot).store(word, Ordering::Release);
        }
        let entry = self.write_entry(key, value);
        self.lead_to(slot, entry);
    }

    /// Makes a slot lead to the entry at this position of the heap.
    #[inline]
    fn lead_to(self, slot: usize, entry: u16) {
        // Release: pairs with the load in `entry`.
        self.entry_at(slot).store(entry, Ordering::Release);
    }

    /// Takes bytes at the end of the heap for an entry. Returns its position and its address.
    #[inline]
    fn reserve(self, size: usize) -> (u16, NonNull<u8>) {
        let head = self.head();
        let start = head.heap_used.load(Ordering::Relaxed);
        let end = usize::from(start) + size;
        assert!(end <= head.heap_size.into(), "a page must have room for a new entry");
        head.heap_used.store(end as u16, Ordering::Relaxed);
        // SAFETY: the bytes lie in the heap.
        (start, unsafe { self.heap().add(start.into()) })
    }

    /// Writes an entry to the end of the heap, with its value if entries have values. Returns its
    /// position.
    fn write_entry<S: Slot>(self, key: EntryKey<'_>, value: EntryValue<S>) -> u16 {
        let (position, entry) = self.reserve(padded::<S>(key.size(), value.size()));
        // SAFETY: no slot leads to the bytes yet; the lock is held, or the page is not shared.
        unsafe { key.write_with(value, entry) };
        position
    }

    /// Copies an entry of another page, with its value if entries have values. Returns the position
    /// of the copy.
    #[inline(always)]
    fn copy_entry<S: Slot>(self, source: NonNull<u8>, sizes: EntrySizes) -> u16 {
        let (position, entry) = self.reserve(sizes.sum());
        // SAFETY: the source is complete and has these sizes. Of the copy, as in `write_entry`.
        unsafe {
            copy_short(source, entry, sizes.key);
            copy_value::<S>(source.add(sizes.key), entry.add(sizes.key), sizes.value);
        }
        position
    }

    /// Counts the entry of a slot as dead, because the slot is about to lead elsewhere or nowhere.
    /// Returns its bytes.
    fn bury<S: Slot>(self, slot: usize) -> usize {
        let (dead, len) = (&self.head().dead, self.entry_len::<S>(slot));
        dead.store(dead.load(Ordering::Relaxed) + len as u16, Ordering::Relaxed);
        len
    }

    /// Returns the bytes of an entry with a slot's key and another value.
    pub(in crate::page_tree) fn entry_size_with<S: Slot>(self, slot: usize, value: &EntryValue<S>) -> usize {
        padded::<S>(self.key_of(slot).size(), value.size())
    }

    /// Returns the sizes of a slot's entry. The page is locked.
    #[inline(always)]
    pub(super) fn entry_sizes<S: Slot>(self, slot: usize) -> EntrySizes {
        let entry = self.entry(slot);
        // SAFETY: the slot is published, so its entry is complete. If nothing is dead, it ends where
        // the next one begins (invariant 7).
        unsafe {
            if self.head().dead.load(Ordering::Relaxed) > 0 {
                return EntrySizes::of::<S>(entry);
            }
            let next = slot + 1;
            let is_last = next == self.used();
            let end = if is_last { &self.head().heap_used } else { self.entry_at(next) };
            let start = self.entry_at(slot).load(Ordering::Relaxed);
            EntrySizes::within::<S>(entry, (end.load(Ordering::Relaxed) - start).into())
        }
    }

    /// Returns the bytes of a slot's entry.
    #[inline(always)]
    fn entry_len<S: Slot>(self, slot: usize) -> usize {
        self.entry_sizes::<S>(slot).sum()
    }

    /// Returns the bytes of the heap that a slot's entry takes.
    pub(in crate::page_tree) fn entry_range<S: Slot>(self, slot: usize) -> Range<usize> {
        let start = usize::from(self.entry_at(slot).load(Ordering::Relaxed));
        start..start + self.entry_len::<S>(slot)
    }

    /// Returns how much of the heap is dead, in eighths.
    pub(in crate::page_tree) fn dead_eighths(self) -> usize {
        let head = self.head();
        8 * usize::from(head.dead.load(Ordering::Relaxed)) / usize::from(head.heap_size).max(1)
    }

    /// Removes the key at a rank, which has this slot. The caller must hold the lock and have
    /// marked the version. The slot is not used again.
    pub(in crate::page_tree) fn remove<S: Slot>(self, rank: usize, slot: usize) {
        let live = self.live();
        self.bury::<S>(slot);
        lanes::set::<BYTES>(self.tags(), slot, 0);
        lanes::remove::<PAIRS>(self.heads(), rank, live);
        lanes::remove::<BYTES>(self.order(), rank, live);
        self.set_live(live - 1);
    }

    /// Appends the keys of `from` at some ranks. This page is not shared yet, has room for them,
    /// and its prefix belongs to the keys too. `from` is locked.
    pub(in crate::page_tree) fn append<S: Slot>(self, arena: &Arena, from: Self, ranks: Range<usize>) {
        let has_same_prefix = self.prefix_len() == from.prefix_len();
        let (first, live) = (self.live(), self.live() + ranks.len());
        assert!(first == self.used() && live <= self.slots(), "a new page has a slot for each key");
        // The compiler would load the positions of all arrays again for each key.
        let [tags, order, heads] = [self.tags(), self.order(), self.heads()];
        let [old_tags, old_order, old_heads] = [from.tags(), from.order(), from.heads()];
        for (count, rank) in (first..).zip(ranks) {
            let slot = usize::from(lanes::peek_byte(old_order, rank));
            if !S::EMBEDS {
                self.value_at(count).store(from.value::<S>(slot), Ordering::Relaxed);
            }
            let (entry, head) = if has_same_prefix {
                let entry = self.copy_entry::<S>(from.entry(slot), from.entry_sizes::<S>(slot));
                (entry, lanes::peek_pair(old_heads, rank))
            } else {
                let key = self.moved_key(arena, from, slot);
                (self.write_entry::<S>(key, from.entry_value(slot)), key.head(self.prefix_len()))
            };
            self.lead_to(count, entry);
            lanes::init_byte(tags, count, lanes::peek_byte(old_tags, slot));
            lanes::init_byte(order, count, count as u8);
            lanes::init_pair(heads, count, head);
        }
        self.head().used.store(live as u8, Ordering::Relaxed);
        self.set_live(live);
    }

    /// Returns the entry here for the key of a slot of a page with another prefix.
    fn moved_key<'k>(self, arena: &Arena, from: Self, slot: usize) -> EntryKey<'k> {
        match from.key_of(slot) {
            far @ EntryKey::Far(..) if far.becomes_near(self.prefix_len()) => {
                EntryKey::Near(&from.rest(slot)[self.prefix_len() - from.prefix_len()..], &[])
            }
            far @ EntryKey::Far(..) => far,
            EntryKey::Near(rest, _) => self.rebase(arena, from, rest),
        }
    }

    /// Returns the entry here for a key of another page, given behind that page's prefix.
    fn rebase<'k>(self, arena: &Arena, from: Self, rest: &'k [u8]) -> EntryKey<'k> {
        let (old, new) = (from.prefix_len(), self.prefix_len());
        if new >= old {
            return EntryKey::Near(&rest[new - old..], &[]);
        }
        let head: &'k [u8] = &from.prefix()[new..];
        if head.len() + rest.len() <= NEAR {
            EntryKey::Near(head, rest)
        } else {
            EntryKey::far(arena, &[from.prefix(), rest].concat())
        }
    }

    /// Returns the bytes of the heap that are not dead. About, if the lock is not held.
    pub(in crate::page_tree) fn heap_bytes(self) -> usize {
        let head = self.head();
        let dead = head.dead.load(Ordering::Relaxed);
        head.heap_used.load(Ordering::Relaxed).saturating_sub(dead).into()
    }

    /// Returns the bytes of the keys at some ranks that lie in this page, but would lie elsewhere if the
    /// prefix had `prefix_len` bytes.
    pub(in crate::page_tree) fn bytes_elsewhere(self, ranks: Range<usize>, prefix_len: usize) -> usize {
        if prefix_len >= self.prefix_len() {
            return 0;
        }
        let size = |rank| match self.key_of(self.slot_of(rank)) {
            EntryKey::Near(rest, _) if rest.len() + self.prefix_len() - prefix_len > NEAR => {
                Arena::rounded(self.prefix_len() + rest.len())
            }
            _ => 0,
        };
        ranks.map(size).sum()
    }

    /// Returns the bytes in the heap of a page with a prefix of `prefix_len` bytes for the keys at
    /// some ranks. The page is locked.
    pub(in crate::page_tree) fn bytes<S: Slot>(self, ranks: Range<usize>, prefix_len: usize) -> usize {
        if ranks.len() == self.live() && prefix_len == self.prefix_len() {
            return self.heap_bytes();
        }
        let size = |rank| {
            let slot = usize::from(lanes::peek_byte(self.order(), rank));
            if prefix_len == self.prefix_len() {
                return self.entry_len::<S>(slot);
            }
            let key = match self.key_of(slot) {
                EntryKey::Near(rest, _) => near_or_far(rest.len() + self.prefix_len() - prefix_len),
                EntryKey::Far(_, length) => near_or_far(usize::from(length).saturating_sub(prefix_len)),
            };
            padded::<S>(key, self.entry_sizes::<S>(slot).value)
        };
        ranks.map(size).sum()
    }
}
