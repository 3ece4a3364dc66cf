//! Slotted pages: the slot directory grows from the front of the body and the records from its end.
//!
//! ```text
//!   0       2      4      6            8
//!   │ slots │ heap │ dead │ free slots │ slot 0 │ slot 1 │ ... │ gap │ ... record │ record │
//!                                        offset 2, length 2          └─── heap bytes ─────┘
//! ```
//!
//! # Invariants
//! 1. A slot with offset 0 is free. The records of all other slots lie in the last `heap` bytes,
//!    and no two records share a byte.
//! 2. `dead` is the number of heap bytes that belong to no record.
//! 3. The last slot is not free. `free slots` counts the free ones among the others.
//!
//! So a body of zeros has no records. A page that violates the invariants returns an error, and no
//! access reads beyond the page.

use skein_sync::cache::{CACHE_LINE, prefetch_read};

use crate::page::{HEAD, PAGE};

/// Bytes of a page's body.
pub(crate) const BODY: usize = PAGE - HEAD;
/// Bytes of a slot: the overhead of a record.
pub(crate) const SLOT: usize = 4;

const DIRECTORY: usize = 8;

type Result<T> = std::result::Result<T, String>;

/// The four numbers at the start of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlottedHead {
    slots: usize,
    heap: usize,
    dead: usize,
    free: usize,
}

impl SlottedHead {
    #[inline]
    fn of(body: &[u8]) -> Result<Self> {
        let head = Self {
            slots: number(body, 0),
            heap: number(body, 2),
            dead: number(body, 4),
            free: number(body, 6),
        };
        let fits = DIRECTORY + SLOT * head.slots + head.heap <= BODY;
        if body.len() == BODY && fits && head.dead <= head.heap && head.free <= head.slots {
            return Ok(head);
        }
        Err(head.cannot_be())
    }

    #[cold]
    fn cannot_be(self) -> String {
        format!("its head is impossible: {self:?}")
    }

    fn write(self, body: &mut [u8]) {
        [self.slots, self.heap, self.dead, self.free]
            .into_iter()
            .enumerate()
            .for_each(|(at, to)| set_number(body, 2 * at, to));
    }

    /// Returns the bytes between the directory and the heap.
    fn gap(self) -> usize {
        BODY - DIRECTORY - SLOT * self.slots - self.heap
    }

    /// Returns the greatest length of one more record, or `None` if its slot does not fit.
    fn room(self) -> Option<usize> {
        let slot = if self.free > 0 { 0 } else { SLOT };
        (self.gap() + self.dead).checked_sub(slot)
    }
}

#[inline]
fn number(body: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([body[at], body[at + 1]]))
}

fn set_number(body: &mut [u8], at: usize, to: usize) {
    body[at..at + 2].copy_from_slice(&(to as u16).to_le_bytes());
}

/// Read access to the records of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageRecords<'p> {
    body: &'p [u8],
    head: SlottedHead,
}

impl<'p> PageRecords<'p> {
    #[inline]
    pub(crate) fn of(body: &'p [u8]) -> Result<Self> {
        Ok(Self { body, head: SlottedHead::of(body)? })
    }

    /// Returns the bytes of a record.
    #[inline(always)]
    pub(crate) fn get(&self, slot: u16) -> Result<&'p [u8]> {
        let (from, len) = self.place(usize::from(slot))?.ok_or_else(|| no_record(slot))?;
        Ok(&self.body[from..from + len])
    }

    /// Prefetches the cache line of a slot.
    pub(crate) fn prefetch_slot(&self, slot: u16) {
        prefetch_slot(self.body, slot);
    }

    /// Prefetches a record's first cache lines.
    pub(crate) fn prefetch(&self, slot: u16) {
        if let Ok(Some((from, len))) = self.place(slot.into()) {
            prefetch_read(&raw const self.body[from]);
            if len > 0 {
                prefetch_read(&raw const self.body[from + len.min(CACHE_LINE) - 1]);
            }
        }
    }

    /// Returns the offset and the length of a slot's record, or `None` if the slot is free.
    #[inline(always)]
    fn place(&self, slot: usize) -> Result<Option<(usize, usize)>> {
        if slot >= self.head.slots {
            return Ok(None);
        }
        let at = DIRECTORY + SLOT * slot;
        let (from, len) = (number(self.body, at), number(self.body, at + 2));
        if from == 0 {
            return Ok(None);
        }
        if from < BODY - self.head.heap || from + len > BODY {
            return Err(no_bytes(slot, from..from + len));
        }
        Ok(Some((from, len)))
    }

    /// Returns the greatest length of one more record, or `None` if its slot does not fit.
    pub(crate) fn room(&self) -> Option<usize> {
        self.head.room()
    }

    /// Returns the bytes of all records and their slots.
    pub(crate) fn used(&self) -> usize {
        self.head.heap - self.head.dead + SLOT * (self.head.slots - self.head.free)
    }

    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        self.head.slots - self.head.free
    }

    /// Returns the records with their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<(u16, &'p [u8])>> {
        let (records, slots) = (*self, 0..self.head.slots);
        slots.filter_map(move |slot| match records.place(slot) {
            Ok(place) => place.map(|(from, len)| Ok((slot as u16, &records.body[from..from + len]))),
            Err(what) => Some(Err(what)),
        })
    }

    /// Checks the invariants. Returns a description of the first violation.
    pub(crate) fn check(&self) -> Result<()> {
        let mut places = Vec::new();
        for slot in 0..self.head.slots {
            places.extend(self.place(slot)?);
        }
        let free = self.head.slots - places.len();
        if free != self.head.free {
            return Err(format!("{free} slots are free, but its head counts {}", self.head.free));
        }
        if self.head.slots > 0 && self.place(self.head.slots - 1)?.is_none() {
            return Err("its last slot is free".to_owned());
        }
        places.sort_unstable();
        if let Some(pair) = places.windows(2).find(|pair| pair[0].0 + pair[0].1 > pair[1].0) {
            return Err(format!("two records share byte {}", pair[1].0));
        }
        let live: usize = places.iter().map(|(_, len)| len).sum();
        if live + self.head.dead != self.head.heap {
            return Err(format!("its records have {live} bytes, but its head says {:?}", self.head));
        }
        Ok(())
    }
}

/// Prefetches the head of a page's body and the cache line of a slot.
pub(crate) fn prefetch_slot(body: &[u8], slot: u16) {
    prefetch_read(body.as_ptr());
    prefetch_read(body.as_ptr().wrapping_add(DIRECTORY + SLOT * usize::from(slot)));
}

/// Write access to the records of a page.
#[derive(Debug)]
pub(crate) struct PageRecordsMut<'p> {
    body: &'p mut [u8],
    head: SlottedHead,
}

impl<'p> PageRecordsMut<'p> {
    pub(crate) fn of(body: &'p mut [u8]) -> Result<Self> {
        let head = SlottedHead::of(body)?;
        Ok(Self { body, head })
    }

    pub(crate) fn read(&self) -> PageRecords<'_> {
        PageRecords { body: self.body, head: self.head }
    }

    /// Returns the bytes of a record for changing.
    pub(crate) fn get_mut(&mut self, slot: u16) -> Result<&mut [u8]> {
        let (from, len) = self.place_of(slot)?;
        Ok(&mut self.body[from..from + len])
    }

    fn place_of(&self, slot: u16) -> Result<(usize, usize)> {
        self.read().place(usize::from(slot))?.ok_or_else(|| no_record(slot))
    }

    /// Adds a record and returns its slot, or `None` if it does not fit.
    pub(crate) fn insert(&mut self, bytes: &[u8]) -> Result<Option<u16>> {
        if self.head.room().is_none_or(|room| bytes.len() > room) {
            return Ok(None);
        }
        let slot = self.free_slot()?;
        let has_slot = slot < self.head.slots;
        let needs = bytes.len() + if has_slot { 0 } else { SLOT };
        if needs > self.head.gap() {
            self.compact()?;
        }
        if has_slot {
            self.head.free -= 1;
        } else {
            self.head.slots += 1;
        }
        self.place_at(slot, bytes);
        Ok(Some(slot as u16))
    }

    /// Returns the slot for the next record.
    fn free_slot(&self) -> Result<usize> {
        if self.head.free == 0 {
            return Ok(self.head.slots);
        }
        let is_free = |slot: &usize| number(self.body, DIRECTORY + SLOT * slot) == 0;
        let free = (0..self.head.slots).find(is_free);
        free.ok_or_else(|| format!("its head counts {} free slots, but no slot is free", self.head.free))
    }

    /// Adds bytes to the heap for a slot. They must fit.
    fn place_at(&mut self, slot: usize, bytes: &[u8]) {
        self.head.heap += bytes.len();
        let from = BODY - self.head.heap;
        self.body[from..from + bytes.len()].copy_from_slice(bytes);
        self.set_place(slot, from, bytes.len());
        self.head.write(self.body);
    }

    fn set_place(&mut self, slot: usize, from: usize, len: usize) {
        set_number(self.body, DIRECTORY + SLOT * slot, from);
        set_number(self.body, DIRECTORY + SLOT * slot + 2, len);
    }

    /// Replaces the bytes of a record. Returns false and changes nothing if they do not fit.
    pub(crate) fn replace(&mut self, slot: u16, bytes: &[u8]) -> Result<bool> {
        let (from, len) = self.place_of(slot)?;
        if bytes.len() <= len {
            self.body[from..from + bytes.len()].copy_from_slice(bytes);
            self.set_place(slot.into(), from, bytes.len());
            self.head.dead += len - bytes.len();
            self.head.write(self.body);
            return Ok(true);
        }
        if bytes.len() > self.head.gap() + self.head.dead + len {
            return Ok(false);
        }
        if bytes.len() - len <= self.head.gap() {
            self.grow(slot.into(), bytes)?;
            return Ok(true);
        }
        self.head.dead += len;
        // The slot is free during the compaction, so the old bytes are not moved.
        self.set_place(slot.into(), 0, 0);
        self.compact()?;
        self.place_at(slot.into(), bytes);
        Ok(true)
    }

    /// Extends a record in place and moves the records before it towards the directory. The longer
    /// record must fit into the gap.
    fn grow(&mut self, slot: usize, bytes: &[u8]) -> Result<()> {
        let (from, len) = self.place_of(slot as u16)?;
        let growth = bytes.len() - len;
        let heap = BODY - self.head.heap;
        self.body.copy_within(heap..from, heap - growth);
        for other in 0..self.head.slots {
            let at = DIRECTORY + SLOT * other;
            let begin = number(self.body, at);
            // A record at the same offset lies before this one if it is empty, and behind it if
            // this one is.
            let is_empty = number(self.body, at + 2) == 0;
            if (heap..from).contains(&begin) || begin == from && is_empty {
                set_number(self.body, at, begin - growth);
            }
        }
        self.body[from - growth..from + len].copy_from_slice(bytes);
        self.set_place(slot, from - growth, bytes.len());
        self.head.heap += growth;
        self.head.write(self.body);
        Ok(())
    }

    /// Removes a record. The others keep their slots.
    pub(crate) fn remove(&mut self, slot: u16) -> Result<()> {
        let (_, len) = self.place_of(slot)?;
        self.set_place(slot.into(), 0, 0);
        self.head.dead += len;
        self.head.free += 1;
        while self.head.slots > 0 && number(self.body, DIRECTORY + SLOT * (self.head.slots - 1)) == 0 {
            self.head.slots -= 1;
            self.head.free = self.head.free.saturating_sub(1);
        }
        self.head.write(self.body);
        Ok(())
    }

    /// Moves the records together in their order, so that all free bytes are in the gap.
    fn compact(&mut self) -> Result<()> {
        let mut slots = Vec::with_capacity(self.head.slots);
        for slot in 0..self.head.slots {
            slots.extend(self.read().place(slot)?.map(|(from, _)| (from, slot as u16)));
        }
        slots.sort_unstable();
        self.arrange(slots.into_iter().map(|(_, slot)| slot))
    }

    /// Moves the records together in the given order, which must contain every slot in use.
    pub(crate) fn arrange(&mut self, order: impl Iterator<Item = u16>) -> Result<()> {
        let old: [u8; BODY] = self.body.try_into().map_err(|_| "a page has no body".to_owned())?;
        let mut at = BODY - (self.head.heap - self.head.dead);
        for slot in order {
            let (from, len) = self.place_of(slot)?;
            let to = self.body.get_mut(at..at + len).ok_or_else(|| self.head.cannot_be())?;
            to.copy_from_slice(&old[from..from + len]);
            self.set_place(slot.into(), at, len);
            at += len;
        }
        if at != BODY {
            return Err(self.head.cannot_be());
        }
        self.head = SlottedHead { heap: self.head.heap - self.head.dead, dead: 0, ..self.head };
        self.head.write(self.body);
        Ok(())
    }
}

#[cold]
fn no_bytes(slot: usize, bytes: std::ops::Range<usize>) -> String {
    format!("slot {slot} leads to bytes {} to {}, outside of the records", bytes.start, bytes.end)
}

#[cold]
fn no_record(slot: u16) -> String {
    format!("a pointer leads to slot {slot}, which has no record")
}
