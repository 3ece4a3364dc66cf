//! Changes of a page under its lock, and copies into a new page.

use std::ops::Range;
use std::ptr::NonNull;

use skein_sync::atomic::{AtomicU64, Ordering};

use super::Page;
use super::entry::{EntryKey, FAR, FAR_ENTRY, NEAR, entry_size};
use crate::memory::{Arena, address_of};
use crate::page_tree::lanes::{self, BYTES, PAIRS};

impl Page {
    fn set_live(self, live: usize) {
        // Release: pairs with the Acquire in `live`; ranks below `live` are written.
        self.head().live.store(live as u8, Ordering::Release);
    }

    /// Replaces the word of a slot's value. The caller must hold the lock.
    pub(in crate::page_tree) fn set_value(self, slot: usize, word: u64) {
        // Release: pairs with the load in `value`; what the word points to is initialised.
        self.value_at(slot).store(word, Ordering::Release);
    }

    /// Returns whether a key of `rest_len` bytes behind the prefix fits in.
    pub(in crate::page_tree) fn has_room(self, rest_len: usize) -> bool {
        let head = self.head();
        let used = usize::from(head.heap_used.load(Ordering::Relaxed));
        self.used() < self.slots() && used + entry_size(rest_len) <= head.heap_size.into()
    }

    /// Adds a key at a rank. The caller must hold the lock, or the page is not shared yet; it must
    /// have room.
    pub(in crate::page_tree) fn add(self, rank: usize, key: EntryKey<'_>, tag: u8, word: u64) {
        let (slot, live) = (self.used(), self.live());
        self.write_entry(slot, key);
        self.set_value(slot, word);
        self.head().used.store(slot as u8 + 1, Ordering::Relaxed);
        lanes::insert::<PAIRS>(self.heads(), rank, live, key.head(self.prefix_len()).into());
        lanes::insert::<BYTES>(self.order(), rank, live, slot as u64);
        lanes::set::<BYTES>(self.tags(), slot, tag.into());
        self.set_live(live + 1);
    }

    /// Writes the entry of a slot that is not published yet.
    fn write_entry(self, slot: usize, key: EntryKey<'_>) {
        let head = self.head();
        let start = usize::from(head.heap_used.load(Ordering::Relaxed));
        let end = start + key.size();
        assert!(slot < self.slots() && end <= head.heap_size.into(), "a page must have room for a new key");
        // SAFETY: the heap has more bytes.
        let entry = unsafe { self.heap().add(start) };
        // SAFETY: the bytes lie in the heap, and no slot leads to them yet; the lock is held.
        unsafe {
            match key {
                EntryKey::Near(head, tail) => {
                    entry.write((head.len() + tail.len()) as u8);
                    let start = entry.add(1);
                    start.copy_from_nonoverlapping(NonNull::from(head).cast(), head.len());
                    start.add(head.len()).copy_from_nonoverlapping(NonNull::from(tail).cast(), tail.len());
                }
                EntryKey::Far(block, length) => {
                    entry.write(FAR);
                    entry.add(1).cast::<u16>().write_unaligned(length);
                    entry.add(3).cast::<u64>().write_unaligned(address_of(block));
                }
            }
        }
        // Relaxed: published with the slot.
        self.entry_at(slot).store(start as u16, Ordering::Relaxed);
        head.heap_used.store(end as u16, Ordering::Relaxed);
    }

    /// Removes the key at a rank, which has this slot. The caller must hold the lock and have marked
    /// the version. The slot is not used again.
    pub(in crate::page_tree) fn remove(self, rank: usize, slot: usize) {
        let live = self.live();
        lanes::set::<BYTES>(self.tags(), slot, 0);
        lanes::remove::<PAIRS>(self.heads(), rank, live);
        lanes::remove::<BYTES>(self.order(), rank, live);
        self.set_live(live - 1);
    }

    /// Appends the keys of `from` at some ranks. This page is not shared yet, has room for them, and
    /// its prefix belongs to the keys too.
    pub(in crate::page_tree) fn append(self, arena: &Arena, from: Self, ranks: Range<usize>) {
        for rank in ranks {
            let slot = from.slot_of(rank);
            let key = match from.key_of(slot) {
                far @ EntryKey::Far(..) => far,
                EntryKey::Near(rest, _) => self.rebase(arena, from, rest),
            };
            self.add(self.live(), key, from.tag(slot), from.value(slot));
        }
    }

    /// Copies all of `from`, whose slots all have keys. This page has the same prefix and more room,
    /// is not shared yet, and has no keys.
    pub(in crate::page_tree) fn copy(self, from: Self) {
        let (count, head) = (from.live(), from.head());
        debug_assert!(count == from.used() && self.prefix_len() == from.prefix_len() && self.live() == 0);
        let copy = |to: &[AtomicU64], from: &[AtomicU64]| {
            for (to, from) in to.iter().zip(from) {
                // Relaxed: the lock of `from` is held, and this page is published later.
                to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        };
        copy(self.tags(), from.tags());
        copy(self.order(), from.order());
        copy(self.heads(), from.heads());
        for slot in 0..count {
            self.set_value(slot, from.value(slot));
            self.entry_at(slot).store(from.entry_at(slot).load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let used = head.heap_used.load(Ordering::Relaxed);
        assert!(used <= self.head().heap_size, "a page must have room for what it copies");
        // SAFETY: both heaps have so many bytes; those of `from` never change (invariant 4).
        unsafe { self.heap().copy_from_nonoverlapping(from.heap(), used.into()) };
        self.head().heap_used.store(used, Ordering::Relaxed);
        self.head().used.store(count as u8, Ordering::Relaxed);
        self.set_live(count);
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

    /// Returns the bytes in the heap of a page with a prefix of `prefix_len` bytes for the keys at
    /// some ranks.
    pub(in crate::page_tree) fn bytes(self, ranks: Range<usize>, prefix_len: usize) -> usize {
        if ranks.len() == self.used() && prefix_len == self.prefix_len() {
            return self.head().heap_used.load(Ordering::Relaxed).into();
        }
        let size = |rank| match self.key_of(self.slot_of(rank)) {
            EntryKey::Far(..) => FAR_ENTRY,
            EntryKey::Near(rest, _) => entry_size(rest.len() + self.prefix_len() - prefix_len),
        };
        ranks.map(size).sum()
    }
}
