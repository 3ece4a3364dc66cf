//! Slots whose values are numbers: words, or bytes that an index may embed.

#![allow(dead_code, reason = "each test uses its part")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use skein_index::{Inline, Slot};

/// A slot that holds a number.
pub trait NumberSlot: for<'g> Slot<Ref<'g> = u64> {
    /// Returns the slot for a number.
    fn of(number: u64) -> Self;
}

impl NumberSlot for Inline<u64> {
    fn of(number: u64) -> Self {
        Self(number)
    }
}

/// A number as a block of 9 to 60 bytes: its length, the number, and copies of its last byte. So a
/// block that was cut or overwritten is noticed. Some numbers own their block and are not embedded.
#[derive(Debug)]
pub struct EmbeddedNumber(NonNull<u8>);

/// The length and the number.
const HEAD: usize = 1 + size_of::<u64>();

fn layout(len: usize) -> Layout {
    Layout::from_size_align(len, 8).expect("a small size")
}

impl EmbeddedNumber {
    /// Returns the length of the block at an address.
    unsafe fn len_at(block: NonNull<u8>) -> usize {
        // SAFETY: the caller has a block.
        unsafe { block.read() }.into()
    }

    /// Returns the number in a block.
    unsafe fn number_at(block: NonNull<u8>) -> u64 {
        // SAFETY: the caller has a block, which does not change.
        let (bytes, number) = unsafe {
            let bytes = NonNull::slice_from_raw_parts(block, Self::len_at(block)).as_ref();
            (bytes, block.add(1).cast::<u64>().read_unaligned())
        };
        assert!(bytes[HEAD..].iter().all(|&byte| byte == number as u8), "a block was overwritten");
        number
    }
}

impl NumberSlot for EmbeddedNumber {
    fn of(number: u64) -> Self {
        let len = HEAD + (number % 52) as usize;
        // SAFETY: the block is written before it is read, and within its length.
        unsafe {
            let Some(block) = NonNull::new(alloc(layout(len))) else { handle_alloc_error(layout(len)) };
            block.write_bytes(number as u8, len);
            block.write(len as u8);
            block.add(1).cast::<u64>().write_unaligned(number);
            Self(block)
        }
    }
}

impl Drop for EmbeddedNumber {
    fn drop(&mut self) {
        // SAFETY: `of` allocated the block with this length.
        unsafe { dealloc(self.0.as_ptr(), layout(Self::len_at(self.0))) };
    }
}

// SAFETY: a block does not change.
unsafe impl Send for EmbeddedNumber {}
// SAFETY: as above.
unsafe impl Sync for EmbeddedNumber {}

// SAFETY: the word is the address of the block, which the slot owned. An embedded block is a copy.
unsafe impl Slot for EmbeddedNumber {
    type Ref<'g> = u64;
    const OWNS: bool = true;
    const EMBEDS: bool = true;

    fn into_word(self) -> u64 {
        let word = self.0.as_ptr().expose_provenance() as u64;
        std::mem::forget(self);
        word
    }

    unsafe fn from_word(word: u64) -> Self {
        Self(NonNull::new(std::ptr::with_exposed_provenance_mut(word as usize)).expect("an address"))
    }

    unsafe fn borrow<'g>(word: u64) -> Self::Ref<'g> {
        let block = NonNull::new(std::ptr::with_exposed_provenance_mut(word as usize)).expect("an address");
        // SAFETY: the caller keeps the block.
        unsafe { Self::number_at(block) }
    }

    fn embedded_size(&self) -> Option<usize> {
        // SAFETY: the slot owns its block.
        let (len, number) = unsafe { (Self::len_at(self.0), Self::number_at(self.0)) };
        (number % 7 != 3).then_some(len)
    }

    unsafe fn embed(self, to: NonNull<u8>) {
        assert!(self.embedded_size().is_some() && to.addr().get().is_multiple_of(2));
        // SAFETY: the caller gives room.
        unsafe { to.copy_from_nonoverlapping(self.0, Self::len_at(self.0)) };
    }

    unsafe fn embedded_size_at(value: NonNull<u8>) -> usize {
        // SAFETY: the caller has an embedded block.
        unsafe { Self::len_at(value) }
    }
}
